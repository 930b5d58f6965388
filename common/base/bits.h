/* bits.h -- n values of w bits each (1..32) in ceil(n w / 8) bytes: value i occupies the bits i w
 * .. i w + w - 1.
 *
 * Bit k of the packed form is bit k % 8 of byte k / 8 (little-endian throughout); the unused bits
 * of the last byte are written as zero and not looked at when reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BITS_H
#define COLONNADE_BASE_BITS_H

#include <stddef.h>
#include <stdint.h>

enum { BITS_WIDTH_MAX = 32 };

/* Bytes of n packed values; n * w must not overflow (CHECK). */
size_t bits_bytes(size_t n, uint32_t w);

/* Only the low w bits of each value are taken. */
void bits_pack(uint8_t *out, const uint32_t *v, size_t n, uint32_t w);
void bits_unpack(uint32_t *v, const uint8_t *in, size_t n, uint32_t w);
/* sum[i] = sum[i] + value i, mod 2^w. */
void bits_add(uint32_t *sum, const uint8_t *in, size_t n, uint32_t w);

#endif
