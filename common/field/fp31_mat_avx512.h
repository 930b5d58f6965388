/* fp31_mat_avx512.h -- 6 rows and 32 columns at a time, with AVX-512.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_MAT_AVX512_H
#define COLONNADE_FIELD_FP31_MAT_AVX512_H

#include "common/field/mat.h"

extern const struct mat_kernel fp31_mat_avx512; /* runs nowhere but on an x86-64 that has it */

#endif
