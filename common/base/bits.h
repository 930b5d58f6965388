/* bits.h -- runs of w-bit values, packed without gaps, and back.
 *
 * Value i occupies bits i*w .. i*w+w-1 of the run; bit k of a run is bit k mod 8, from the least
 * significant, of byte k / 8.  A run of n values has bits_bytes(n, w) bytes; the spare bits of its
 * last byte are 0.  Widths: 1..16 for the functions on 16-bit lanes, 1..32 for those on 32-bit
 * lanes.  Only the low w bits of a lane are packed, so packing is also the reduction mod 2^w.
 *
 * The bits_naive_* twins say the same one bit at a time; tests compare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BITS_H
#define COLONNADE_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ceil(n * w / 8). */
size_t bits_bytes(size_t n, uint32_t w);
/* ceil(log2(values)): the bits that tell `values` things apart.  values >= 1. */
uint32_t bits_width(uint64_t values);
/* Are the spare bits of a run of n values 0?  A peer's need not be. */
bool bits_clean(const uint8_t *run, size_t n, uint32_t w);

void bits_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w);
void bits_pack32(uint8_t *out, const uint32_t *in, size_t n, uint32_t w);
void bits_unpack16(uint16_t *out, const uint8_t *in, size_t n, uint32_t w);
void bits_unpack32(uint32_t *out, const uint8_t *in, size_t n, uint32_t w);
/* sum[i] = (sum[i] + value i) mod 2^w. */
void bits_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w);
void bits_add32(uint32_t *sum, const uint8_t *in, size_t n, uint32_t w);

void bits_naive_pack(uint8_t *out, const uint32_t *in, size_t n, uint32_t w);
void bits_naive_unpack(uint32_t *out, const uint8_t *in, size_t n, uint32_t w);

#endif
