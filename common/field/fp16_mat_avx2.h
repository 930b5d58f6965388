/* fp16_mat_avx2.h -- the product 16 columns at a time, with AVX2.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP16_MAT_AVX2_H
#define COLONNADE_FIELD_FP16_MAT_AVX2_H

#include "common/field/fp16_mat.h"

/* False wherever this is not an x86-64 with AVX2. */
bool fp16_mat_avx2_runs_here(void);
void fp16_mat_avx2_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                       const uint16_t *const *in, size_t n);

#endif
