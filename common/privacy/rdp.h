/* rdp.h -- Renyi divergences of one release, and their conversion to (epsilon, delta).
 *
 * What is exact here and why it is the worst case: docs/privacy.md.  Every function takes the order
 * as excess = alpha - 1 > 0 (INFINITY allowed), because large compositions put alpha so close to 1
 * that alpha itself would have lost the digits that matter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_RDP_H
#define COLONNADE_PRIVACY_RDP_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* One coordinate of one release of the Poisson Binomial Mechanism, seen as the sum over m_eff
 * parties of which one changes from one end of [-C, C] to the other. */
struct rdp_pbm {
    uint32_t trials, m_eff; /* b and M */
    double beta;
    size_t n;            /* outcomes in the tables: b M + 1, or 0 for the closed form of M = 1 */
    double *ln_p, *ln_w; /* ln P(s) and ln Q(s)/P(s), s = 0..n-1 */
};

/* Builds the tables in O(b M) time and memory (16 bytes per outcome).  1 <= b, 1 <= m_eff, 0 < beta
 * < 1/2 (CHECK).  STATUS_MEMORY, never for m_eff = 1. */
enum status rdp_pbm_init(struct rdp_pbm *t, uint32_t trials, double beta, uint32_t m_eff) MUST_USE;
void rdp_pbm_deinit(struct rdp_pbm *t); /* safe on a zeroed struct */

/* D_alpha(P || Q) of two laws over n outcomes by their logarithms, ln_p(s) and ln_w(s) =
 * ln Q(s)/P(s), where ln_w falls in s. */
double rdp_divergence(const double *ln_p, const double *ln_w, size_t n, double excess);

/* D_alpha(P || Q) of that pair. */
double rdp_pbm(const struct rdp_pbm *t, double excess);

/* D_alpha between one trial of success 1/2 + beta and one of 1/2 - beta; k independent trials cost
 * k times as much, and so does their sum. */
double rdp_trial(double beta, double excess);

/* D_alpha between N(0, sigma^2) and N(shift, sigma^2), in the reals or, in any dimension, over a
 * grid of which shift is a vector of that length (Canonne, Kamath, Steinke 2020, Theorem 4). */
double rdp_gaussian(double shift, double sigma, double excess);

/* tau of Kairouz, Liu and Steinke 2021, Theorem 1: how far the sum of n discrete Gaussians, sigma
 * `ratio` steps of the grid each, is from one: 10 sum_(k = 1)^(n - 1) e^(-2 pi^2 ratio^2 k/(k+1)).
 * 0 for n = 1. */
double rdp_discrete_tau(double ratio, uint32_t n);
/* That theorem's bound of D_alpha between such sums on `coordinates` coordinates, one moved by a
 * vector of length shift on the grid: (1 + excess) e^2 / 2, where with s = shift / sigma, sigma
 * that of the sum, e = min(sqrt(s^2 + 2 tau d), s + tau sqrt(d)). */
double rdp_discrete(double shift, double sigma, double tau, double coordinates, double excess);

/* The epsilon at `delta` that a total divergence `rdp` of order 1 + excess gives, not floored. */
double rdp_epsilon(double rdp, double excess, double delta);

/* The smallest epsilon over all orders for the total divergence total(context, excess), at least 0,
 * and in *excess the order that gives it. */
double rdp_minimise(double (*total)(const void *context, double excess), const void *context,
                    double delta, double *excess);

#endif
