/* window.h -- the sizes of images, and of what a window makes of them.
 *
 * All of it takes numbers that a file may have made up, and multiplies none that could overflow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_WINDOW_H
#define COLONNADE_NN_WINDOW_H

#include "common/nn/net.h"

enum { WINDOW_SIDE_MAX = 1 << 16, WINDOW_SIZE_MAX = 1 << 8 };

/* Values of a row of this shape; 0: it has none, or more than a net takes. */
uint32_t shape_values(const struct nn_shape *s);
static inline size_t shape_places(const struct nn_shape *s)
{
    return (size_t)s->height * s->width;
}

/* How often the window fits in, in height and width, channels as in `in`: out_y = (in_y + 2 padding
 * - size) / stride + 1, rounded down.  False: it does not, or is none. */
bool window_out(struct nn_shape *out, const struct nn_shape *in, const struct nn_window *w);

/* For place p of a dimension: the elements [*first, *end) of the window that lie inside, the first
 * of which is on *from. */
void window_inside(uint32_t *first, uint32_t *end, uint32_t *from, const struct nn_window *w,
                   int dimension, uint32_t p, uint32_t side);

#endif
