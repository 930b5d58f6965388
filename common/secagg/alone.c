/* alone.c -- encode and decode in one place, with the draws of an upload.
 *
 * What a party subtracts from a sum must be what it put in: the codes, not the values they stand
 * for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/alone.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"
#include "common/secagg/lane.h"

/* As everywhere that codes are drawn: whole blocks of the mechanism. */
enum { CHUNK = 2048 };

static void of_codes(const struct encode *e, float *y, const float *x, size_t n, struct rng *noise)
{
    uint32_t q[CHUNK];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < CHUNK ? n - at : CHUNK;
        encode_integers(e, q, x + at, some, noise);
        encode_estimate(e, y + at, q, some, 1);
    }
    secret_wipe(q, sizeof q);
}

static void of_bytes(const struct secagg_shape *s, float *y, const float *x, size_t n,
                     const struct secagg_round *r)
{
    uint8_t key[COMPRESS_KEY_BYTES];
    struct compress_round round = {key, r->importance};

    CHECK(r->dither != NULL && r->scratch != NULL);
    compress_key(key, r->dither, (uint16_t)s->self);
    encode_pack(&s->encode, r->scratch, y, x, n, &round);
    CHECK(encode_unpack(&s->encode, y, r->scratch, n, &round));
}

void alone_estimate(const struct secagg_shape *s, float *y, const float *x, size_t n,
                    const struct secagg_round *r, struct rng *noise)
{
    const struct encode *e = &s->encode;

    CHECK(lane_finite(x, n));
    if (e->compressed)
        of_bytes(s, y, x, n, r);
    else if (encode_noisy(e) && noise == NULL)
        encode_clip(e, y, x, n);
    else if (e->integers)
        of_codes(e, y, x, n, noise);
    else
        encode_floats(e, y, x, n, noise);
}
