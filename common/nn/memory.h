/* memory.h -- layers with a memory over a series (lstm.h, gru.h): what they keep of a row, and what
 * they do alike.
 *
 * Of each row they keep each step's four parts of `units` values, which the way back turns into
 * gradients; further values; and last each step's h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_MEMORY_H
#define COLONNADE_NN_MEMORY_H

#include "common/nn/layer.h"

enum { MEMORY_PARTS = 4 };

struct memory {
    uint32_t steps, channels, units;
    size_t wide;   /* floats of a step's parts */
    size_t row, h; /* floats of a row; to its h */
};

/* kept: how many times `units` values a step has, parts and h among them. */
struct memory memory_of(const struct nn_layer_spec *of, size_t kept);
/* Layer i of that net: a series comes in, and all steps' h go out, or the last one's. */
bool memory_fits(const struct nn_spec *s, size_t i, size_t kept);
/* gates: how many matrices there are for what comes in, and for h. */
struct layer_sizes memory_sizes(const struct nn_spec *s, size_t i, size_t kept, uint32_t gates);
/* As PyTorch's, whatever model.init says: all within 1 / sqrt(units). */
void memory_draw(struct nn_layer *l, enum nn_init init, struct rng *r);

/* units x out: the weights that h is multiplied by; those of x (channels x out) are l->w. */
float *memory_recurrent(const struct nn_layer *l);
/* The first gates of all steps = x W. */
void memory_take(struct nn_layer *l, const struct memory *m, const float *x, uint32_t rows);
/* l->y of h */
void memory_show(struct nn_layer *l, const struct memory *m, uint32_t rows);
/* l->dy times the layer's scale. */
void memory_scale_back(struct nn_layer *l, uint32_t rows);
/* dh (rows x units) += what comes to h of step t from y. */
void memory_add_given(const struct nn_layer *l, const struct memory *m, float *dh, size_t t,
                      uint32_t rows);
/* dx of the gradients of the first gates. */
void memory_give_back(struct nn_layer *l, const struct memory *m, float *dx, uint32_t rows);
/* sum (n) += the first n of `wide` floats, of each step. */
void memory_add_steps(float *sum, const float *parts, size_t steps, size_t n, size_t wide);

/* weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0 */
size_t memory_tensors(const struct nn_layer *l);
struct layer_tensor memory_tensor(const struct nn_layer *l, size_t i, size_t index);

#endif
