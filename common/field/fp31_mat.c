/* fp31_mat.c -- the twin, the choice of the kernel, and the kernel in plain C.
 *
 * Four products of canonical factors are less than 2^64 - 2^35, and a sum that was reduced once is
 * less than 2^34: so four terms are added, then reduced.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat.h"

#include "common/base/clones.h"
#include "common/field/fp31_mat_avx2.h"
#include "common/field/fp31_mat_avx512.h"

#include <string.h>

/* --- in plain C --- */

enum { ROWS = 4, COLUMNS = 32, TERMS = 4 };

static void pack_a(void *restrict out, const void *restrict a, size_t depth)
{
    memcpy(out, a, depth * sizeof(uint32_t));
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    const uint32_t *from = b;
    uint32_t *to = out;

    for (size_t u = 0; u < depth; u++, from += ldb, to += COLUMNS) {
        memcpy(to, from, columns * sizeof *to);
        memset(to + columns, 0, (COLUMNS - columns) * sizeof *to);
    }
}

static inline uint64_t fold(uint64_t sum)
{
    return (sum & FP31_P) + (sum >> 31);
}

/* `terms` of one row, at most TERMS, and the reduction. */
static inline void add_terms(uint64_t sum[restrict COLUMNS], const uint32_t *restrict a,
                             const uint32_t (*restrict b)[COLUMNS], const uint32_t terms)
{
    for (uint32_t j = 0; j < COLUMNS; j++) {
        uint64_t x = sum[j];

        for (uint32_t u = 0; u < terms; u++)
            x += (uint64_t)a[u] * b[u][j];
        sum[j] = fold(x);
    }
}

WIDE_CLONES static void add_all(uint64_t sum[restrict ROWS][COLUMNS], const uint32_t *const a[ROWS],
                                const void *restrict panel, size_t depth)
{
    const uint32_t(*const b)[COLUMNS] = (const uint32_t(*)[COLUMNS])panel;
    size_t u = 0;

    for (; u + TERMS <= depth; u += TERMS)
        for (uint32_t r = 0; r < ROWS; r++)
            add_terms(sum[r], a[r] + u, b + u, TERMS);
    for (; u < depth; u++)
        for (uint32_t r = 0; r < ROWS; r++)
            add_terms(sum[r], a[r] + u, b + u, 1);
}

static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    uint64_t sum[ROWS][COLUMNS] = {{0}};
    const uint32_t *a[ROWS];
    uint32_t *out = c;

    for (uint32_t r = 0; r < ROWS; r++) /* a row that is not there is the last one again */
        a[r] =
            (const void *)((const uint8_t *)t->a + (r < t->rows ? r : t->rows - 1) * t->a_stride);
    for (uint32_t r = 0; t->add && r < t->rows; r++)
        for (uint32_t j = 0; j < t->columns; j++)
            sum[r][j] = out[r * ldc + j];
    add_all(sum, a, t->b, t->depth);
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t j = 0; j < t->columns; j++) {
            const uint64_t x = fold(sum[r][j]); /* at most p + 8 */

            out[r * ldc + j] = (uint32_t)(x - (FP31_P & (0U - (x >= FP31_P))));
        }
    explicit_bzero(sum, sizeof sum);
}

static bool anywhere(void)
{
    return true;
}

static const struct mat_kernel portable = {
    .name = "portable",
    .runs_here = anywhere,
    .element = sizeof(uint32_t),
    .packed_a = sizeof(uint32_t),
    .packed_b = sizeof(uint32_t),
    .rows = ROWS,
    .columns = COLUMNS,
    .depth = 256,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .tile = tile,
};

/* --- the choice --- */

const struct mat_kernel *const fp31_mat_kernels[] = {
    &fp31_mat_avx512,
    &fp31_mat_avx2,
    &portable,
};
const size_t fp31_mat_kernels_n = sizeof fp31_mat_kernels / sizeof fp31_mat_kernels[0];

static const struct mat_kernel *chosen(void)
{
    const struct mat_kernel *const *k = fp31_mat_kernels;

    while (!(*k)->runs_here())
        k++;
    return *k;
}

size_t fp31_mat_space(const struct mat_shape *shape)
{
    return mat_space(chosen(), shape);
}

void fp31_mat_mul(uint32_t *c, const uint32_t *a, const uint32_t *b, const struct mat_shape *shape,
                  void *scratch)
{
    mat_mul(chosen(), c, a, b, shape, scratch);
}

void fp31_mat_naive(uint32_t *c, const uint32_t *a, const uint32_t *b, const struct mat_shape *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->m; j++) {
            uint32_t sum = 0;

            for (size_t u = 0; u < s->k; u++)
                sum = fp31_add(sum, fp31_mul(a[i * s->lda + u], b[u * s->ldb + j]));
            c[i * s->ldc + j] = sum;
        }
}
