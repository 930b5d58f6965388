/* siphash.c -- libsodium's.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/siphash.h"

#include "common/base/le.h"

#include <sodium.h>

_Static_assert(crypto_shorthash_KEYBYTES == SIPHASH_KEY_BYTES && crypto_shorthash_BYTES == 8,
               "SipHash-2-4");

uint64_t siphash_of(const uint8_t key[SIPHASH_KEY_BYTES], const void *bytes, size_t n)
{
    uint8_t out[crypto_shorthash_BYTES];
    const uint8_t *at = out;

    (void)crypto_shorthash(out, bytes, n, key);
    return le_take(&at, sizeof out);
}
