/* gauss_avx512.c -- a magnitude in two steps: the column of the table by its bottom row, then the
 * place in the column.
 *
 * Which column is secret, and so the entries compared in the second step are picked out of
 * registers and not out of memory: of each row both halves are loaded, always.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss_avx512.h"

#include "common/base/check.h"
#include "common/gauss/gauss_kernel.h"
#include "common/gauss/gauss_table.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f")))

bool gauss_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512f");
}

/* The numbers of entries that are not above the words of a and b.  The last entry of a whole table
 * is never used (gauss_table.c), so no column is full in its last row that is not passed. */
TARGET static inline void count(__m512i magnitude[2], const uint64_t *t, size_t columns,
                                const uint64_t *words)
{
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i a = _mm512_srli_epi64(_mm512_loadu_si512(words), 64 - GAUSS_WORD_BITS);
    const __m512i b = _mm512_srli_epi64(_mm512_loadu_si512(words + 8), 64 - GAUSS_WORD_BITS);
    __m512i a_column = _mm512_setzero_si512(), b_column = a_column, a_row = a_column,
            b_row = a_column;

    for (size_t c = 0; c < columns; c++) {
        const __m512i entry = _mm512_set1_epi64((int64_t)t[GAUSS_SIDE * (GAUSS_SIDE - 1) + c]);

        a_column =
            _mm512_mask_add_epi64(a_column, _mm512_cmple_epi64_mask(entry, a), a_column, one);
        b_column =
            _mm512_mask_add_epi64(b_column, _mm512_cmple_epi64_mask(entry, b), b_column, one);
    }
    for (size_t r = 0; r < GAUSS_SIDE - 1; r++, t += GAUSS_SIDE) {
        const __m512i low = _mm512_loadu_si512(t), high = _mm512_loadu_si512(t + 8);
        const __m512i x = _mm512_permutex2var_epi64(low, a_column, high);
        const __m512i y = _mm512_permutex2var_epi64(low, b_column, high);

        a_row = _mm512_mask_add_epi64(a_row, _mm512_cmple_epi64_mask(x, a), a_row, one);
        b_row = _mm512_mask_add_epi64(b_row, _mm512_cmple_epi64_mask(y, b), b_row, one);
    }
    magnitude[0] = _mm512_add_epi64(_mm512_slli_epi64(a_column, 4), a_row);
    magnitude[1] = _mm512_add_epi64(_mm512_slli_epi64(b_column, 4), b_row);
}

/* The magnitudes of eight draws with their signs. */
TARGET static inline __m256i finish(__m512i main, __m512i rest, __m512i entries,
                                    const uint64_t *words)
{
    const __mmask8 left = _mm512_cmpeq_epi64_mask(main, entries);
    const __mmask8 negative =
        _mm512_test_epi64_mask(_mm512_loadu_si512(words), _mm512_set1_epi64(1));
    const __m512i m = _mm512_mask_mov_epi64(main, left, rest);

    return _mm512_cvtepi64_epi32(_mm512_mask_sub_epi64(m, negative, _mm512_setzero_si512(), m));
}

TARGET void gauss_avx512_draw(int32_t *z, const struct gauss *g, const uint64_t *words)
{
    const size_t columns = (g->entries + GAUSS_SIDE - 1) / GAUSS_SIDE;
    const __m512i entries = _mm512_set1_epi64((int64_t)g->entries);
    __m512i sum = _mm512_setzero_si512();

    for (uint32_t d = 0; d < g->draws; d++, words += 2 * GAUSS_BLOCK) {
        const __m512i factor = _mm512_set1_epi32(g->factor[d]);
        __m512i main[2], rest[2], both;

        count(main, g->main, columns, words);
        count(rest, g->rest, columns, words + GAUSS_BLOCK);
        both = _mm512_inserti64x4(_mm512_castsi256_si512(finish(main[0], rest[0], entries, words)),
                                  finish(main[1], rest[1], entries, words + 8), 1);
        sum = _mm512_add_epi32(sum, _mm512_mullo_epi32(both, factor));
    }
    _mm512_storeu_si512(z, sum);
}

#else

bool gauss_avx512_runs_here(void)
{
    return false;
}

void gauss_avx512_draw(int32_t *z, const struct gauss *g, const uint64_t *words)
{
    (void)z, (void)g, (void)words;
    CHECK(!"an x86 kernel was chosen on another machine");
}

#endif
