/* fp31_mat_avx2.h -- 6 rows and 8 columns at a time, with AVX2.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_MAT_AVX2_H
#define COLONNADE_FIELD_FP31_MAT_AVX2_H

#include "common/field/mat.h"

extern const struct mat_kernel fp31_mat_avx2; /* runs nowhere but on an x86-64 that has it */

#endif
