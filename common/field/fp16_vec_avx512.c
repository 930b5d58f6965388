/* fp16_vec_avx512.c -- what is below p moves together within a register, which is stored whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_vec_avx512.h"

#include "common/base/check.h"

#ifdef __x86_64__

#include <immintrin.h>

enum { LANES = 32 };

bool fp16_vec_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
}

__attribute__((target("avx512bw,avx512vbmi2"))) size_t
fp16_vec_avx512_uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes, size_t *used,
                        const struct fp16 *f)
{
    const __m512i low = _mm512_set1_epi16((short)((1U << f->bits) - 1));
    const __m512i p = _mm512_set1_epi16((short)f->p);
    size_t made = 0, at = 0;

    /* The lanes above those that stay are 0, and are overwritten by the next block. */
    for (; n - made >= LANES && bytes - at >= 2 * LANES; at += 2 * LANES) {
        const __m512i words = _mm512_and_si512(_mm512_loadu_si512(random + at), low);
        const __mmask32 stay = _mm512_cmplt_epu16_mask(words, p);

        _mm512_storeu_si512(out + made, _mm512_maskz_compress_epi16(stay, words));
        made += (size_t)__builtin_popcount(stay);
    }
    *used = at;
    return made;
}

#else

bool fp16_vec_avx512_runs_here(void)
{
    return false;
}

size_t fp16_vec_avx512_uniform(uint16_t *out, size_t n, const uint8_t *random, size_t bytes,
                               size_t *used, const struct fp16 *f)
{
    (void)out, (void)n, (void)random, (void)bytes, (void)f;
    *used = 0;
    CHECK(!"an x86 kernel was chosen on another machine");
    return 0;
}

#endif
