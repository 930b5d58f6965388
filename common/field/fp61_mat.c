/* fp61_mat.c -- the twin, the choice of the kernel, and the kernel in plain C.
 *
 * As with vectors (fp61_mat_avx512.c), but unsigned, so that any instruction set has the product of
 * 32 by 32 bits: x = x1 2^31 + x0, x0 < 2^31, x1 < 2^30.  Three terms and what a reduction left,
 * less than 2^35, stay below 2^64 in low = a0 b0, in high = a1 b1 and in middle = a0 b1 + a1 b0,
 * which is (a0 + a1)(b0 + b1) - low - high modulo 2^64.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_mat.h"

#include "common/base/clones.h"
#include "common/field/fp61_mat_avx2.h"
#include "common/field/fp61_mat_avx512.h"

#include <string.h>

/* --- in plain C --- */

enum { ROWS = 2, COLUMNS = 32, TERMS = 3, PARTS = 3 };

/* Of one row of a tile. */
struct sums {
    uint64_t low[COLUMNS], both[COLUMNS]; /* high is 0 between reductions */
};

/* Packed rows of B: the lower, the upper parts, and what they add to. */
struct line {
    uint32_t low[COLUMNS], high[COLUMNS], both[COLUMNS];
};

static uint32_t low_of(uint64_t x)
{
    return (uint32_t)x & 0x7fffffff;
}

static uint32_t high_of(uint64_t x)
{
    return (uint32_t)(x >> 31);
}

static void pack_a(void *restrict out, const void *restrict a, size_t depth)
{
    const uint64_t *from = a;
    uint32_t *to = out;

    for (size_t u = 0; u < depth; u++, to += PARTS) {
        to[0] = low_of(from[u]);
        to[1] = high_of(from[u]);
        to[2] = to[0] + to[1];
    }
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    const uint64_t *from = b;
    struct line *to = out;

    for (size_t u = 0; u < depth; u++, from += ldb, to++) {
        memset(to, 0, sizeof *to);
        for (uint32_t j = 0; j < columns; j++) {
            to->low[j] = low_of(from[j]);
            to->high[j] = high_of(from[j]);
            to->both[j] = to->low[j] + to->high[j];
        }
    }
}

/* `terms` of one row, 1 .. TERMS, and the reduction: low gives what it has above bit 31 to middle,
 * middle what it has above bit 30 to low, and 2^62 high is 2 high. */
static inline void add_terms(struct sums *restrict s, const uint32_t *restrict a,
                             const struct line *restrict b, const uint32_t terms)
{
    for (uint32_t j = 0; j < COLUMNS; j++) {
        uint64_t low = s->low[j], middle = s->both[j], high = 0;

        for (uint32_t u = 0; u < terms; u++) {
            low += (uint64_t)a[PARTS * u] * b[u].low[j];
            high += (uint64_t)a[PARTS * u + 1] * b[u].high[j];
            middle += (uint64_t)a[PARTS * u + 2] * b[u].both[j];
        }
        middle -= low + high;
        s->low[j] = (low & 0x7fffffff) + (middle >> 30) + 2 * (high & 0x3fffffff);
        middle = (middle & 0x3fffffff) + (low >> 31) + (high >> 30);
        s->both[j] = s->low[j] + middle;
    }
}

WIDE_CLONES static void add_all(struct sums s[restrict ROWS], const uint32_t *const a[ROWS],
                                const struct line *restrict b, size_t depth)
{
    size_t u = 0;

    for (; u + TERMS <= depth; u += TERMS)
        for (uint32_t r = 0; r < ROWS; r++)
            add_terms(&s[r], a[r] + PARTS * u, b + u, TERMS);
    for (; u < depth; u++)
        for (uint32_t r = 0; r < ROWS; r++)
            add_terms(&s[r], a[r] + PARTS * u, b + u, 1);
}

static uint64_t finish(uint64_t low, uint64_t middle)
{
    /* Both less than 2^35. */
    const uint64_t x = ((middle & 0x3fffffff) << 31) + low + (middle >> 30);

    return x - (FP61_P & (0U - (uint64_t)(x >= FP61_P)));
}

static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    struct sums s[ROWS] = {{{0}, {0}}};
    const uint32_t *a[ROWS];
    uint64_t *out = c;

    for (uint32_t r = 0; r < ROWS; r++) { /* a row that is not there is the last one again */
        const uint32_t row = r < t->rows ? r : t->rows - 1;

        a[r] = (const void *)((const uint8_t *)t->a + row * t->a_stride);
        for (uint32_t j = 0; t->add && j < t->columns; j++) {
            s[r].low[j] = low_of(out[row * ldc + j]);
            s[r].both[j] = s[r].low[j] + (uint64_t)high_of(out[row * ldc + j]);
        }
    }
    add_all(s, a, t->b, t->depth);
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t j = 0; j < t->columns; j++)
            out[r * ldc + j] = finish(s[r].low[j], s[r].both[j] - s[r].low[j]);
    explicit_bzero(s, sizeof s);
}

static bool anywhere(void)
{
    return true;
}

static const struct mat_kernel portable = {
    .name = "portable",
    .runs_here = anywhere,
    .element = sizeof(uint64_t),
    .packed_a = PARTS * sizeof(uint32_t),
    .packed_b = PARTS * sizeof(uint32_t),
    .rows = ROWS,
    .columns = COLUMNS,
    .depth = 252,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .tile = tile,
};

/* --- the choice --- */

const struct mat_kernel *const fp61_mat_kernels[] = {
    &fp61_mat_avx512,
    &fp61_mat_avx2,
    &portable,
};
const size_t fp61_mat_kernels_n = sizeof fp61_mat_kernels / sizeof fp61_mat_kernels[0];

static const struct mat_kernel *chosen(void)
{
    const struct mat_kernel *const *k = fp61_mat_kernels;

    while (!(*k)->runs_here())
        k++;
    return *k;
}

size_t fp61_mat_space(const struct mat_shape *shape)
{
    return mat_space(chosen(), shape);
}

void fp61_mat_mul(uint64_t *c, const uint64_t *a, const uint64_t *b, const struct mat_shape *shape,
                  void *scratch)
{
    mat_mul(chosen(), c, a, b, shape, scratch);
}

void fp61_mat_naive(uint64_t *c, const uint64_t *a, const uint64_t *b, const struct mat_shape *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->m; j++) {
            uint64_t sum = 0;

            for (size_t u = 0; u < s->k; u++)
                sum = fp61_add(sum, fp61_mul(a[i * s->lda + u], b[u * s->ldb + j]));
            c[i * s->ldc + j] = sum;
        }
}
