/* lane_avx512.h -- sums of 16-bit lanes, 64 bytes at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_LANE_AVX512_H
#define COLONNADE_SECAGG_LANE_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False wherever this is not an x86-64 with AVX-512BW. */
bool lane_avx512_runs_here(void);
/* Whole registers only: they return how many of the n lanes are done. */
size_t lane_avx512_add16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n);
size_t lane_avx512_sub16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n);

#endif
