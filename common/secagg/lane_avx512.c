/* lane_avx512.c -- the loops of lane.c that run once for every mask stream.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/lane_avx512.h"

#ifdef __x86_64__

#include <immintrin.h>

enum { LANES = 32 };

bool lane_avx512_runs_here(void)
{
    return __builtin_cpu_supports("avx512bw");
}

__attribute__((target("avx512bw"))) size_t lane_avx512_add16(uint16_t *restrict sum,
                                                             const uint16_t *restrict in, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        _mm512_storeu_si512(
            sum + i, _mm512_add_epi16(_mm512_loadu_si512(sum + i), _mm512_loadu_si512(in + i)));
    return i;
}

__attribute__((target("avx512bw"))) size_t lane_avx512_sub16(uint16_t *restrict sum,
                                                             const uint16_t *restrict in, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        _mm512_storeu_si512(
            sum + i, _mm512_sub_epi16(_mm512_loadu_si512(sum + i), _mm512_loadu_si512(in + i)));
    return i;
}

#else

bool lane_avx512_runs_here(void)
{
    return false;
}

size_t lane_avx512_add16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n)
{
    (void)sum, (void)in, (void)n;
    return 0;
}

size_t lane_avx512_sub16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n)
{
    (void)sum, (void)in, (void)n;
    return 0;
}

#endif
