/* fp16_mat_avx2.c -- 16 columns are one register of int16; VPMADDWD multiplies and adds a pair.
 *
 * The plan is that of fp16_mat_avx512.c: values centred and interleaved by unpacking, sums put back
 * in order by packing.  Half the registers, so smaller tiles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_mat_avx2.h"

#include "common/base/check.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define KERNEL __attribute__((target("avx2")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    BLOCK = 16, /* columns */
    TILE = 4,   /* output rows whose sums stay in registers: 2 of each, 4 in the wide form */
    GROUP = 16, /* blocks at a time: a longer run of each row, since the memory likes few streams */
    PAIRS_MAX = (FP16_MAT_TERMS_MAX + 1) / 2,
};

/* What belongs to one column block. */
struct both {
    __m256i low, high;
};

struct constants {
    __m256 inverse;
    __m256i p32, p16; /* in lanes of 32 and of 16 bits */
};

bool fp16_mat_avx2_runs_here(void)
{
    return __builtin_cpu_supports("avx2");
}

/* To -p < sum < p. */
INLINE __m256i reduce(__m256i sum, const struct constants *k)
{
    const __m256 x = _mm256_cvtepi32_ps(sum);
    const __m256i q = _mm256_cvtps_epi32(_mm256_mul_ps(x, k->inverse));

    return _mm256_sub_epi32(sum, _mm256_mullo_epi32(q, k->p32));
}

INLINE __m256i finish(__m256i low, __m256i high, const struct constants *k)
{
    const __m256i x = _mm256_packs_epi32(reduce(low, k), reduce(high, k));

    return _mm256_min_epu16(x,
                            _mm256_add_epi16(x, k->p16)); /* a negative one wraps and is larger */
}

/* Here a remainder need not fit int16, so p is added before packing. */
INLINE __m256i finish_wide(__m256i sum, __m256i upper, const struct constants *k)
{
    upper = _mm256_slli_epi32(reduce(upper, k), 8);
    sum = reduce(_mm256_add_epi32(sum, upper), k);
    return _mm256_min_epu32(sum, _mm256_add_epi32(sum, k->p32));
}

/* sum[r] += row r of the coefficients, which begin at c, times the block. */
INLINE void add_rows(struct both *sum, const int32_t *c, const struct both *x, uint32_t pairs,
                     int rows)
{
    for (uint32_t u = 0; u < pairs; u++) {
        const struct both pair = x[u];

#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const __m256i factor = _mm256_set1_epi32(c[(size_t)r * pairs + u]);

            sum[r].low = _mm256_add_epi32(sum[r].low, _mm256_madd_epi16(pair.low, factor));
            sum[r].high = _mm256_add_epi32(sum[r].high, _mm256_madd_epi16(pair.high, factor));
        }
    }
}

/* Rows first .. first + rows - 1 of the product, in one block, of which `some` columns are there.
 */
INLINE void tile_block(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                       const struct constants *k, size_t some, uint32_t first, int rows, bool wide)
{
    const size_t at = (size_t)first * m->pairs;
    struct both sum[TILE], upper[TILE];

#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        sum[r].low = sum[r].high = _mm256_set1_epi32(m->bias[first + (uint32_t)r]);
        upper[r].low = upper[r].high = _mm256_setzero_si256();
    }
    add_rows(sum, m->low + at, x, m->pairs, rows);
    if (wide)
        add_rows(upper, m->high + at, x, m->pairs, rows);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        uint16_t *to = out + (first + (size_t)r) * stride;
        const __m256i y = wide ? _mm256_packus_epi32(finish_wide(sum[r].low, upper[r].low, k),
                                                     finish_wide(sum[r].high, upper[r].high, k))
                               : finish(sum[r].low, sum[r].high, k);

        if (some >= BLOCK) {
            _mm256_storeu_si256((__m256i *)to, y);
        } else {
            uint16_t block[BLOCK];

            _mm256_storeu_si256((__m256i *)block, y);
            memcpy(to, block, some * sizeof *to);
        }
    }
}

/* The same in all blocks of a group. */
INLINE void tile(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                 const struct constants *k, size_t some, uint32_t first, int rows, bool wide)
{
    for (size_t j = 0; j < some; j += BLOCK, x += m->pairs)
        tile_block(m, out + j, stride, x, k, some - j, first, rows, wide);
}

INLINE void all_tiles(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                      const struct constants *k, size_t some, bool wide)
{
    for (uint32_t first = 0, rows; first < m->rows; first += rows) {
        const uint32_t left = m->rows - first, parts = (left + TILE - 1) / TILE;

        rows = (left + parts - 1) / parts; /* alike, rather than one small one at the end */
        switch (rows) {
        case 1: tile(m, out, stride, x, k, some, first, 1, wide); break;
        case 2: tile(m, out, stride, x, k, some, first, 2, wide); break;
        case 3: tile(m, out, stride, x, k, some, first, 3, wide); break;
        default: tile(m, out, stride, x, k, some, first, TILE, wide); break;
        }
    }
}

INLINE __m256i load(const uint16_t *in, size_t some)
{
    uint16_t block[BLOCK] = {0};

    if (some >= BLOCK)
        return _mm256_loadu_si256((const __m256i *)in);
    memcpy(block, in, some * sizeof *in);
    return _mm256_loadu_si256((const __m256i *)block);
}

/* The values of a block, centred and interleaved. */
INLINE void prepare(struct both *x, const struct fp16_mat *m, const uint16_t *const *in, size_t at,
                    size_t some)
{
    const __m256i half = _mm256_set1_epi16((short)m->f.half);

    for (uint32_t u = 0; u < m->pairs; u++) {
        /* A last one without neighbour is its own: the coefficient is 0. */
        const uint32_t odd = 2 * u + 1 < m->terms ? 2 * u + 1 : 2 * u;
        const __m256i even = _mm256_sub_epi16(load(in[2 * u] + at, some), half);
        const __m256i next = _mm256_sub_epi16(load(in[odd] + at, some), half);

        x[u].low = _mm256_unpacklo_epi16(even, next);
        x[u].high = _mm256_unpackhi_epi16(even, next);
    }
}

INLINE void mul(const struct fp16_mat *given, uint16_t *out, size_t stride,
                const uint16_t *const *in, size_t n, bool wide)
{
    const struct fp16_mat copy = *given, *m = &copy; /* which no store can change */
    const struct constants k = {_mm256_set1_ps(1.0F / (float)m->f.p),
                                _mm256_set1_epi32((int)m->f.p), _mm256_set1_epi16((short)m->f.p)};
    const uint32_t fit = PAIRS_MAX / m->pairs, group = fit < GROUP ? fit : GROUP;
    struct both x[PAIRS_MAX];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < group * BLOCK ? n - at : group * BLOCK;
        for (size_t j = 0; j < some; j += BLOCK)
            prepare(x + j / BLOCK * m->pairs, m, in, at + j, some - j);
        all_tiles(m, out + at, stride, x, &k, some, wide);
    }
    explicit_bzero(x, group * m->pairs * sizeof *x);
}

KERNEL void fp16_mat_avx2_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                              const uint16_t *const *in, size_t n)
{
    if (m->wide)
        mul(m, out, stride, in, n, true);
    else
        mul(m, out, stride, in, n, false);
}

#else

bool fp16_mat_avx2_runs_here(void)
{
    return false;
}

void fp16_mat_avx2_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                       const uint16_t *const *in, size_t n)
{
    (void)m, (void)out, (void)stride, (void)in, (void)n;
    CHECK(!"an x86 kernel was chosen on another machine");
}

#endif
