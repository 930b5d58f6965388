/* fp61_mat_avx512.c -- three sums an element of C, in 64-bit lanes; VPMULDQ multiplies.
 *
 *   low  = sum of a0 b0           |a0 b0| <= 2^60: seven terms and what a reduction left fit
 *   high = sum of a1 b1           |a1 b1| <= 2^58: 28 terms fit
 *   both = sum of (a0 + a1)(b0 + b1), modulo 2^64: what is wanted of it is
 *   middle = both - low - high    |a0 b1 + a1 b0| <= 2^60: seven terms
 *
 * The element is low + 2^31 middle + 2^62 high, where 2^61 = 1: what low has above bit 31 goes to
 * middle, what middle has above bit 30 to low, and 2 high to both of them in the same way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61_mat_avx512.h"

#include "common/field/fp61.h"
#include "common/field/fp61_mat_pack.h"

#ifdef __x86_64__

#include <immintrin.h>

#define KERNEL __attribute__((target("avx512f,avx512vl")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    LANES = 8,
    ROWS = 4,
    VECTORS = 2, /* of a row of a tile */
    COLUMNS = VECTORS * LANES,
    TERMS = 7,                   /* between two reductions of low and middle */
    HIGH_TERMS = 4 * TERMS,      /* between two of high */
    LINE = FP61_PARTS * COLUMNS, /* a packed row of B */
};

#define BITS_31 INT64_C(0x7fffffff)
#define BITS_30 INT64_C(0x3fffffff)

struct sums {
    __m512i low, high, both;
};

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

INLINE __m512i middle_of(const struct sums *s)
{
    return _mm512_sub_epi64(s->both, _mm512_add_epi64(s->low, s->high));
}

INLINE void fold(struct sums *s)
{
    const __m512i middle = middle_of(s);
    const __m512i low = _mm512_and_si512(s->low, _mm512_set1_epi64(BITS_31));
    const __m512i left = _mm512_and_si512(middle, _mm512_set1_epi64(BITS_30));
    const __m512i up = _mm512_srai_epi64(s->low, 31), down = _mm512_srai_epi64(middle, 30);

    s->low = _mm512_add_epi64(low, down);
    s->both = _mm512_add_epi64(_mm512_add_epi64(left, up), _mm512_add_epi64(s->low, s->high));
}

/* 2^62 high = 2 high = 2 (high mod 2^30) + 2^31 (high >> 30).  In `both` a change of low counts
 * once for low, one of middle once, and high is gone. */
INLINE void fold_high(struct sums *s)
{
    const __m512i rest = _mm512_and_si512(s->high, _mm512_set1_epi64(BITS_30));
    const __m512i twice = _mm512_add_epi64(rest, rest), up = _mm512_srai_epi64(s->high, 30);

    s->low = _mm512_add_epi64(s->low, twice);
    s->both = _mm512_add_epi64(_mm512_sub_epi64(s->both, s->high), _mm512_add_epi64(twice, up));
    s->high = _mm512_setzero_si512();
}

/* What both folds left, low and middle less than 2^35 and high 0, to canonical. */
INLINE __m512i finish(struct sums s)
{
    const __m512i p = _mm512_set1_epi64((int64_t)FP61_P);
    const __m512i middle = middle_of(&s);
    __m512i x;

    x = _mm512_slli_epi64(_mm512_and_si512(middle, _mm512_set1_epi64(BITS_30)), 31);
    x = _mm512_add_epi64(x, _mm512_add_epi64(s.low, _mm512_srai_epi64(middle, 30)));
    x = _mm512_min_epu64(x, _mm512_add_epi64(x, p)); /* a negative one wraps when p is added */
    return _mm512_min_epu64(x, _mm512_sub_epi64(x, p));
}

/* Part by part, so that few registers hold B. */
INLINE void add_term(__m512i sum[FP61_PARTS][ROWS][VECTORS], const int32_t *const a[ROWS],
                     const int64_t *b, size_t u, const int vectors)
{
#pragma GCC unroll 3
    for (int part = 0; part < FP61_PARTS; part++) {
        __m512i x[VECTORS];

#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            x[v] = _mm512_load_si512(b + u * LINE + part * COLUMNS + v * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            const __m512i factor = _mm512_set1_epi32(a[r][FP61_PARTS * u + (size_t)part]);

#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[part][r][v] = _mm512_add_epi64(sum[part][r][v], _mm512_mul_epi32(factor, x[v]));
        }
    }
}

