/* pbm_avx512.c -- the counting kernel in AVX-512BW: one row of 32 words is one register.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm_avx512.h"

#include "common/base/check.h"

#ifdef __x86_64__

#include <immintrin.h>

bool pbm_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

__attribute__((target("avx512bw,avx512vl"))) void
pbm_avx512_count(uint16_t *count, const uint16_t *t, const uint16_t *words, size_t rows)
{
    const __m512i threshold = _mm512_loadu_si512(t), one = _mm512_set1_epi16(1);
    __m512i even = _mm512_loadu_si512(count), odd = _mm512_setzero_si512();
    size_t k = 0;

    /* Two counters, so that no row waits for the one before it. */
    for (; k + 2 <= rows; k += 2) {
        const __m512i a = _mm512_loadu_si512(words + 32 * k);
        const __m512i b = _mm512_loadu_si512(words + 32 * k + 32);

        even = _mm512_mask_add_epi16(even, _mm512_cmplt_epu16_mask(a, threshold), even, one);
        odd = _mm512_mask_add_epi16(odd, _mm512_cmplt_epu16_mask(b, threshold), odd, one);
    }
    if (k < rows) {
        const __m512i a = _mm512_loadu_si512(words + 32 * k);

        even = _mm512_mask_add_epi16(even, _mm512_cmplt_epu16_mask(a, threshold), even, one);
    }
    _mm512_storeu_si512(count, _mm512_add_epi16(even, odd));
}

#else

bool pbm_avx512_runs_here(void)
{
    return false;
}

void pbm_avx512_count(uint16_t *count, const uint16_t *t, const uint16_t *words, size_t rows)
{
    (void)count, (void)t, (void)words, (void)rows;
    CHECK(!"an x86 kernel was chosen on another machine");
}

#endif
