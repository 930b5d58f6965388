/* fp61_mat_avx2.c -- four rows of one register; three sums an element of C, in 64-bit lanes.
 *
 * The plan and its bounds are those of fp61_mat_avx512.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_mat_avx2.h"

#include "common/field/fp61.h"
#include "common/field/fp61_mat_pack.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define KERNEL __attribute__((target("avx2")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    ROWS = 4,
    COLUMNS = 4,                 /* the lanes of a register */
    TERMS = 7,                   /* between two reductions of low and middle */
    HIGH_TERMS = 4 * TERMS,      /* between two of high */
    LINE = FP61_PARTS * COLUMNS, /* a packed row of B */
};

#define BITS_31 INT64_C(0x7fffffff)
#define BITS_30 INT64_C(0x3fffffff)

struct sums {
    __m256i low, high, both;
};

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx2");
}

/* floor(x / 2^n) of a signed x: there is no arithmetic shift of 64 bits, so 2^63 is added first. */
INLINE __m256i shift(__m256i x, int n)
{
    const int64_t less = INT64_C(1) << (63 - n);
    const __m256i above = _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN));

    return _mm256_sub_epi64(_mm256_srli_epi64(above, n), _mm256_set1_epi64x(less));
}

/* x + p where x is negative. */
INLINE __m256i lift(__m256i x)
{
    const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);

    return _mm256_add_epi64(x, _mm256_and_si256(negative, _mm256_set1_epi64x((int64_t)FP61_P)));
}

INLINE __m256i middle_of(const struct sums *s)
{
    return _mm256_sub_epi64(s->both, _mm256_add_epi64(s->low, s->high));
}

INLINE void fold(struct sums *s)
{
    const __m256i middle = middle_of(s);
    const __m256i low = _mm256_and_si256(s->low, _mm256_set1_epi64x(BITS_31));
    const __m256i left = _mm256_and_si256(middle, _mm256_set1_epi64x(BITS_30));
    const __m256i up = shift(s->low, 31), down = shift(middle, 30);

    s->low = _mm256_add_epi64(low, down);
    s->both = _mm256_add_epi64(_mm256_add_epi64(left, up), _mm256_add_epi64(s->low, s->high));
}

INLINE void fold_high(struct sums *s)
{
    const __m256i rest = _mm256_and_si256(s->high, _mm256_set1_epi64x(BITS_30));
    const __m256i twice = _mm256_add_epi64(rest, rest), up = shift(s->high, 30);

    s->low = _mm256_add_epi64(s->low, twice);
    s->both = _mm256_add_epi64(_mm256_sub_epi64(s->both, s->high), _mm256_add_epi64(twice, up));
    s->high = _mm256_setzero_si256();
}

INLINE __m256i finish(struct sums s)
{
    const __m256i middle = middle_of(&s);
    __m256i x;

    x = _mm256_slli_epi64(_mm256_and_si256(middle, _mm256_set1_epi64x(BITS_30)), 31);
    x = _mm256_add_epi64(x, _mm256_add_epi64(s.low, shift(middle, 30)));
    x = _mm256_sub_epi64(lift(x), _mm256_set1_epi64x((int64_t)FP61_P));
    return lift(x);
}

INLINE __m256i add_product(__m256i sum, __m256i a, __m256i b)
{
    return _mm256_add_epi64(sum, _mm256_mul_epi32(a, b));
}

INLINE void add_term(struct sums sum[ROWS], const int32_t *const a[ROWS], const int64_t *line,
                     size_t u)
{
    const __m256i *x = (const __m256i *)line;
    const __m256i b0 = _mm256_load_si256(x + FP61_PART_0);
    const __m256i b1 = _mm256_load_si256(x + FP61_PART_1);
    const __m256i both = _mm256_load_si256(x + FP61_PART_SUM);

#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++) {
        const int32_t *parts = a[r] + FP61_PARTS * u;

        sum[r].low = add_product(sum[r].low, _mm256_set1_epi32(parts[FP61_PART_0]), b0);
        sum[r].high = add_product(sum[r].high, _mm256_set1_epi32(parts[FP61_PART_1]), b1);
        sum[r].both = add_product(sum[r].both, _mm256_set1_epi32(parts[FP61_PART_SUM]), both);
    }
}

INLINE void add_all(struct sums sum[ROWS], const int32_t *const a[ROWS], const struct mat_tile *t)
{
    const int64_t *b = t->b;

    for (size_t u = 0; u < t->depth;) {
        const size_t most = u + HIGH_TERMS, high_end = most < t->depth ? most : t->depth;

        while (u < high_end) {
            const size_t end = u + TERMS < high_end ? u + TERMS : high_end;

#pragma GCC unroll 1
            for (; u < end; u++)
                add_term(sum, a, b + u * LINE, u);
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; r++)
                fold(&sum[r]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            fold_high(&sum[r]);
    }
}

INLINE struct sums first(const uint64_t *c, uint32_t columns)
{
    uint64_t four[COLUMNS] = {0};
    __m256i x, low;

    memcpy(four, c, columns * sizeof *c);
    x = _mm256_loadu_si256((const __m256i *)four);
    low = _mm256_and_si256(x, _mm256_set1_epi64x(BITS_31));
    return (struct sums){.low = low,
                         .high = _mm256_setzero_si256(),
                         .both = _mm256_add_epi64(low, _mm256_srli_epi64(x, 31))};
}

KERNEL static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    struct sums sum[ROWS];
    const int32_t *a[ROWS];
    uint64_t *out = c;

#pragma GCC unroll 4
    for (uint32_t r = 0; r < ROWS; r++) { /* a row that is not there is the last one again */
        const uint32_t row = r < t->rows ? r : t->rows - 1;

        a[r] = (const void *)((const uint8_t *)t->a + row * t->a_stride);
        sum[r] = first(out + row * ldc, t->add ? t->columns : 0);
    }
    add_all(sum, a, t);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < ROWS; r++) {
        const __m256i x = finish(sum[r]);

        if (r < t->rows && t->columns == COLUMNS)
            _mm256_storeu_si256((__m256i *)(out + r * ldc), x);
        else if (r < t->rows)
            memcpy(out + r * ldc, &x, t->columns * sizeof *out);
    }
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    for (size_t u = 0; u < depth; u++)
        fp61_mat_pack_b((int64_t *)out + u * LINE, (const uint64_t *)b + u * ldb, columns, COLUMNS);
}

const struct mat_kernel fp61_mat_avx2 = {
    .name = "avx2",
    .runs_here = runs_here,
    .element = sizeof(uint64_t),
    .packed_a = FP61_PARTS * sizeof(int32_t),
    .packed_b = FP61_PARTS * sizeof(int64_t),
    .rows = ROWS,
    .columns = COLUMNS,
    .depth = 8 * HIGH_TERMS,
    .pack_a = fp61_mat_pack_a,
    .pack_b = pack_b,
    .tile = tile,
};

#else

static bool runs_here(void)
{
    return false;
}

const struct mat_kernel fp61_mat_avx2 = {.name = "avx2", .runs_here = runs_here};

#endif
