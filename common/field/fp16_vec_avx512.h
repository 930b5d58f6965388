/* fp16_vec_avx512.h -- rejection of 32 words at a time, with AVX-512 VBMI2.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_VEC_AVX512_H
#define COLONNADE_FIELD_FP16_VEC_AVX512_H

#include "common/field/fp16.h"

#include <stddef.h>

/* False wherever this is not an x86-64 with AVX-512BW and VBMI2. */
bool fp16_vec_avx512_runs_here(void);
/* fp16_vec_uniform as far as whole blocks of 32 words and 32 elements go. */
size_t fp16_vec_avx512_uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes,
                               size_t *used, const struct fp16 *f);

#endif
