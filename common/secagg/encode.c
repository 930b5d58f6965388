/* encode.c -- embeddings to codes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/base/finite.h"
#include "common/secagg/gaussian.h"

#include <math.h>
#include <string.h>

/* No draw of rng_normal is larger: its uniform is at least 2^-53, and sqrt(2 ln 2^53) = 8.57. */
#define NORMAL_MAX 9.0F

enum { FIXED_BITS_MAX = 24 };

static double sigma_of(const struct plan *p, uint32_t parties)
{
    const double clip = p->protocol.clip, beta = p->protocol.pbm.beta;

    switch (p->protocol.gaussian.match) {
    case GAUSSIAN_PAPER: return gaussian_sigma_paper(clip, p->protocol.pbm.trials, beta, parties);
    case GAUSSIAN_EQUAL_RDP:
        return gaussian_sigma_equal_rdp(clip, p->protocol.pbm.trials, beta, parties);
    case GAUSSIAN_SIGMA: return p->protocol.gaussian.sigma;
    case GAUSSIAN_EPSILON:
        if (!(p->protocol.gaussian.epsilon > 0 && p->privacy.delta > 0 && p->privacy.delta < 1))
            break;
        /* Replacing one row of the box [-C, C]^P. */
        return gaussian_sigma_epsilon(2 * clip * sqrt(p->model.embedding),
                                      p->protocol.gaussian.epsilon, p->privacy.delta);
    }
    return -1;
}

enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    uint32_t bits = p->protocol.fixed.bits;

    memset(e, 0, sizeof *e);
    e->encoding = p->protocol.encoding;
    e->clip = (float)p->protocol.clip;
    if (!(e->clip > 0) || !isfinite(e->clip) || parties < 1)
        return STATUS_CONFIG;
    switch (e->encoding) {
    case ENCODING_PBM:
        e->integers = true;
        e->value_max = plan_value_max(p);
        return pbm_init(&e->pbm, p->protocol.pbm.trials, p->protocol.pbm.beta, p->protocol.clip);
    case ENCODING_FIXED:
        if (bits < 1 || bits > FIXED_BITS_MAX)
            return STATUS_CONFIG;
        e->integers = true;
        e->value_max = plan_value_max(p);
        return STATUS_OK;
    case ENCODING_FLOAT32: return STATUS_OK;
    case ENCODING_GAUSSIAN:
        e->sigma = (float)sigma_of(p, parties);
        return e->sigma >= 0 && isfinite(e->sigma) ? STATUS_OK : STATUS_CONFIG;
    case ENCODING_SCALAR:
    case ENCODING_LATTICE:
    case ENCODING_E8:
    case ENCODING_TOPK:
        e->compressed = true;
        compress_of(&e->compress, p);
        return STATUS_OK;
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

void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    CHECK(e->integers);
    if (e->encoding == ENCODING_PBM)
        pbm_sample(&e->pbm, q, x, n, r);
    else
        fixed_encode(q, x, n, (double)e->clip, e->value_max);
}

void encode_clip(const struct encode *e, float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = finite_or_zero(x[i]);

        v = v > -e->clip ? v : -e->clip;
        y[i] = v < e->clip ? v : e->clip;
    }
}

void encode_floats(const struct encode *e, float *y, const float *x, size_t n, struct rng *r)
{
    CHECK(!e->integers && !e->compressed);
    encode_clip(e, y, x, n);
    for (size_t i = 0; e->encoding == ENCODING_GAUSSIAN && i < n; i++)
        y[i] += e->sigma * (float)rng_normal(r);
}

float encode_float_max(const struct encode *e)
{
    return e->clip + NORMAL_MAX * e->sigma;
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
