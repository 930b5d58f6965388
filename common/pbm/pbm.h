/* pbm.h -- the Poisson Binomial Mechanism (Chen, Ozgur, Kairouz 2022; PBM-VFL Algorithm 1).
 *
 *   t = round(2^16 (1/2 + gain beta x / C)) clamped to [ceil(2^16 (1/2 - beta)), floor(2^16 (1/2 +
 * beta))] q = number of b 16-bit random words below t              so q ~ Binomial(b, t / 2^16)
 * exactly sum of x over S  ~  C / (beta b) (sum of q - b |S| / 2)  (Theorem 2.3: unbiased, variance
 * C^2 |S| / (4 beta^2 b))
 *
 * A gain above 1 takes x nearer to the end of the box on its side before the coins are tossed: they
 * then stand for gain x, cut off at +- C.  The clamp, and with it the price, is the same.
 *
 * Always b draws, branch-free, no table indexed by a secret (threats B5).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PBM_PBM_H
#define COLONNADE_PBM_PBM_H

#include "common/base/status.h"
#include "common/crypto/rng.h"

#include <stddef.h>
#include <stdint.h>

/* PBM-VFL has 1/4; the accountant is verified up to here. */
#define PBM_BETA_MAX 0.49

struct pbm {
    uint32_t trials; /* b, 1..1024 */
    double beta, clip;
    double gain; /* 1 or more */
    uint32_t t_lo, t_hi;
};

/* STATUS_CONFIG unless 1 <= b <= 1024, 0 < beta <= PBM_BETA_MAX, clip > 0.  The gain is 1. */
enum status pbm_init(struct pbm *p, uint32_t trials, double beta, double clip) MUST_USE;
/* q[i] in 0..b for the n values x; one that is not finite counts as 0. */
void pbm_sample(const struct pbm *p, uint32_t *q, const float *x, size_t n, struct rng *r);
/* out[i] = estimate of the sum of `parties` values from q_sum[i]. */
void pbm_estimate(const struct pbm *p, float *out, const uint32_t *q_sum, size_t n,
                  uint32_t parties);

#endif
