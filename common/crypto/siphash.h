/* siphash.h -- a keyed hash for tables of what others choose: SipHash-2-4 (Aumasson and Bernstein,
 * 2012), libsodium's.  Who does not have the key finds no two texts that fall on one place.  It is
 * no MAC: nothing is proven by 64 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_SIPHASH_H
#define COLONNADE_CRYPTO_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_KEY_BYTES = 16 };

uint64_t siphash_of(const uint8_t key[SIPHASH_KEY_BYTES], const void *bytes, size_t n);

#endif
