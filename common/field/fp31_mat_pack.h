/* fp31_mat_pack.h -- elements made ready for signed 32-bit factors: balanced, |x| <= (p-1)/2.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP31_MAT_PACK_H
#define COLONNADE_FIELD_FP31_MAT_PACK_H

#include <stddef.h>
#include <stdint.h>

/* a: n elements (uint32_t); out: n int32_t.  As mat_kernel's pack_a has it. */
void fp31_mat_pack_a(void *restrict out, const void *restrict a, size_t n);
/* b: n of `columns` elements; each takes 64 bits, and has its value in the lower half; those that
 * are not there are 0. */
void fp31_mat_pack_b(int64_t *restrict out, const uint32_t *restrict b, size_t n, size_t columns);

#endif