INLINE struct sums sums_at(__m512i sum[FP61_PARTS][ROWS][VECTORS], uint32_t r, int v)
{
    return (struct sums){sum[FP61_PART_0][r][v], sum[FP61_PART_1][r][v], sum[FP61_PART_SUM][r][v]};
}

INLINE void set_sums(__m512i sum[FP61_PARTS][ROWS][VECTORS], uint32_t r, int v, struct sums s)
{
    sum[FP61_PART_0][r][v] = s.low;
    sum[FP61_PART_1][r][v] = s.high;
    sum[FP61_PART_SUM][r][v] = s.both;
}

INLINE void fold_all(__m512i sum[FP61_PARTS][ROWS][VECTORS], const int vectors, const bool high)
{
#pragma GCC unroll 4
    for (uint32_t r = 0; r < ROWS; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            struct sums s = sums_at(sum, r, v);

            if (high)
                fold_high(&s);
            else
                fold(&s);
            set_sums(sum, r, v, s);
        }
}

INLINE void add_all(__m512i sum[FP61_PARTS][ROWS][VECTORS], const int32_t *const a[ROWS],
                    const struct mat_tile *t, const int vectors)
{
    for (size_t u = 0; u < t->depth;) {
        const size_t most = u + HIGH_TERMS, high_end = most < t->depth ? most : t->depth;

        while (u < high_end) {
            const size_t end = u + TERMS < high_end ? u + TERMS : high_end;

#pragma GCC unroll 1
            for (; u < end; u++)
                add_term(sum, a, t->b, u, vectors);
            fold_all(sum, vectors, false);
        }
        fold_all(sum, vectors, true);
    }
}

/* The lanes of vector v that are columns. */
INLINE __mmask8 there(uint32_t columns, int v)
{
    const uint32_t left = columns - (uint32_t)(v * LANES);

    return left >= LANES ? 0xff : (__mmask8)((1U << left) - 1);
}

INLINE struct sums first(const uint64_t *c, __mmask8 lanes)
{
    const __m512i x = _mm512_maskz_loadu_epi64(lanes, c);
    const __m512i low = _mm512_and_si512(x, _mm512_set1_epi64(BITS_31));

    return (struct sums){.low = low,
                         .high = _mm512_setzero_si512(),
                         .both = _mm512_add_epi64(low, _mm512_srli_epi64(x, 31))};
}

INLINE void tile_of(uint64_t *c, size_t ldc, const struct mat_tile *t, const int vectors)
{
    __m512i sum[FP61_PARTS][ROWS][VECTORS];
    const int32_t *a[ROWS];

#pragma GCC unroll 4
    for (uint32_t r = 0; r < ROWS; r++) { /* a row that is not there is the last one again */
        const uint32_t row = r < t->rows ? r : t->rows - 1;

        a[r] = (const void *)((const uint8_t *)t->a + row * t->a_stride);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            set_sums(sum, r, v,
                     first(c + row * ldc + v * LANES, t->add ? there(t->columns, v) : 0));
    }
    add_all(sum, a, t, vectors);
#pragma GCC unroll 4
    for (uint32_t r = 0; r < ROWS; r++) {
        if (r >= t->rows)
            break;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm512_mask_storeu_epi64(c + r * ldc + v * LANES, there(t->columns, v),
                                     finish(sums_at(sum, r, v)));
    }
}

KERNEL static void tile(void *c, size_t ldc, const struct mat_tile *t)
{
    if (t->columns <= LANES)
        tile_of(c, ldc, t, 1);
    else
        tile_of(c, ldc, t, VECTORS);
}

static void pack_b(void *restrict out, const void *restrict b, size_t ldb, size_t depth,
                   uint32_t columns)
{
    for (size_t u = 0; u < depth; u++)
        fp61_mat_pack_b((int64_t *)out + u * LINE, (const uint64_t *)b + u * ldb, columns, COLUMNS);
}

const struct mat_kernel fp61_mat_avx512 = {
    .name = "avx512",
    .runs_here = runs_here,
    .element = sizeof(uint64_t),
    .packed_a = FP61_PARTS * sizeof(int32_t),
    .packed_b = FP61_PARTS * sizeof(int64_t),
    .rows = ROWS,
    .columns = COLUMNS,
    .depth = 4 * HIGH_TERMS,
    .pack_a = fp61_mat_pack_a,
    .pack_b = pack_b,
    .tile = tile,
};

#else

static bool runs_here(void)
{
    return false;
}

const struct mat_kernel fp61_mat_avx512 = {.name = "avx512", .runs_here = runs_here};

#endif
