/* paper.h -- what the PBM-VFL paper says of a run.  Not a guarantee of anything.
 *
 * Theorem 6.1 (Tran, Castiglia, Patterson, Milanova): after T steps on batches of B of N records,
 *
 *     eps(alpha) = C_0 (T B / N) P b beta^2 alpha / M        for some constant C_0
 *
 * It takes the largest number of releases of one record, T B / N, where bottoms that train on raw
 * records make every release count (docs/privacy.md), and it leaves C_0 open.  Its comparison with
 * Gaussian noise of variance 2 M / (b beta^2) amounts to C_0 = 1, which is what is computed here;
 * the exact divergence is many times that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_PAPER_H
#define COLONNADE_PRIVACY_PAPER_H

#include "common/privacy/account.h"

/* That of `participations_max` releases of one record, for C_0 = 1, converted at `delta`; the order
 * in *alpha.  Of an ACCOUNT_PBM entry only (CHECK). */
double paper_epsilon(const struct account_entry *e, double delta, double *alpha);

/* C_0 as it would have to be for the theorem to hold at order alpha: eps_1(alpha) M / (b beta^2
 * alpha), exactly.  NAN when memory is short. */
double paper_constant(const struct account_entry *e, double alpha);

#endif
