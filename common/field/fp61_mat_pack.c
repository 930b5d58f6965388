/* fp61_mat_pack.c -- loops that the compiler widens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_mat_pack.h"

#include "common/base/clones.h"
#include "common/field/fp61.h"

/* x - p where x is above (p - 1) / 2.  In words that no compiler takes for a branch. */
static inline uint64_t balance(uint64_t x)
{
    const uint64_t above = (FP61_HALF - x) >> 63;

    return x - (FP61_P & (0 - above));
}

/* All in wrapped 64 bits, of the balanced x: x + 2^30 is cut at bit 31, so that what is above the
 * cut is x1 and what is below it is x0 + 2^30. */
static inline uint64_t upper(uint64_t x)
{
    const uint64_t balanced = balance(x);

    /* 2^62 keeps the sum positive, for there is no arithmetic shift of 64 bits before AVX-512. */
    return ((balanced + (UINT64_C(1) << 62) + (UINT64_C(1) << 30)) >> 31) - (UINT64_C(1) << 31);
}

static inline uint64_t lower(uint64_t x)
{
    const uint64_t balanced = balance(x);

    return ((balanced + (UINT64_C(1) << 30)) & 0x7fffffff) - (UINT64_C(1) << 30);
}

WIDE_CLONES void fp61_mat_pack_a(void *restrict out, const void *restrict a, size_t n)
{
    const uint64_t *from = a;
    int32_t *to = out;

    for (size_t u = 0; u < n; u++) {
        const int32_t x0 = (int32_t)lower(from[u]), x1 = (int32_t)upper(from[u]);

        to[FP61_PARTS * u + FP61_PART_0] = x0;
        to[FP61_PARTS * u + FP61_PART_1] = x1;
        to[FP61_PARTS * u + FP61_PART_SUM] = x0 + x1;
    }
}

WIDE_CLONES void fp61_mat_pack_b(int64_t *restrict out, const uint64_t *restrict b, size_t n,
                                 size_t columns)
{
    for (size_t j = 0; j < n; j++) {
        const int64_t x0 = (int64_t)lower(b[j]), x1 = (int64_t)upper(b[j]);

        out[FP61_PART_0 * columns + j] = x0;
        out[FP61_PART_1 * columns + j] = x1;
        out[FP61_PART_SUM * columns + j] = x0 + x1;
    }
    for (size_t j = n; j < columns; j++)
        out[FP61_PART_0 * columns + j] = out[FP61_PART_1 * columns + j] =
            out[FP61_PART_SUM * columns + j] = 0;
}
