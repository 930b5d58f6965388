/* fp16_mat_avx512.c -- 32 columns are one register of int16; VPDPWSSD adds a pair of products.
 *
 * Two rows of values are interleaved, so that each 32-bit lane holds one column's pair: unpacking
 * gives columns 0..3, 8..11, .. in one register and 4..7, 12..15, .. in the other, and packing the
 * reduced sums puts them back in order.  A block of all rows is prepared once, in the first cache
 * level, and read by every tile of output rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_mat_avx512.h"

#include "common/base/check.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <string.h>

#define KERNEL __attribute__((target("avx512bw,avx512vl,avx512vnni")))
#define INLINE KERNEL __attribute__((always_inline)) static inline

enum {
    BLOCK = 32, /* columns */
    TILE = 5,   /* output rows whose sums stay in registers: 2 of each, 4 in the wide form */
    GROUP = 32,
    PAIRS_MAX = (FP16_MAT_TERMS_MAX + 1) / 2,
};

/* How a sum becomes a canonical element. */
enum form {
    SHORT, /* p < 2^15, and the quotient, too, fits int16 */
    LONG,  /* p < 2^15 */
    WIDE,  /* two sums */
};

/* What belongs to one column block. */
struct both {
    __m512i low, high;
};

struct constants {
    __m512 inverse, round;
    __m512i p32, p16, minus_p; /* in 32-bit lanes; in 16-bit lanes; as pairs (-p, 0) */
};

bool fp16_mat_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
}

INLINE struct constants constants_of(const struct fp16 *f)
{
    return (struct constants){
        .inverse = _mm512_set1_ps(1.0F / (float)f->p),
        .round = _mm512_set1_ps(12582912.0F), /* 1.5 * 2^23: leaves the integer in the low bits */
        .p32 = _mm512_set1_epi32((int)f->p),
        .p16 = _mm512_set1_epi16((short)f->p),
        .minus_p = _mm512_set1_epi32((int)((0U - f->p) & 0xffff)),
    };
}

/* To -p < sum < p. */
INLINE __m512i reduce(__m512i sum, const struct constants *k, enum form form)
{
    const __m512 x = _mm512_cvtepi32_ps(sum);
    __m512i q;

    if (form == SHORT) {
        /* The low half of each lane is the quotient; the high half meets the 0. */
        q = _mm512_castps_si512(_mm512_fmadd_ps(x, k->inverse, k->round));
        return _mm512_dpwssd_epi32(sum, q, k->minus_p);
    }
    q = _mm512_cvtps_epi32(_mm512_mul_ps(x, k->inverse));
    return _mm512_sub_epi32(sum, _mm512_mullo_epi32(q, k->p32));
}

INLINE __m512i finish(__m512i low, __m512i high, const struct constants *k, enum form form)
{
    /* Packing takes the second operand into the upper half of each 128 bits: the order of before.
     */
    const __m512i x = _mm512_packs_epi32(reduce(low, k, form), reduce(high, k, form));

    return _mm512_min_epu16(x,
                            _mm512_add_epi16(x, k->p16)); /* a negative one wraps to the larger */
}

/* Here a remainder need not fit int16, so p is added before packing. */
INLINE __m512i finish_wide(__m512i sum, __m512i upper, const struct constants *k)
{
    upper = _mm512_slli_epi32(reduce(upper, k, WIDE), 8);
    sum = reduce(_mm512_add_epi32(sum, upper), k, WIDE);
    return _mm512_min_epu32(sum, _mm512_add_epi32(sum, k->p32));
}

/* sum[r] += row r of the coefficients, which begin at c, times the block. */
INLINE void add_rows(struct both *sum, const int32_t *c, const struct both *x, uint32_t pairs,
                     int rows)
{
    for (uint32_t u = 0; u < pairs; u++) {
        const struct both pair = x[u];

#pragma GCC unroll 5
        for (int r = 0; r < rows; r++) {
            const __m512i factor = _mm512_set1_epi32(c[(size_t)r * pairs + u]);

            sum[r].low = _mm512_dpwssd_epi32(sum[r].low, pair.low, factor);
            sum[r].high = _mm512_dpwssd_epi32(sum[r].high, pair.high, factor);
        }
    }
}

/* Rows first .. first + rows - 1 of the product, in one block, of which `some` columns are there.
 */
