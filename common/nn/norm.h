/* norm.h -- values of places x channels to mean 0 and variance 1, by groups of channels, with a
 * factor and a summand for each channel: what group_norm.c does with each row, and batch_norm.c
 * with a whole batch.
 *
 * z = (x - mean) / sqrt(variance + NORM_EPSILON), over all places and a group's channels; y = w z.
 * Sums are floats over places, some at a time, then doubles over channels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_NORM_H
#define COLONNADE_NN_NORM_H

#include "common/nn/layer.h"

#define NORM_EPSILON 1e-5 /* PyTorch's */

struct norm {
    size_t places;
    uint32_t channels, groups;
};

/* Of each channel its group's mean and variance. */
void norm_moments(float *mean, float *variance, const float *x, const struct norm *n);
/* z = x factor + summand: into factor (channels), and behind it the summands. */
void norm_factors(float *factor, const float *mean, const float *variance, uint32_t channels);
/* y = w z; scratch: 2 channels. */
void norm_apply(float *y, const float *x, const float *w, const float *factor, float *scratch,
                const struct norm *n);
/* dx of dy, where mean and variance are those of x itself; scratch: 2 channels. */
void norm_back(float *dx, const float *dy, const float *x, const float *w, const float *factor,
               float *scratch, const struct norm *n);
/* dw += the sum of dy z, db += that of dy, by channel. */
void norm_gradients(float *dw, float *db, const float *dy, const float *x, const float *factor,
                    const struct norm *n);

/* What both kinds of layers do alike: weights 1 and biases 0, and what they are called. */
bool norm_fits(const struct nn_spec *s, size_t i, uint32_t groups);
void norm_draw(struct nn_layer *l, enum nn_init init, struct rng *r);
struct layer_tensor norm_tensor(const struct nn_layer *l, size_t i, size_t index);

#endif
