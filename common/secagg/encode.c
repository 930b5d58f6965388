/* encode.c -- embeddings to codes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/base/finite.h"
#include "common/config/plan_noise.h"
#include "common/crypto/secret.h"
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

enum { FIXED_BITS_MAX = 24 };

_Static_assert((int)PLAN_NOISE_STEPS_MIN == (int)GAUSS_SIGMA_MIN &&
                   (int)PLAN_NOISE_STEPS_MAX <= (int)GAUSS_SIGMA_MAX,
               "plans have the noise that can be drawn");

static enum status init_residues(struct encode *e, const struct plan *p, uint32_t parties)
{
    const double steps = plan_noise_steps(p, parties);

    if (plan_noise_reach(p, parties) == 0)
        return STATUS_CONFIG;
    e->integers = true;
    e->residues = true;
    e->levels = p->protocol.gaussian.levels;
    e->step = plan_noise_step(p);
    e->sigma = steps * e->step;
    return gauss_init(&e->gauss, steps);
}

enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    uint32_t bits = p->protocol.fixed.bits;

    memset(e, 0, sizeof *e);
    e->encoding = p->protocol.encoding;
    e->clip = (float)p->protocol.clip;
    e->value_max = plan_value_max(p);
    e->span = plan_sum_span(p, parties);
    e->code_bits = plan_code_bits(p, parties);
    e->sum_bits = plan_sum_bits(p, parties);
    if (!(e->clip > 0) || !isfinite(e->clip) || parties < 1)
        return STATUS_CONFIG;
    switch (e->encoding) {
    case ENCODING_PBM:
        e->integers = true;
        return pbm_init(&e->pbm, p->protocol.pbm.trials, p->protocol.pbm.beta, p->protocol.clip);
    case ENCODING_FIXED:
        if (bits < 1 || bits > FIXED_BITS_MAX)
            return STATUS_CONFIG;
        e->integers = true;
        return STATUS_OK;
    case ENCODING_FLOAT32: return STATUS_OK;
    case ENCODING_GAUSSIAN: return init_residues(e, p, parties);
    case ENCODING_SCALAR:
    case ENCODING_LATTICE:
    case ENCODING_E8:
    case ENCODING_TOPK:
        e->compressed = true;
        compress_of(&e->compress, p);
        return compress_ready();
    }
    return STATUS_CONFIG;
}

/* round((x + C) / 2C * value_max), clamped before the conversion. */
WIDE_CLONES static void fixed_encode(uint32_t *restrict q, const float *restrict x, size_t n,
                                     double clip, double top)
{
    const double scale = top / (2 * clip);

    for (size_t i = 0; i < n; i++) {
        double y = ((double)finite_or_zero(x[i]) + clip) * scale;

        y = 0.5 * (y + fabs(y)); /* max(y, 0), exactly; as a choice it may become a branch */
        y = y < top ? y : top;
        q[i] = (uint32_t)(int32_t)(y + 0.5);
    }
}

/* The grid's 2 L + 1 points from 0 on, less L, plus the noise; whole numbers mod 2^32, of which
 * whoever sends them keeps w bits or a residue mod p. */
static void gaussian_encode(const struct encode *e, uint32_t *q, const float *x, size_t n,
                            struct rng *r)
{
    const uint32_t levels = e->levels;
    int32_t noise[ENCODE_BLOCK];

    fixed_encode(q, x, n, (double)e->clip, 2.0 * levels);
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < ENCODE_BLOCK ? n - at : ENCODE_BLOCK;
        gauss_sample(&e->gauss, noise, some, r);
        for (size_t i = 0; i < some; i++)
            q[at + i] += (uint32_t)noise[i] - levels;
    }
    secret_wipe(noise, (n < ENCODE_BLOCK ? n : ENCODE_BLOCK) * sizeof *noise);
}

void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    CHECK(e->integers);
    if (e->encoding == ENCODING_PBM)
        pbm_sample(&e->pbm, q, x, n, r);
    else if (e->residues)
        gaussian_encode(e, q, x, n, r);
    else
        fixed_encode(q, x, n, (double)e->clip, e->value_max);
}

bool encode_is_sum(const struct encode *e, const uint32_t *q_sum, size_t n)
{
    return e->residues || lane_max32(q_sum, n) <= e->span;
}

bool encode_is_code(const struct encode *e, const uint32_t *q, size_t n)
{
    return e->residues || lane_max32(q, n) <= e->value_max;
}

/* The quotient by multiplication is at most one off. */
WIDE_CLONES void encode_mod(uint16_t *restrict out, const uint32_t *restrict q, size_t n,
                            uint32_t p)
{
    const double inverse = 1.0 / p;

    for (size_t i = 0; i < n; i++) {
        const int32_t code = (int32_t)q[i];
        const int32_t quotient = (int32_t)(code * inverse); /* towards 0 */
        int32_t rest = code - quotient * (int32_t)p;

        rest += (int32_t)p & (rest >> 31);
        rest -= (int32_t)p;
        rest += (int32_t)p & (rest >> 31);
        out[i] = (uint16_t)rest;
    }
}

WIDE_CLONES void encode_centre(uint32_t *restrict q, const uint16_t *restrict in, size_t n,
                               uint32_t p)
{
    for (size_t i = 0; i < n; i++)
        q[i] = in[i] - (in[i] > p / 2 ? p : 0);
}

void encode_clip(const struct encode *e, float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = finite_or_zero(x[i]);

        v = v > -e->clip ? v : -e->clip;
        y[i] = v < e->clip ? v : e->clip;
    }
}

/* Signed, from the low w bits. */
static void gaussian_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n)
{
    const uint32_t spare = 32 - e->sum_bits;

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(e->step * ((int32_t)(q_sum[i] << spare) >> spare));
}

void encode_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties)
{
    const double clip = (double)e->clip, unit = 2 * clip / e->value_max;

    CHECK(e->integers);
    if (e->encoding == ENCODING_PBM) {
        pbm_estimate(&e->pbm, out, q_sum, n, parties);
        return;
    }
    if (e->residues) {
        gaussian_estimate(e, out, q_sum, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(unit * q_sum[i] - clip * parties);
}

bool encode_noisy(const struct encode *e)
{
    return e->encoding == ENCODING_PBM || e->encoding == ENCODING_GAUSSIAN;
}

/* --- compressors --- */

void encode_pack(const struct encode *e, uint8_t *out, float *clipped, const float *x, size_t n,
                 const struct compress_round *r)
{
    CHECK(e->compressed);
    encode_clip(e, clipped, x, n);
    compress_pack(&e->compress, out, clipped, n, r);
}

bool encode_unpack(const struct encode *e, float *y, const uint8_t *in, size_t n,
                   const struct compress_round *r)
{
    CHECK(e->compressed);
    if (!compress_unpack(&e->compress, y, in, n, r))
        return false;
    encode_clip(e, y, y, n);
    return true;
}
