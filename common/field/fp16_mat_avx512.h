/* fp16_mat_avx512.h -- the product 32 columns at a time, with AVX-512 VNNI.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_MAT_AVX512_H
#define COLONNADE_FIELD_FP16_MAT_AVX512_H

#include "common/field/fp16_mat.h"

/* False wherever this is not an x86-64 with AVX-512BW and VNNI. */
bool fp16_mat_avx512_runs_here(void);
void fp16_mat_avx512_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                         const uint16_t *const *in, size_t n);

#endif
