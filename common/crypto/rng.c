/* rng.c -- random bytes and what is drawn from them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/rng.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/crypto/stream.h"

#include <math.h>
#include <openssl/rand.h>
#include <string.h>

enum status rng_init_key(struct rng *r, const uint8_t key[RNG_KEY_BYTES])
{
    r->left = 0;
    return stream_new(&r->ctx, key);
}

enum status rng_init_system(struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];
    enum status s;

    *r = (struct rng){0};
    if (RAND_bytes(key, sizeof key) != 1)
        return STATUS_CRYPTO;
    s = rng_init_key(r, key);
    secret_wipe(key, sizeof key);
    return s;
}

void rng_rekey(struct rng *r, const uint8_t key[RNG_KEY_BYTES])
{
    static const uint8_t start[STREAM_IV_BYTES];

    stream_start(r->ctx, key, start);
    secret_wipe(r->buffer, sizeof r->buffer);
    r->left = 0;
}

enum status rng_renew(struct rng *r)
{
    uint8_t key[RNG_KEY_BYTES];

    if (RAND_bytes(key, RNG_KEY_BYTES) != 1)
        return STATUS_CRYPTO;
    rng_rekey(r, key);
    secret_wipe(key, sizeof key);
    return STATUS_OK;
}

void rng_deinit(struct rng *r)
{
    stream_free(r->ctx);
    secret_wipe(r, sizeof *r);
}

void rng_seed_key(uint8_t key[RNG_KEY_BYTES], uint64_t seed, uint32_t party, const char *purpose,
                  uint64_t place)
{
    uint8_t text[128] = "vfl/seed/1", *p = text + 10;
    size_t purpose_n = strlen(purpose);

    CHECK(purpose_n <= 64);
    p = le_put(p, seed, 8);
    p = le_put(p, party, 4);
    memcpy(p, purpose, purpose_n);
    p = le_put(p + purpose_n, place, 8);
    digest_sha256(key, text, (size_t)(p - text));
}

/* The stream is read in order, whatever the sizes asked for: the buffer holds its unread head.  A
 * large request is written straight to its place, odd end and all, since the cipher keeps its place
 * by the byte. */
void rng_fill(struct rng *r, void *out, size_t n)
{
    uint8_t *to = out, *head = r->buffer + sizeof r->buffer - r->left;
    size_t take = n < r->left ? n : r->left;

    if (take > 0) {
        memcpy(to, head, take);
        secret_wipe(head, take);
        r->left -= take;
        to += take;
        n -= take;
    }
    if (n == 0)
        return;
    if (n >= sizeof r->buffer) {
        stream_fill(r->ctx, to, n);
        return;
    }
    stream_fill(r->ctx, r->buffer, sizeof r->buffer);
    memcpy(to, r->buffer, n);
    secret_wipe(r->buffer, n);
    r->left = sizeof r->buffer - n;
}

uint64_t rng_u64(struct rng *r)
{
    uint8_t b[8];
    uint64_t v = 0;

    rng_fill(r, b, sizeof b);
    for (int i = 7; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    uint64_t limit, v;

    CHECK(bound > 0);
    limit =
        UINT64_MAX - (UINT64_MAX % bound + 1) % bound; /* the last value of the last whole run */
    do
        v = rng_u64(r);
    while (v > limit);
    return v % bound;
}

double rng_uniform(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
    double u = 1.0 - rng_uniform(r), v = rng_uniform(r); /* u in (0, 1]: its logarithm is finite */

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586476925 * v);
}
