/* pbm.c -- thresholds, sampling and the estimate.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/base/finite.h"
#include "common/crypto/secret.h"
#include "common/pbm/pbm_kernel.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "random words are read in place");

/* Rows drawn at a time: 8 KiB, so that the words are still in the first cache level when counted.
 */
enum { ROWS_MAX = 128, TRIALS_MAX = 1024 };

#define SCALE 65536.0 /* 2^16 */

struct scratch {
    float x[PBM_BLOCK];
    uint16_t words[ROWS_MAX * PBM_BLOCK] __attribute__((aligned(64)));
    uint16_t t[PBM_BLOCK] __attribute__((aligned(64)));
    uint16_t count[PBM_BLOCK] __attribute__((aligned(64)));
};

enum status pbm_init(struct pbm *p, uint32_t trials, double beta, double clip)
{
    if (trials < 1 || trials > TRIALS_MAX || !(beta > 0 && beta <= PBM_BETA_MAX) || !(clip > 0) ||
        !isfinite(clip))
        return STATUS_CONFIG;
    p->trials = trials;
    p->beta = beta;
    p->clip = clip;
    p->gain = 1;
    p->t_lo = (uint32_t)ceil(SCALE * (0.5 - beta));
    p->t_hi = (uint32_t)floor(SCALE * (0.5 + beta));
    return STATUS_OK;
}

/* Of a gain of 1 these are the bits of 2^16 beta / C. */
static inline double slope_of(const struct pbm *p)
{
    return p->gain * (SCALE * p->beta / p->clip);
}

/* The clamp comes before the conversion, so that the integer is always in range; the range is whole
 * numbers, so that clamping and rounding may change places. */
static inline uint16_t threshold(double slope, double lo, double hi, float x)
{
    double t = 0.5 * SCALE + slope * (double)finite_or_zero(x);

    t = t > lo ? t : lo;
    t = t < hi ? t : hi;
    return (uint16_t)(int32_t)(t + 0.5);
}

uint16_t pbm_threshold(const struct pbm *p, float x)
{
    return threshold(slope_of(p), p->t_lo, p->t_hi, x);
}

WIDE_CLONES static void take_thresholds(uint16_t t[PBM_BLOCK], const struct pbm *p,
                                        const float *restrict x)
{
    const double slope = slope_of(p), lo = p->t_lo, hi = p->t_hi;

    for (size_t i = 0; i < PBM_BLOCK; i++)
        t[i] = threshold(slope, lo, hi, x[i]);
}

/* The missing elements of the last block draw too and are dropped: how many random words are used
 * is a function of n and b alone. */
static void start_block(const struct pbm *p, struct scratch *s, const float *x, size_t n)
{
    if (n < PBM_BLOCK) {
        memset(s->x, 0, sizeof s->x);
        memcpy(s->x, x, n * sizeof *x);
        x = s->x;
    }
    take_thresholds(s->t, p, x);
    memset(s->count, 0, sizeof s->count);
}

static void end_block(uint32_t *restrict q, const uint16_t *restrict count, size_t n)
{
    if (n == PBM_BLOCK) { /* a length the compiler knows */
        for (size_t k = 0; k < PBM_BLOCK; k++)
            q[k] = count[k];
        return;
    }
    for (size_t k = 0; k < n; k++)
        q[k] = count[k];
}

void pbm_sample_by(const struct pbm_kernel *kernel, const struct pbm *p, uint32_t *q,
                   const float *x, size_t n, struct rng *r)
{
    struct scratch s;
    size_t rows_due = (n + PBM_BLOCK - 1) / PBM_BLOCK * p->trials; /* still to be drawn */
    size_t rows = 0, at = 0;                                       /* drawn, and counted of them */

    for (size_t i = 0; i < n; i += PBM_BLOCK) {
        size_t block_n = n - i < PBM_BLOCK ? n - i : PBM_BLOCK;

        start_block(p, &s, x + i, block_n);
        for (size_t left = p->trials, take; left > 0; left -= take, at += take) {
            if (at == rows) {
                rows = rows_due < ROWS_MAX ? rows_due : ROWS_MAX;
                at = 0;
                rng_fill(r, s.words, rows * PBM_BLOCK * sizeof s.words[0]);
                rows_due -= rows;
            }
            take = left < rows - at ? left : rows - at;
            kernel->count(s.count, s.t, s.words + at * PBM_BLOCK, take);
        }
        end_block(q + i, s.count, block_n);
    }
    secret_wipe(&s, sizeof s);
}

void pbm_sample(const struct pbm *p, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    pbm_sample_by(pbm_kernel_best(), p, q, x, n, r);
}

/* PBM-VFL, Algorithm 1 and Theorem 2.3. */
void pbm_estimate(const struct pbm *p, float *out, const uint32_t *q_sum, size_t n,
                  uint32_t parties)
{
    const double unit = p->clip / (p->beta * p->trials), middle = 0.5 * p->trials * parties;

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(unit * ((double)q_sum[i] - middle));
}
