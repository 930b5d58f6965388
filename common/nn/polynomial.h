/* polynomial.h -- a layer of element-wise powers, h = sum_i x^i W^i, the only one of its net.
 *
 * FedVS (Li, Yao, Liu 2023), section 3, equation (1), without a bias.  The powers of a row stand
 * side by side, (x, x^2, ..., x^D), and the matrices one below the other, W = (W^1; ...; W^D), so
 * that the sum is one product and W^i starts at w + (i - 1) d P.  Its `in` is therefore d D: one
 * fan-in for all matrices, drawn in the order of powers.
 *
 * d: features.  D: degree.  x: rows x d.  W: (d D) x P.  h: rows x P.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_POLYNOMIAL_H
#define COLONNADE_NN_POLYNOMIAL_H

#include "common/nn/layer.h"

/* tensors: w1 ... wD, each d x P */
extern const struct layer_kind POLYNOMIAL_LAYER;

/* powers (rows x (d D)): x^i = x^(i-1) x, rounded at each step, of x cut off at [-x_max, x_max]
 * first (INFINITY: as it is). */
void polynomial_powers(float *powers, const float *x, uint32_t rows, uint32_t features,
                       uint32_t degree, float x_max);

#endif
