/* group.c -- ristretto255, by libsodium; long sums by libdecaf, which adds points without encoding.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/group.h"

#include "common/base/check.h"
#include "common/base/public.h"
#include "common/crypto/secret.h"

#include <decaf/point_255.h>
#include <sodium.h>
#include <string.h>

_Static_assert(crypto_core_ristretto255_BYTES == GROUP_BYTES, "a point");
_Static_assert(crypto_core_ristretto255_SCALARBYTES == GROUP_BYTES, "a scalar");

enum { HASH_BYTES = crypto_hash_sha512_BYTES, BLOCK_BYTES = 128 };
_Static_assert(crypto_core_ristretto255_HASHBYTES == HASH_BYTES, "one hash gives a point");
_Static_assert(crypto_core_ristretto255_NONREDUCEDSCALARBYTES == GROUP_RANDOM_BYTES, "to reduce");

static const uint8_t identity[GROUP_BYTES];

enum status group_open(void)
{
    return sodium_init() < 0 ? STATUS_CRYPTO : STATUS_OK;
}

/* Label and its length, as expand_message_xmd ends each of its hashes. */
static void end_with_label(crypto_hash_sha512_state *h, const char *label, uint8_t out[HASH_BYTES])
{
    const uint8_t n = (uint8_t)strlen(label);

    crypto_hash_sha512_update(h, (const uint8_t *)label, n);
    crypto_hash_sha512_update(h, &n, 1);
    crypto_hash_sha512_final(h, out);
}

/* expand_message_xmd with SHA-512 (RFC 9380, 5.3.1) to as many bytes as one hash has. */
static void expand(uint8_t out[HASH_BYTES], const char *label, const void *bytes, size_t n)
{
    static const uint8_t zeros[BLOCK_BYTES], length_and_zero[3] = {0, HASH_BYTES, 0}, one = 1;
    crypto_hash_sha512_state h;
    uint8_t first[HASH_BYTES];

    CHECK(strlen(label) <= GROUP_LABEL_MAX);
    crypto_hash_sha512_init(&h);
    crypto_hash_sha512_update(&h, zeros, sizeof zeros);
    crypto_hash_sha512_update(&h, bytes, n);
    crypto_hash_sha512_update(&h, length_and_zero, sizeof length_and_zero);
    end_with_label(&h, label, first);
    crypto_hash_sha512_init(&h);
    crypto_hash_sha512_update(&h, first, sizeof first);
    crypto_hash_sha512_update(&h, &one, 1);
    end_with_label(&h, label, out);
    secret_wipe(&h, sizeof h);
    secret_wipe(first, sizeof first);
}

enum status group_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes, size_t n)
{
    uint8_t hash[HASH_BYTES];
    int bad;

    expand(hash, label, bytes, n);
    bad = crypto_core_ristretto255_from_hash(out, hash);
    secret_wipe(hash, sizeof hash);
    /* What is hashed may be secret: one answer, and no branch on the way to it. */
    return public_bit(((bad != 0) | (sodium_is_zero(out, GROUP_BYTES) != 0)) != 0) ? STATUS_CRYPTO
                                                                                   : STATUS_OK;
}

void group_scalar(uint8_t out[GROUP_BYTES], const uint8_t random[GROUP_RANDOM_BYTES])
{
    crypto_core_ristretto255_scalar_reduce(out, random);
}

void group_scalar_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes, size_t n)
{
    uint8_t hash[HASH_BYTES];

    expand(hash, label, bytes, n);
    crypto_core_ristretto255_scalar_reduce(out, hash);
    secret_wipe(hash, sizeof hash);
}

void group_scalar_add_product(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                              const uint8_t b[GROUP_BYTES], const uint8_t c[GROUP_BYTES])
{
    uint8_t product[GROUP_BYTES];

    crypto_core_ristretto255_scalar_mul(product, b, c);
    crypto_core_ristretto255_scalar_add(out, a, product);
    secret_wipe(product, sizeof product);
}

/* Versions of the library before 1.0.19 read an encoding whose highest bit is set as if it were
 * not, so that a point would have two. */
static bool is_short(const uint8_t p[GROUP_BYTES])
{
    return p[GROUP_BYTES - 1] >> 7 == 0;
}

bool group_is_point(const uint8_t p[GROUP_BYTES])
{
    return is_short(p) && memcmp(p, identity, sizeof identity) != 0 &&
           crypto_core_ristretto255_is_valid_point(p) == 1;
}

/* The library refuses what is no point, and a product that is the identity; the order of the group
 * is prime, so there is no other small one. */
bool group_raise(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES],
                 const uint8_t p[GROUP_BYTES])
{
    const int raised = crypto_scalarmult_ristretto255(out, scalar, p) == 0;

    return public_bit(((int)is_short(p) & raised) != 0);
}

bool group_raise_base(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES])
{
    return public_bit(crypto_scalarmult_ristretto255_base(out, scalar) == 0);
}

bool group_sum(uint8_t out[GROUP_BYTES], const uint8_t *points, size_t n)
{
    decaf_255_point_t sum, point;
    decaf_bool_t good = DECAF_TRUE;

    decaf_255_point_copy(sum, decaf_255_point_identity);
    for (size_t i = 0; i < n; i++) {
        good &= (decaf_bool_t)decaf_255_point_decode(point, points + i * GROUP_BYTES, DECAF_TRUE);
        decaf_255_point_add(sum, sum, point);
    }
    decaf_255_point_encode(out, sum);
    return public_bit(good == DECAF_TRUE);
}

/* Of two canonical encodings; the identity among them is left to whoever has let it in. */
bool group_subtract(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                    const uint8_t b[GROUP_BYTES])
{
    return is_short(a) && is_short(b) && crypto_core_ristretto255_sub(out, a, b) == 0 &&
           memcmp(out, identity, sizeof identity) != 0;
}
