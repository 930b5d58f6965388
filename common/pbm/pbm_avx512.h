/* pbm_avx512.h -- the AVX-512 counting kernel.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PBM_PBM_AVX512_H
#define COLONNADE_PBM_PBM_AVX512_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False wherever this is not an x86-64 with AVX-512BW. */
bool pbm_avx512_runs_here(void);
void pbm_avx512_count(uint16_t *count, const uint16_t *t, const uint16_t *words, size_t rows);

#endif
