/* act.h -- activations over a batch, forward and backward, fused with the bias.
 *
 * act_tanh and act_sigmoid are rational functions and not libm's, so that the loops run on vectors;
 * they use only +, *, / and comparisons, hence give the same bits on every machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_ACT_H
#define COLONNADE_NN_ACT_H

#include "common/nn/net.h"

#include <stddef.h>

/* y (rows x cols) <- scale * act(y + b), b one per column; NULL: zeros.  A NaN stays a NaN. */
void act_forward(float *y, const float *b, enum nn_act act, float scale, size_t rows, size_t cols);

/* dz (rows x cols) holds the gradient for y and gets the one for y's input; y is what act_forward
 * left. */
void act_backward(float *dz, const float *y, enum nn_act act, float scale, size_t rows,
                  size_t cols);

/* tanh(x) within 5e-7 relative, never beyond +-1. */
float act_tanh(float x);
/* 1/(1 + exp(-x)) within 3e-7 absolute, never outside 0..1. */
float act_sigmoid(float x);

#endif
