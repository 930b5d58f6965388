/* alone.c -- what a party takes out of a sum again: never its noise.
 *
 * A party that knew its noise and took it out, too, would compute its next model from that secret,
 * and what it releases of that model would be no post-processing of the sums released so far: the
 * privacy of a run could not be had by composing its releases.  So of noisy encodings it is the
 * value, clipped, and of the others, which add no noise, what the server makes of the upload.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/alone.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

enum { CHUNK = 2048 };

static void of_codes(const struct encode *e, float *y, const float *x, size_t n)
{
    uint32_t q[CHUNK];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < CHUNK ? n - at : CHUNK;
        encode_integers(e, q, x + at, some, NULL);
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
                    const struct secagg_round *r)
{
    const struct encode *e = &s->encode;

    if (e->compressed)
        of_bytes(s, y, x, n, r);
    else if (e->integers && !e->noisy)
        of_codes(e, y, x, n);
    else
        encode_clip(e, y, x, n);
}
