/* fp61_mat_pack.h -- elements balanced and cut in two: x = x1 2^31 + x0, and x0 + x1 beside them.
 *
 * |x0| <= 2^30, |x1| <= 2^29, so all three are signed 32-bit factors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FP61_MAT_PACK_H
#define COLONNADE_FIELD_FP61_MAT_PACK_H

#include <stddef.h>
#include <stdint.h>

/* The three parts of an element, where they stand. */
enum fp61_part { FP61_PART_0, FP61_PART_1, FP61_PART_SUM, FP61_PARTS };

/* a: n elements (uint64_t); out: n times FP61_PARTS int32_t.  As mat_kernel's pack_a has it. */
void fp61_mat_pack_a(void *restrict out, const void *restrict a, size_t n);
/* b: n of `columns` elements; out: FP61_PARTS times `columns`, each part in the lower half of 64
 * bits; those that are not there are 0. */
void fp61_mat_pack_b(int64_t *restrict out, const uint64_t *restrict b, size_t n, size_t columns);

#endif
