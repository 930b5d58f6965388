/* encode.c -- the four encodings of an embedding.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/base/check.h"
#include "common/secagg/gaussian.h"

#include <float.h>
#include <math.h>

enum { FIXED_BITS_MAX = 24 };

static enum status init_pbm(struct encode *e, const struct plan *p)
{
    e->integers = true;
    e->value_max = p->protocol.pbm.trials;
    return pbm_init(&e->pbm, p->protocol.pbm.trials, p->protocol.pbm.beta, p->protocol.clip);
}

static enum status init_fixed(struct encode *e, const struct plan *p)
{
    const uint32_t bits = p->protocol.fixed.bits;

    if (bits < 1 || bits > FIXED_BITS_MAX)
        return STATUS_CONFIG;
    e->integers = true;
    e->value_max = (UINT32_C(1) << bits) - 1;
    return STATUS_OK;
}

/* The plan's noise as a standard deviation; 0 when the plan does not give one. */
static double plan_sigma(const struct plan *p, uint32_t parties)
{
    const double b = p->protocol.pbm.trials, beta = p->protocol.pbm.beta, clip = p->protocol.clip;
    const double epsilon = p->protocol.gaussian.epsilon, delta = p->privacy.delta;

    switch (p->protocol.gaussian.match) {
    case GAUSSIAN_PAPER: return clip / beta * sqrt(2.0 * parties / b);
    case GAUSSIAN_EQUAL_RDP:
        return clip / (2.0 * beta) * sqrt(parties * (1.0 - 4.0 * beta * beta) / b);
    case GAUSSIAN_SIGMA: return p->protocol.gaussian.sigma;
    case GAUSSIAN_EPSILON:
        if (!(epsilon > 0.0 && delta > 0.0 && delta < 1.0))
            return 0.0;
        /* Two embeddings in [-C, C]^P are at most 2 C sqrt(P) apart. */
        return 2.0 * clip * sqrt(p->model.embedding) * gaussian_sigma(epsilon, delta);
    }
    return 0.0;
}

static enum status init_gaussian(struct encode *e, const struct plan *p, uint32_t parties)
{
    const double sigma = plan_sigma(p, parties);

    if (!(sigma > 0.0 && sigma < (double)FLT_MAX))
        return STATUS_CONFIG;
    e->sigma = (float)sigma;
    if ((double)e->sigma < sigma)
        e->sigma = nextafterf(e->sigma, INFINITY); /* the float must not promise less noise */
    return STATUS_OK;
}

enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    *e = (struct encode){.encoding = p->protocol.encoding, .clip = (float)p->protocol.clip};
    if (!(e->clip > 0.0F && e->clip <= FLT_MAX) || parties == 0)
        return STATUS_CONFIG;
    switch (p->protocol.encoding) {
    case ENCODING_PBM: return init_pbm(e, p);
    case ENCODING_FIXED: return init_fixed(e, p);
    case ENCODING_FLOAT32: return STATUS_OK;
    case ENCODING_GAUSSIAN: return init_gaussian(e, p, parties);
    }
    return STATUS_CONFIG;
}

static float clipped(float x, float clip)
{
    x = x < clip ? x : clip;
    return x > -clip ? x : -clip;
}

static void encode_fixed(const struct encode *e, uint32_t *q, const float *x, size_t n)
{
    const double clip = (double)e->clip, top = e->value_max, unit = top / (2.0 * clip);
    int finite = 1;

    for (size_t i = 0; i < n; i++) {
        double v = unit * ((double)x[i] + clip);

        finite &= fabsf(x[i]) <= FLT_MAX;
        v = v > 0.0 ? v : 0.0;
        v = v < top ? v : top;
        q[i] = (uint32_t)(int32_t)(v + 0.5); /* cut off after adding a half: nearest */
    }
    CHECK(finite);
}

void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    CHECK(e->integers);
    if (e->encoding == ENCODING_PBM)
        pbm_sample(&e->pbm, q, x, n, r);
    else
        encode_fixed(e, q, x, n);
}

void encode_floats(const struct encode *e, float *y, const float *x, size_t n, struct rng *r)
{
    CHECK(!e->integers);
    for (size_t i = 0; i < n; i++) {
        CHECK(isfinite(x[i]));
        y[i] = clipped(x[i], e->clip);
    }
    if (e->encoding != ENCODING_GAUSSIAN)
        return;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)y[i] + (double)e->sigma * rng_normal(r));
}

float encode_float_max(const struct encode *e)
{
    return e->clip + 16.0F * e->sigma;
}

void encode_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties)
{
    const double clip = (double)e->clip;

    CHECK(e->integers);
    if (e->encoding == ENCODING_PBM) {
        pbm_estimate(&e->pbm, out, q_sum, n, parties);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(2.0 * clip / e->value_max * q_sum[i] - parties * clip);
}
