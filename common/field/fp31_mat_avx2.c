/* fp31_mat_avx2.c -- twelve registers of sums, each of four 64-bit lanes; VPMULDQ multiplies.
 *
 * The plan is that of fp31_mat_avx512.c.  There is no arithmetic shift of 64 bits, so sums are kept
 * above 0: after each reduction BIAS is added, a multiple of p that outweighs eight products.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat_avx2.h"

#include "common/field/fp31.h"
#include "common/field/fp31_mat_pack.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define KERNEL __attribute__((target("avx2")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    LANES = 4,
    ROWS = 6,
    VECTORS = 2, /* of a row of a tile */
    COLUMNS = VECTORS * LANES,
    TERMS = 8, /* between two reductions */
};

/* 2^63 mod p = 2.  Eight products have at most 2^63 - 2^34 + 8, a sum reduced less than 2^34. */
#define BIAS INT64_C(0x7ffffffffffffffe)

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx2");
}

INLINE __m256i fold(__m256i sum)
{
    return _mm256_add_epi64(_mm256_and_si256(sum, _mm256_set1_epi64x(FP31_P)),
                            _mm256_srli_epi64(sum, 31));
}

INLINE void fold_all(__m256i sum[ROWS][VECTORS])
{
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = _mm256_add_epi64(fold(sum[r][v]), _mm256_set1_epi64x(BIAS));
}

INLINE void add_term(__m256i sum[ROWS][VECTORS], const int32_t *const a[ROWS], const int64_t *b,
                     size_t u)
{
    __m256i x[VECTORS];

#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++)
        x[v] = _mm256_load_si256((const __m256i *)(b + u * COLUMNS + v * LANES));
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++) {
        const __m256i factor = _mm256_set1_epi32(a[r][u]);

#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = _mm256_add_epi64(sum[r][v], _mm256_mul_epi32(factor, x[v]));
    }
}

/* Folded twice, at most p + 4.  The upper halves are 0 then. */
INLINE __m128i finish(__m256i sum)
{
    const __m256i p = _mm256_set1_epi64x(FP31_P);
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);

    sum = fold(fold(sum));
    sum = _mm256_min_epu32(sum, _mm256_sub_epi32(sum, p));
    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(sum, even));
}

/* The rows of C that a tile covers, `columns` of them. */
INLINE void store(uint32_t *c, __m128i x, uint32_t columns)
{
    uint32_t four[LANES];

    if (columns >= LANES) {
        _mm_storeu_si128((__m128i *)c, x);
    } else {
        _mm_storeu_si128((__m128i *)four, x);
        memcpy(c, four, columns * sizeof *c);
    }
}

INLINE __m256i load(const uint32_t *c, uint32_t columns)
{
    uint32_t four[LANES] = {0};

    memcpy(four, c, (columns < LANES ? columns : LANES) * sizeof *c);
    return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)four));
}

KERNEL static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    __m256i sum[ROWS][VECTORS];
    const int32_t *a[ROWS];
    uint32_t *out = c;
    size_t u = 0;

#pragma GCC unroll 6
    for (uint32_t r = 0; r < ROWS; r++) { /* a row that is not there is the last one again */
        const uint32_t row = r < t->rows ? r : t->rows - 1;

        a[r] = (const void *)((const uint8_t *)t->a + row * t->a_stride);
#pragma GCC unroll 2
        for (uint32_t v = 0; v < VECTORS; v++) {
            sum[r][v] = _mm256_set1_epi64x(BIAS);
            if (t->add && t->columns > v * LANES)
                sum[r][v] = _mm256_add_epi64(
                    sum[r][v], load(out + row * ldc + v * LANES, t->columns - v * LANES));
        }
    }
    for (; u + TERMS <= t->depth; u += TERMS) {
#pragma GCC unroll 1
        for (size_t k = 0; k < TERMS; k++)
            add_term(sum, a, t->b, u + k);
        fold_all(sum);
    }
    for (; u < t->depth; u++)
        add_term(sum, a, t->b, u);
#pragma GCC unroll 6
    for (uint32_t r = 0; r < ROWS; r++) {
        if (r >= t->rows)
            break;
#pragma GCC unroll 2
        for (uint32_t v = 0; v < VECTORS; v++)
            if (t->columns > v * LANES)
                store(out + r * ldc + v * LANES, finish(sum[r][v]), t->columns - v * LANES);
    }
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    for (size_t u = 0; u < depth; u++)
        fp31_mat_pack_b((int64_t *)out + u * COLUMNS, (const uint32_t *)b + u * ldb, columns,
                        COLUMNS);
}

const struct mat_kernel fp31_mat_avx2 = {
    .name = "avx2",
    .runs_here = runs_here,
    .element = sizeof(uint32_t),
    .packed_a = sizeof(int32_t),
    .packed_b = sizeof(int64_t),
    .rows = ROWS,
    .columns = COLUMNS,
    .depth = 256,
    .pack_a = fp31_mat_pack_a,
    .pack_b = pack_b,
    .tile = tile,
};

#else

static bool runs_here(void)
{
    return false;
}

const struct mat_kernel fp31_mat_avx2 = {.name = "avx2", .runs_here = runs_here};

#endif
