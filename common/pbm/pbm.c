/* pbm.c -- sampling by comparison of random words with thresholds, and the estimate.
 *
 * Which word decides what: the elements are taken in blocks of PBM_LANES; draw k of a block reads
 * the next PBM_LANES 16-bit little-endian words of the stream, one for each element in order.  A
 * last, shorter block reads the words of a whole one.  So the stream position depends on n and b
 * alone, and sampling in pieces of whole blocks gives what sampling at once gives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"
#include "common/pbm/pbm_kernel.h"

#include <float.h>
#include <math.h>

enum { TRIALS_MAX = 1024, ROWS_AT_ONCE = 128 /* 8 KiB of random words */ };

static const double SCALE = 65536.0; /* thresholds are probabilities in units of 2^-16 */

enum status pbm_init(struct pbm *p, uint32_t trials, double beta, double clip)
{
    if (trials < 1 || trials > TRIALS_MAX || !(beta > 0.0 && beta <= 0.25) ||
        !(clip > 0.0 && clip <= (double)FLT_MAX))
        return STATUS_CONFIG;
    *p = (struct pbm){.trials = trials, .beta = beta, .clip = clip};
    p->t_lo = (uint32_t)ceil(SCALE * (0.5 - beta));
    p->t_hi = (uint32_t)floor(SCALE * (0.5 + beta));
    return STATUS_OK;
}

/* Thresholds of n <= PBM_LANES values.  Clamping comes first, which is the same since the bounds
 * are whole numbers, and then adding a half and cutting off rounds.  Lanes past n are never
 * counted. */
static void thresholds(const struct pbm *p, uint16_t t[PBM_LANES], const float *x, size_t n)
{
    const double slope = SCALE * p->beta / p->clip, lo = p->t_lo, hi = p->t_hi;
    int finite = 1;

    for (size_t i = 0; i < n; i++) {
        double v = 0.5 * SCALE + slope * (double)x[i];

        finite &= fabsf(x[i]) <= FLT_MAX;
        v = v > lo ? v : lo;
        v = v < hi ? v : hi;
        t[i] = (uint16_t)(int32_t)(v + 0.5);
    }
    for (size_t i = n; i < PBM_LANES; i++)
        t[i] = 0;
    CHECK(finite);
}

void pbm_sample_by(const struct pbm_kernel *k, const struct pbm *p, uint32_t *q, const float *x,
                   size_t n, struct rng *r)
{
    _Alignas(64) uint16_t words[ROWS_AT_ONCE * PBM_LANES];
    _Alignas(64) uint16_t t[PBM_LANES];
    _Alignas(64) uint16_t count[PBM_LANES];
    uint64_t rows_due =
        (uint64_t)((n + PBM_LANES - 1) / PBM_LANES) * p->trials; /* still to be read */
    size_t at = 0, end = 0;                                      /* unused rows of `words` */

    for (size_t done = 0; done < n; done += PBM_LANES) {
        const size_t block = n - done < PBM_LANES ? n - done : PBM_LANES;

        thresholds(p, t, x + done, block);
        for (size_t i = 0; i < PBM_LANES; i++)
            count[i] = 0;
        for (size_t left = p->trials, take; left > 0; left -= take) {
            if (at == end) {
                at = 0;
                end = rows_due < ROWS_AT_ONCE ? (size_t)rows_due : ROWS_AT_ONCE;
                rows_due -= end;
                rng_fill(r, words, end * PBM_LANES * sizeof words[0]);
            }
            take = left < end - at ? left : end - at;
            k->count(count, t, words + at * PBM_LANES, take);
            at += take;
        }
        for (size_t i = 0; i < block; i++)
            q[done + i] = count[i];
    }
    secret_wipe(words, sizeof words);
    secret_wipe(t, sizeof t);
    secret_wipe(count, sizeof count);
}

void pbm_sample(const struct pbm *p, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    pbm_sample_by(pbm_kernel_at(0), p, q, x, n, r);
}

void pbm_estimate(const struct pbm *p, float *out, const uint32_t *q_sum, size_t n,
                  uint32_t parties)
{
    const double unit = p->clip / (p->beta * p->trials), middle = 0.5 * p->trials * parties;

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(unit * ((double)q_sum[i] - middle));
}
