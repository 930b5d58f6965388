/* polynomial.h -- one layer of element-wise powers over a batch, h = sum_i x^i W^i, and its
 * gradient.
 *
 * FedVS (Li, Yao, Liu 2023), section 3, equation (1), without a bias.  The powers of a row stand
 * side by side, (x, x^2, ..., x^D), and the matrices one below the other, W = (W^1; ...; W^D), so
 * that the sum is one product and W^i starts at w + (i - 1) d P.
 *
 * d: features.  D: degree.  x: rows x d.  W: (d D) x P.  h: rows x P.  Nothing is allocated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_POLYNOMIAL_H
#define COLONNADE_NN_POLYNOMIAL_H

#include "common/nn/net.h"

/* powers (rows x (d D)): x^i = x^(i-1) x, rounded at each step, of x cut off at [-x_max, x_max]
 * first (INFINITY: as it is). */
void polynomial_powers(float *powers, const float *x, uint32_t rows, uint32_t features,
                       uint32_t degree, float x_max);

/* l->y = sum_i x^i W^i */
void polynomial_forward(struct nn_layer *l, const float *powers, uint32_t rows);

/* l->dy holds the gradient for l->y.  l->dw = powers' dy, that is dW^i = (x^i)' dy; there is none
 * for the input. */
void polynomial_backward(struct nn_layer *l, const float *powers, uint32_t rows);

#endif
