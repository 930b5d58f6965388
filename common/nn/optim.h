/* optim.h -- one step of SGD, SGD with momentum, or Adam over n parameters; the proximal term, and
 * the two ways in which weights decay.
 *
 * Every weight stays within OPTIM_WEIGHT_MAX after a step, and a gradient counts as cut off at
 * OPTIM_GRADIENT_MAX, as 0 where it is no number: so weights and state are finite for ever, in any
 * number of steps, at any learning rate up to 1000.  No honest model comes near either.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_OPTIM_H
#define COLONNADE_NN_OPTIM_H

#include <stddef.h>
#include <stdint.h>

#define OPTIM_WEIGHT_MAX 1e12F
#define OPTIM_GRADIENT_MAX 1e18F

/* w -= lr g */
void optim_sgd(float *w, const float *g, size_t n, float lr);

/* v = 0.9 v + g;  w -= lr v  (Polyak's heavy ball, as in PyTorch without dampening) */
void optim_momentum(float *w, float *v, const float *g, size_t n, float lr);

/* Adam (Kingma & Ba 2015, Algorithm 1) with b1 = 0.9, b2 = 0.999, eps = 1e-8; t counts steps from
 * 1: m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2; w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 -
 * b2^t)) + eps) */
void optim_adam(float *w, float *m, float *v, const float *g, size_t n, float lr, uint64_t t);

/* g += mu (w - anchor): the slope of (mu / 2) |w - anchor|^2 */
void optim_pull(float *g, const float *w, const float *anchor, size_t n, float mu);

/* g += lambda w: the slope of (lambda / 2) |w|^2, before a step (L2 regularisation) */
void optim_ridge(float *g, const float *w, size_t n, float lambda);

/* w *= 1 - lr lambda, before a step that knows nothing of it (Loshchilov & Hutter 2019, Algorithm
 * 2: AdamW, with the rate's schedule in lr) */
void optim_decay(float *w, size_t n, float lr, float lambda);

/* The bounds of a step to weights from elsewhere. */
void optim_limit(float *w, size_t n);

#endif
