/* fp61_mat_avx512.h -- 4 rows and 16 columns at a time, with AVX-512.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP61_MAT_AVX512_H
#define COLONNADE_FIELD_FP61_MAT_AVX512_H

#include "common/field/mat.h"

extern const struct mat_kernel fp61_mat_avx512; /* runs nowhere but on an x86-64 that has it */

#endif
