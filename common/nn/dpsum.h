/* dpsum.h -- the sum over a batch of gradients of single rows, in double precision, and what is
 * released of it: whole steps of a grid.
 *
 * The sum of B float32 products a_r d_r' f_r, |a_r d_r'| f_r <= G together over all layers, is off
 * by no more than E = (B + 2) 2^-53 / (1 - (B + 2) 2^-53) B G in the norm over all weights, in
 * whatever order BLAS adds: each coordinate by that times the sum of its absolute values (Higham
 * 2002, equation (3.7)), and the norm of these sums is no more than the sum of the rows' norms.  So
 * two sums that differ in one row differ by at most 2 G + 2 E, what the row does to the rounding of
 * the others included, and once rounded to the grid by 2 G + 2 E + step sqrt(params).  Up to B =
 * 2^16 2 E is below 2^-19 G; dpsum_ratio keeps the last term below 2^-10 G: docs/privacy.md charges
 * 2 G + 2^-9 G.
 *
 * Of layers whose gradient of a row is no such product, each row's gradient is made first, in
 * float32, by that row alone (layer.h): its norm is that of these very floats, and what is added is
 * they times f_r, so the bound above holds for them, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_DPSUM_H
#define COLONNADE_NN_DPSUM_H

#include "common/nn/net.h"

/* Beyond these there is no sum: more weights, or steps of the grid in a standard deviation. */
#define DPSUM_PARAMS_MAX ((size_t)1 << 30)
#define DPSUM_RATIO_MIN 4.0
#define DPSUM_RATIO_MAX 33554432.0
#define DPSUM_NOISE_MIN 0x1p-20 /* so that a whole batch is below 2^53 steps */

struct dpsum {
    size_t params;
    double *sum;            /* params, in the order of nn_net_copy_params */
    double *input, *output; /* some rows of a layer's input, and of what came back to it */
    float *row; /* one row's gradients, of layers that are no product, one after the other */
};

/* How many doubles dpsum_init takes of its memory; 0 when they are too many to count. */
size_t dpsum_doubles(const struct nn_spec *spec);
void dpsum_init(struct dpsum *s, const struct nn_spec *spec, double *memory);

/* out = factor x, in double, and zeros where factor is 0: then no bit of x is looked at. */
void dpsum_widen(double *out, const float *x, size_t cols, double factor);

/* s->sum becomes the sum over rows of factor[r] times row r's own gradient, from what went into
 * each layer in the last forward and each layer's dy, by these calls in this order: begin; for each
 * row its norm, then with its factor add_row; add, with all factors.  Of a row with factor 0 no bit
 * comes into the sum. */
void dpsum_begin(struct dpsum *s);
/* The squared l2 norm of row r's own gradient; infinite where a part of it is not finite. */
double dpsum_norm2(struct dpsum *s, const struct nn_net *n, size_t r);
void dpsum_add_row(struct dpsum *s, const struct nn_net *n, double factor);
void dpsum_add(struct dpsum *s, const struct nn_net *n, const double *factor);

/* sigma / step: how many steps of the grid the noise's standard deviation has, for noise multiplier
 * `noise` (sigma = noise G).  The least power of two, at least DPSUM_RATIO_MIN, with step
 * sqrt(params) <= G / 1024.  0 where that is beyond DPSUM_RATIO_MAX, params beyond
 * DPSUM_PARAMS_MAX, or noise below DPSUM_NOISE_MIN. */
double dpsum_ratio(double noise, size_t params);

/* All gradients of n: step (round(sum / step) + noise[i]), rounded once more to a float. */
void dpsum_release(const struct dpsum *s, struct nn_net *n, const int32_t *noise, double step);

#endif
