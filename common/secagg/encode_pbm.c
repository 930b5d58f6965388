/* encode_pbm.c -- the Poisson Binomial Mechanism as an encoding.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode_ops.h"

static enum status pbm_start(struct encode *e, const struct plan *p, uint32_t parties)
{
    (void)parties;
    enum status s =
        pbm_init(&e->pbm, p->protocol.pbm.trials, p->protocol.pbm.beta, p->protocol.clip);

    e->pbm.gain = p->protocol.pbm.gain;
    return s;
}

static void pbm_integers(const struct encode *e, uint32_t *q, const float *x, size_t n,
                         struct rng *r)
{
    pbm_sample(&e->pbm, q, x, n, r);
}

static void pbm_sum(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                    uint32_t parties)
{
    pbm_estimate(&e->pbm, out, q_sum, n, parties);
}

static void pbm_price(const struct encode *e, struct account_entry *out)
{
    out->kind = ACCOUNT_PBM;
    out->trials = e->pbm.trials;
    out->beta = e->pbm.beta;
}

const struct encode_ops encode_pbm = {
    .init = pbm_start, .integers = pbm_integers, .estimate = pbm_sum, .price = pbm_price};
