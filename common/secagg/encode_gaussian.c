/* encode_gaussian.c -- points of a grid plus discrete Gaussian noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode_ops.h"

#include "common/config/plan_noise.h"
#include "common/crypto/secret.h"

_Static_assert((int)PLAN_NOISE_STEPS_MIN == (int)GAUSS_SIGMA_MIN &&
                   (int)PLAN_NOISE_STEPS_MAX <= (int)GAUSS_SIGMA_MAX,
               "plans have the noise that can be drawn");

static enum status gaussian_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    const double steps = plan_noise_steps(p, parties);

    if (plan_noise_reach(p, parties) == 0)
        return STATUS_CONFIG;
    e->levels = p->protocol.gaussian.levels;
    e->step = plan_noise_step(p);
    e->sigma = steps * e->step;
    return gauss_init(&e->gauss, steps);
}

/* The grid's 2 L + 1 points from 0 on, less L, plus the noise; whole numbers mod 2^32, of which
 * whoever sends them keeps w bits or a residue mod p. */
static void gaussian_integers(const struct encode *e, uint32_t *q, const float *x, size_t n,
                              struct rng *r)
{
    const uint32_t levels = e->levels;
    int32_t noise[ENCODE_BLOCK];

    encode_round(q, x, n, (double)e->clip, 2.0 * levels);
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < ENCODE_BLOCK ? n - at : ENCODE_BLOCK;
        gauss_sample(&e->gauss, noise, some, r);
        for (size_t i = 0; i < some; i++)
            q[at + i] += (uint32_t)noise[i] - levels;
    }
    secret_wipe(noise, (n < ENCODE_BLOCK ? n : ENCODE_BLOCK) * sizeof *noise);
}

/* Signed, from the low w bits. */
static void gaussian_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                              uint32_t parties)
{
    const uint32_t spare = 32 - e->sum_bits;

    (void)parties;
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(e->step * ((int32_t)(q_sum[i] << spare) >> spare));
}

static void gaussian_price(const struct encode *e, struct account_entry *out)
{
    out->kind = ACCOUNT_GAUSSIAN;
    out->sigma = e->sigma;
    out->step = e->step;
}

const struct encode_ops encode_gaussian = {.init = gaussian_init,
                                           .integers = gaussian_integers,
                                           .estimate = gaussian_estimate,
                                           .price = gaussian_price};
