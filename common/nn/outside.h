/* outside.h -- a net whose only layer somebody else computes: a program beside this process.
 *
 * Its output is act(y) times the scale, as of any last layer, so that embeddings keep their bound;
 * what comes back to y is all that it is told of a step.  What it has learnt is bytes that only it
 * understands.  In the layer's parameters these are whole numbers below 2^24, three bytes in each,
 * behind how many bytes they are, so that whatever keeps, copies and compares a net's weights does
 * the same with them and finds no value that is not finite.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_OUTSIDE_H
#define COLONNADE_NN_OUTSIDE_H

#include "common/nn/layer.h"

/* Bytes of a state; of what it takes of a net's parameters, floats. */
enum { OUTSIDE_BYTES_MAX = 1 << 29, OUTSIDE_FLOATS_MAX = OUTSIDE_BYTES_MAX / 3 + 8 };

/* Who computes it.  No call fails: whoever has nothing to say any more gives zeros for ever. */
struct nn_outside {
    void *owner;
    /* y (rows x outputs), finite, of x (rows x inputs); training: a step of it follows. */
    void (*forward)(void *owner, float *y, const float *x, uint32_t rows, bool training);
    /* Of a head: dx (rows x inputs), finite: d loss / d x of the last forward, dy (rows x outputs)
     * being d loss / d y; before its step, or without one.  NULL: nobody may ask for it. */
    void (*back)(void *owner, float *dx, const float *dy, uint32_t rows);
    /* One step with dy (rows x outputs), the gradient for y of the last forward. */
    void (*step)(void *owner, const float *dy, uint32_t rows, float learning_rate);
    /* Its state into floats, and back. */
    void (*fetch)(void *owner, float *w, size_t floats);
    void (*give)(void *owner, const float *w, size_t floats);
};

extern const struct layer_kind OUTSIDE_LAYER;

/* Floats that a state of at most so many bytes takes. */
size_t outside_floats(size_t bytes_max);
/* How many rows at a time: most, unless they are large. */
uint32_t outside_rows(uint32_t inputs, uint32_t most);

/* n bytes, which fit; and the state of one that computes no more. */
void outside_pack(float *w, size_t floats, const uint8_t *bytes, size_t n);
void outside_pack_lost(float *w, size_t floats);
/* What w has: false, it is no state.  *n: its bytes, of which at most `max` are copied; *lost: it
 * has none, and computes no more. */
bool outside_unpack(uint8_t *bytes, size_t max, size_t *n, bool *lost, const float *w,
                    size_t floats);

#endif
