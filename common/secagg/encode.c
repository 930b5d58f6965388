/* encode.c -- embeddings to codes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/base/finite.h"
#include "common/config/encoding.h"
#include "common/secagg/encode_ops.h"
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

#define OPS(id, name) [ENCODING_##id] = &encode_##name,
static const struct encode_ops *const all[] = {PLAN_ENCODING_LIST(OPS)};

static const struct encode_ops *ops_of(const struct encode *e)
{
    CHECK((size_t)e->encoding < PLAN_ENCODINGS);
    return all[e->encoding];
}

enum status encode_init(struct encode *e, const struct plan *p, uint32_t parties)
{
    const struct encoding *row = encoding_of(p);

    memset(e, 0, sizeof *e);
    e->encoding = p->protocol.encoding;
    e->clip = (float)p->protocol.clip;
    if (!(e->clip > 0) || !isfinite(e->clip) || parties < 1)
        return STATUS_CONFIG;
    e->integers = row->integers;
    e->noisy = row->noisy;
    e->residues = row->residues;
    e->compressed = row->compresses;
    e->value_max = plan_value_max(p);
    e->span = encoding_sum_span(p, parties);
    e->code_bits = encoding_code_bits(p, parties);
    e->sum_bits = encoding_sum_bits(p, parties);
    e->masked_bits = e->sum_bits;
    return ops_of(e)->init(e, p, parties);
}

void encode_integers(const struct encode *e, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    CHECK(e->integers);
    ops_of(e)->integers(e, q, x, n, r);
}

void encode_estimate(const struct encode *e, float *out, const uint32_t *q_sum, size_t n,
                     uint32_t parties)
{
    CHECK(e->integers);
    ops_of(e)->estimate(e, out, q_sum, n, parties);
}

void encode_price(const struct encode *e, struct account_entry *out)
{
    out->kind = ACCOUNT_NONE;
    if (e->noisy)
        ops_of(e)->price(e, out);
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
