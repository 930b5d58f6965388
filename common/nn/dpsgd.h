/* dpsgd.h -- gradients of which no sample has more than its share, and noise (Abadi et al. 2016,
 * Algorithm 1).
 *
 * Row r of a batch adds to the gradients of all weights and biases the products of what went into
 * a layer and what came back to it; its own gradient's norm is therefore known without forming it:
 * |g_r|^2 = sum over layers of |d_r|^2 (|a_r|^2 + 1), without the 1 where there is no bias
 * (Goodfellow 2015).  Of layers in which that is no one product (convolutions, memories, norms by
 * group) each row's gradient is made, one row at a time (dpsum.h).
 *
 * With `most` = G / B for a batch of B rows and a mean loss, what dpsum_release makes of the sum is
 * one discrete Gaussian mechanism: replacing a record moves the sum by 2 G at most, and rounding
 * by a little more (dpsum.h, docs/privacy.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_DPSGD_H
#define COLONNADE_NN_DPSGD_H

#include "common/nn/dpsum.h"

/* The gradients of the loss whose derivative is dy, of the last forward: into s their sum over the
 * rows, each cut to the l2 norm `most` (> 0).  A row whose gradient is not finite counts as 0.
 * factor: rows doubles, the caller's; what each row was multiplied by.  n's own gradients are not
 * touched.  Returns how many rows were cut. */
uint32_t dpsgd_backward(struct dpsum *s, struct nn_net *n, const float *dy, double most,
                        double *factor);

#endif
