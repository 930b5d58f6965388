/* augment.h -- an image moved and turned over, as training does with each one it sees: the crop of
 * one that was padded with zeros, and its mirror image (Krizhevsky et al. 2012; He et al. 2016,
 * section 4.2: four pixels of 32).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_AUGMENT_H
#define COLONNADE_DATA_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C x H x W values, channel by channel, each row by row. */
struct augment_shape {
    uint32_t channels, height, width;
};

/* Where the picture goes: down and to the right by so many pixels, what comes in being zeros; after
 * it was mirrored, left to right. */
struct augment_move {
    int32_t down, right;
    bool mirror;
};

/* to and from are different rows. */
void augment_image(float *to, const float *from, const struct augment_shape *shape,
                   const struct augment_move *move);

#endif
