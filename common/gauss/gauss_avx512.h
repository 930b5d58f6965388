/* gauss_avx512.h -- the AVX-512 kernel.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_GAUSS_GAUSS_AVX512_H
#define COLONNADE_GAUSS_GAUSS_AVX512_H

#include "common/gauss/gauss.h"

#include <stdbool.h>

/* False wherever this is not an x86-64 with AVX-512F. */
bool gauss_avx512_runs_here(void);
/* 16 draws. */
void gauss_avx512_draw(int32_t *z, const struct gauss *g, const uint64_t *words);

#endif
