/* taps.h -- a convolution as one product for each tap, which is an element of its window: where
 * images are small, many taps of many places lie in the padding, and nothing is multiplied by it.
 *
 * Of one group.  `some` rows are taken at a time; packed has taps_scratch values for them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_TAPS_H
#define COLONNADE_NN_TAPS_H

#include "common/nn/net.h"

struct taps {
    struct nn_shape in, out; /* of a row of x, and of y */
    struct nn_window window;
};

/* Is so much of all patches padding that products by taps are less work? */
bool taps_gain(const struct taps *t);
size_t taps_scratch(const struct taps *t, uint32_t some);

/* y (some x out) = x (some x in) by w ([height][width][channels][out channels]) */
void taps_forward(const struct taps *t, float *y, const float *x, const float *w, float *packed,
                  uint32_t some);
/* turned = each tap's weights transposed: [height][width][out channels][channels] */
void taps_turn(const struct taps *t, float *turned, const float *w);
/* dx += dy by turned */
void taps_delta(const struct taps *t, float *dx, const float *dy, const float *turned,
                float *packed, uint32_t some);
/* dw = x' dy; `more`: it is added to what is in dw. */
void taps_gradients(const struct taps *t, float *dw, const float *x, const float *dy, float *packed,
                    uint32_t some, bool more);

#endif
