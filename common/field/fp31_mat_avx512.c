/* fp31_mat_avx512.c -- 24 registers of sums, each of eight 64-bit lanes; VPMULDQ multiplies.
 *
 * Factors are balanced, |x| <= 2^30 - 1: eight products and a sum that was reduced once, which is
 * less than 2^33, stay below 2^63 in absolute value.  A is packed as int32, B as int32 in lanes of
 * 64 bits.  The upper half of such a lane is never looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31_mat_avx512.h"

#include "common/field/fp31.h"
#include "common/field/fp31_mat_pack.h"

#ifdef __x86_64__

#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f,avx512vl")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    LANES = 8,
    ROWS = 6,
    VECTORS = 4, /* of a row of a tile */
    COLUMNS = VECTORS * LANES,
    TERMS = 8, /* between two reductions */
};

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

INLINE __m512i fold(__m512i sum)
{
    return _mm512_add_epi64(_mm512_and_si512(sum, _mm512_set1_epi64(FP31_P)),
                            _mm512_srai_epi64(sum, 31));
}

INLINE void fold_all(__m512i sum[ROWS][VECTORS], const int vectors)
{
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[r][v] = fold(sum[r][v]);
}

INLINE void add_term(__m512i sum[ROWS][VECTORS], const int32_t *const a[ROWS], const int64_t *b,
                     size_t u, const int vectors)
{
    __m512i x[VECTORS];

#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        x[v] = _mm512_load_si512(b + u * COLUMNS + v * LANES);
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++) {
        const __m512i factor = _mm512_set1_epi32(a[r][u]);

#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[r][v] = _mm512_add_epi64(sum[r][v], _mm512_mul_epi32(factor, x[v]));
    }
}

/* Less than 2^63 to canonical: folded twice, -2 <= sum <= p + 3. */
INLINE __m512i finish(__m512i sum)
{
    const __m512i p = _mm512_set1_epi64(FP31_P);

    sum = fold(fold(sum));
    sum =
        _mm512_min_epu64(sum, _mm512_add_epi64(sum, p)); /* a negative one wraps when p is added */
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, p));
}

/* The lanes of vector v that are columns. */
INLINE __mmask8 there(uint32_t columns, int v)
{
    const uint32_t left = columns - (uint32_t)(v * LANES);

    return left >= LANES ? 0xff : (__mmask8)((1U << left) - 1);
}

INLINE void tile_of(uint32_t *c, size_t ldc, const struct mat_tile *t, const int vectors)
{
    __m512i sum[ROWS][VECTORS];
    const int32_t *a[ROWS];
    size_t u = 0;

#pragma GCC unroll 6
    for (uint32_t r = 0; r < ROWS; r++) { /* a row that is not there is the last one again */
        const uint32_t row = r < t->rows ? r : t->rows - 1;

        a[r] = (const void *)((const uint8_t *)t->a + row * t->a_stride);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sum[r][v] = t->add ? _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(
                                     there(t->columns, v), c + row * ldc + v * LANES))
                               : _mm512_setzero_si512();
    }
    for (; u + TERMS <= t->depth; u += TERMS) {
#pragma GCC unroll 1
        for (size_t k = 0; k < TERMS; k++)
            add_term(sum, a, t->b, u + k, vectors);
        fold_all(sum, vectors);
    }
    for (; u < t->depth; u++)
        add_term(sum, a, t->b, u, vectors);
#pragma GCC unroll 6
    for (uint32_t r = 0; r < ROWS; r++) {
        if (r >= t->rows)
            break;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            _mm512_mask_cvtepi64_storeu_epi32(c + r * ldc + v * LANES, there(t->columns, v),
                                              finish(sum[r][v]));
    }
}

KERNEL static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    switch ((t->columns + LANES - 1) / LANES) {
    case 1: tile_of(c, ldc, t, 1); break;
    case 2: tile_of(c, ldc, t, 2); break;
    case 3: tile_of(c, ldc, t, 3); break;
    default: tile_of(c, ldc, t, VECTORS); break;
    }
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    for (size_t u = 0; u < depth; u++)
        fp31_mat_pack_b((int64_t *)out + u * COLUMNS, (const uint32_t *)b + u * ldb, columns,
                        COLUMNS);
}

const struct mat_kernel fp31_mat_avx512 = {
    .name = "avx512",
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

const struct mat_kernel fp31_mat_avx512 = {.name = "avx512", .runs_here = runs_here};

#endif
