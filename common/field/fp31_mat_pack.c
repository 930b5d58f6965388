/* fp31_mat_pack.c -- loops that the compiler widens.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat_pack.h"

#include "common/base/clones.h"
#include "common/field/fp31.h"

static inline int32_t balanced(uint32_t x)
{
    return (int32_t)(x - (x > FP31_HALF ? FP31_P : 0));
}

WIDE_CLONES void fp31_mat_pack_a(void *restrict out, const void *restrict a, size_t n)
{
    const uint32_t *from = a;
    int32_t *to = out;

    for (size_t u = 0; u < n; u++)
        to[u] = balanced(from[u]);
}

WIDE_CLONES void fp31_mat_pack_b(int64_t *restrict out, const uint32_t *restrict b, size_t n,
                                 size_t columns)
{
    for (size_t j = 0; j < n; j++)
        out[j] = balanced(b[j]);
    for (size_t j = n; j < columns; j++)
        out[j] = 0;
}
