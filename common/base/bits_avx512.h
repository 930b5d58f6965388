/* bits_avx512.h -- packing and adding 16-bit lanes, 32 values at a time, with AVX-512 VBMI.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_BITS_AVX512_H
#define COLONNADE_BASE_BITS_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False wherever this is not an x86-64 with AVX-512BW and VBMI. */
bool bits_avx512_runs_here(void);
void bits_avx512_pack16(uint8_t *out, const uint16_t *in, size_t n, uint32_t w);
void bits_avx512_add16(uint16_t *sum, const uint8_t *in, size_t n, uint32_t w);

#endif