INLINE void tile_block(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                       const struct constants *k, size_t some, uint32_t first, int rows,
                       enum form form)
{
    const size_t at = (size_t)first * m->pairs;
    struct both sum[TILE], upper[TILE];

#pragma GCC unroll 5
    for (int r = 0; r < rows; r++) {
        sum[r].low = sum[r].high = _mm512_set1_epi32(m->bias[first + (uint32_t)r]);
        upper[r].low = upper[r].high = _mm512_setzero_si512();
    }
    add_rows(sum, m->low + at, x, m->pairs, rows);
    if (form == WIDE)
        add_rows(upper, m->high + at, x, m->pairs, rows);
#pragma GCC unroll 5
    for (int r = 0; r < rows; r++) {
        uint16_t *to = out + (first + (size_t)r) * stride;
        const __m512i y = form == WIDE
                              ? _mm512_packus_epi32(finish_wide(sum[r].low, upper[r].low, k),
                                                    finish_wide(sum[r].high, upper[r].high, k))
                              : finish(sum[r].low, sum[r].high, k, form);

        if (some >= BLOCK)
            _mm512_storeu_si512(to, y);
        else
            _mm512_mask_storeu_epi16(to, (__mmask32)((1U << some) - 1), y);
    }
}

/* The same in all blocks of a group. */
INLINE void tile(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                 const struct constants *k, size_t some, uint32_t first, int rows, enum form form)
{
    for (size_t j = 0; j < some; j += BLOCK, x += m->pairs)
        tile_block(m, out + j, stride, x, k, some - j, first, rows, form);
}

INLINE void all_tiles(const struct fp16_mat *m, uint16_t *out, size_t stride, const struct both *x,
                      const struct constants *k, size_t some, enum form form)
{
    for (uint32_t first = 0, rows; first < m->rows; first += rows) {
        const uint32_t left = m->rows - first, parts = (left + TILE - 1) / TILE;

        rows = (left + parts - 1) / parts; /* alike, rather than one small one at the end */
        switch (rows) {
        case 1: tile(m, out, stride, x, k, some, first, 1, form); break;
        case 2: tile(m, out, stride, x, k, some, first, 2, form); break;
        case 3: tile(m, out, stride, x, k, some, first, 3, form); break;
        case 4: tile(m, out, stride, x, k, some, first, 4, form); break;
        default: tile(m, out, stride, x, k, some, first, TILE, form); break;
        }
    }
}

/* The values of a block, centred and interleaved. */
INLINE void prepare(struct both *x, const struct fp16_mat *m, const uint16_t *const *in, size_t at,
                    size_t some)
{
    const __m512i half = _mm512_set1_epi16((short)m->f.half);
    const __mmask32 there = some >= BLOCK ? UINT32_MAX : (1U << some) - 1;

    for (uint32_t u = 0; u < m->pairs; u++) {
        /* A last one without neighbour is its own: the coefficient is 0. */
        const uint32_t odd = 2 * u + 1 < m->terms ? 2 * u + 1 : 2 * u;
        const __m512i a = _mm512_maskz_loadu_epi16(there, in[2 * u] + at);
        const __m512i b = _mm512_maskz_loadu_epi16(there, in[odd] + at);
        const __m512i even = _mm512_sub_epi16(a, half), next = _mm512_sub_epi16(b, half);

        x[u].low = _mm512_unpacklo_epi16(even, next);
        x[u].high = _mm512_unpackhi_epi16(even, next);
    }
}

INLINE void mul(const struct fp16_mat *given, uint16_t *out, size_t stride,
                const uint16_t *const *in, size_t n, enum form form)
{
    const struct fp16_mat copy = *given, *m = &copy; /* which no store can change */
    const struct constants k = constants_of(&m->f);
    const uint32_t fit = PAIRS_MAX / m->pairs, group = fit < GROUP ? fit : GROUP;
    struct both x[PAIRS_MAX];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < group * BLOCK ? n - at : group * BLOCK;
        for (size_t j = 0; j < some; j += BLOCK)
            prepare(x + j / BLOCK * m->pairs, m, in, at + j, some - j);
        all_tiles(m, out + at, stride, x, &k, some, form);
    }
    explicit_bzero(x, group * m->pairs * sizeof *x);
}

/* Whether |sum / p|, at most terms p / 4 and 1, rounds to an int16. */
static bool is_short(const struct fp16_mat *m)
{
    return m->terms * m->f.p / 4 + 2 <= INT16_MAX;
}

KERNEL void fp16_mat_avx512_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                                const uint16_t *const *in, size_t n)
{
    if (m->wide)
        mul(m, out, stride, in, n, WIDE);
    else if (is_short(m))
        mul(m, out, stride, in, n, SHORT);
    else
        mul(m, out, stride, in, n, LONG);
}

#else

bool fp16_mat_avx512_runs_here(void)
{
    return false;
}

void fp16_mat_avx512_mul(const struct fp16_mat *m, uint16_t *out, size_t stride,
                         const uint16_t *const *in, size_t n)
{
    (void)m, (void)out, (void)stride, (void)in, (void)n;
    CHECK(!"an x86 kernel was chosen on another machine");
}

#endif
