/* dpsgd.h -- gradients of which no sample has more than its share, and noise (Abadi et al. 2016,
 * Algorithm 1).
 *
 * Row r of a batch adds to the gradients of all weights and biases the products of what went into
 * a layer and what came back to it; its own gradient's norm is therefore known without forming it:
 * |g_r|^2 = sum over layers of |d_r|^2 (|a_r|^2 + 1), without the 1 where there is no bias
 * (Goodfellow 2015).  Cutting d_r cuts g_r.
 *
 * With `most` = G / B and `deviation` = sigma G / B for a batch of B rows and a mean loss, a step
 * is one Gaussian mechanism: replacing a record moves the sum by 2 G at most (docs/privacy.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_DPSGD_H
#define COLONNADE_NN_DPSGD_H

#include "common/nn/net.h"

/* As nn_net_backward without dx, but each row's gradient has at most the l2 norm `most` (> 0).  A
 * row whose gradient is not finite counts as 0, factor 0.  factor: rows doubles, the caller's; what
 * each row was multiplied by.  Returns how many rows were cut. */
uint32_t dpsgd_backward(struct nn_net *n, const float *dy, double most, double *factor);

/* Adds N(0, deviation^2) to every gradient of the last backward: one rng_normal each, in the order
 * of nn_net_copy_params. */
void dpsgd_noise(struct nn_net *n, double deviation, struct rng *r);

#endif
