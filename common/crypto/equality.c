/* equality.c -- SPEKE over ristretto255, by libsodium.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/equality.h"

#include "common/base/check.h"
#include "common/base/public.h"
#include "common/crypto/secret.h"

#include <sodium.h>
#include <string.h>

_Static_assert(crypto_core_ristretto255_BYTES == EQUALITY_BYTES, "an element");
_Static_assert(crypto_core_ristretto255_SCALARBYTES == EQUALITY_BYTES, "a scalar");

enum { HASH_BYTES = crypto_hash_sha512_BYTES, BLOCK_BYTES = 128 };
_Static_assert(crypto_core_ristretto255_HASHBYTES == HASH_BYTES, "one hash gives a point");
_Static_assert(crypto_core_ristretto255_NONREDUCEDSCALARBYTES == EQUALITY_RANDOM_BYTES,
               "to reduce");

/* Label and its length, as expand_message_xmd ends each of its hashes. */
static void end_with_label(crypto_hash_sha512_state *h, const char *label, uint8_t out[HASH_BYTES])
{
    const uint8_t n = (uint8_t)strlen(label);

    crypto_hash_sha512_update(h, (const uint8_t *)label, n);
    crypto_hash_sha512_update(h, &n, 1);
    crypto_hash_sha512_final(h, out);
}

/* expand_message_xmd with SHA-512 (RFC 9380, 5.3.1) to as many bytes as one hash has. */
static void expand(uint8_t out[HASH_BYTES], const char *label, const void *secret, size_t n)
{
    static const uint8_t zeros[BLOCK_BYTES], length_and_zero[3] = {0, HASH_BYTES, 0}, one = 1;
    crypto_hash_sha512_state h;
    uint8_t first[HASH_BYTES];

    crypto_hash_sha512_init(&h);
    crypto_hash_sha512_update(&h, zeros, sizeof zeros);
    crypto_hash_sha512_update(&h, secret, n);
    crypto_hash_sha512_update(&h, length_and_zero, sizeof length_and_zero);
    end_with_label(&h, label, first);
    crypto_hash_sha512_init(&h);
    crypto_hash_sha512_update(&h, first, sizeof first);
    crypto_hash_sha512_update(&h, &one, 1);
    end_with_label(&h, label, out);
    secret_wipe(&h, sizeof h);
    secret_wipe(first, sizeof first);
}

enum status equality_begin(struct equality *e, const char *label, const void *secret, size_t n,
                           const uint8_t random[EQUALITY_RANDOM_BYTES])
{
    uint8_t hash[HASH_BYTES], base[EQUALITY_BYTES];
    enum status s = sodium_init() < 0 ? STATUS_CRYPTO : STATUS_OK;

    CHECK(strlen(label) <= EQUALITY_LABEL_MAX);
    if (s == STATUS_OK) {
        crypto_core_ristretto255_scalar_reduce(e->scalar, random); /* uniform but for 2^-259 */
        expand(hash, label, secret, n);
        /* Neither can be but by a broken generator: a scalar or a base of 0. */
        if (public_bit(crypto_core_ristretto255_from_hash(base, hash) != 0) ||
            public_bit(crypto_scalarmult_ristretto255(e->element, e->scalar, base) != 0))
            s = STATUS_CRYPTO;
        secret_wipe(hash, sizeof hash);
        secret_wipe(base, sizeof base);
    }
    if (s != STATUS_OK)
        secret_wipe(e, sizeof *e);
    return s;
}

enum status equality_end(uint8_t result[EQUALITY_BYTES], struct equality *e,
                         const uint8_t element[EQUALITY_BYTES])
{
    enum status s = STATUS_AUTH;

    /* The library refuses what is no element, and a product that is the identity; the order of the
     * group is prime, so there is no other small one. */
    if (public_bit(crypto_scalarmult_ristretto255(result, e->scalar, element) == 0))
        s = STATUS_OK;
    if (s != STATUS_OK)
        secret_wipe(result, EQUALITY_BYTES);
    secret_wipe(e->scalar, sizeof e->scalar);
    return s;
}

bool equality_is_element(const uint8_t element[EQUALITY_BYTES])
{
    static const uint8_t identity[EQUALITY_BYTES];

    return memcmp(element, identity, sizeof identity) != 0 &&
           crypto_core_ristretto255_is_valid_point(element) == 1;
}
