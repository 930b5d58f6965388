/* lane.c -- loops that the compiler turns into whole registers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/lane.h"

#include "common/base/clones.h"
#include "common/base/public.h"
#include "common/secagg/lane_avx512.h"

#include <float.h>
#include <math.h>

WIDE_CLONES void lane_narrow(uint16_t *restrict out, const uint32_t *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint16_t)in[i];
}

WIDE_CLONES void lane_widen(uint32_t *restrict out, const uint16_t *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i];
}

void lane_add16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n)
{
    size_t done = lane_avx512_runs_here() ? lane_avx512_add16(sum, in, n) : 0;

    for (size_t i = done; i < n; i++)
        sum[i] = (uint16_t)(sum[i] + in[i]);
}

void lane_sub16(uint16_t *restrict sum, const uint16_t *restrict in, size_t n)
{
    size_t done = lane_avx512_runs_here() ? lane_avx512_sub16(sum, in, n) : 0;

    for (size_t i = done; i < n; i++)
        sum[i] = (uint16_t)(sum[i] - in[i]);
}

WIDE_CLONES void lane_add32(uint32_t *restrict sum, const uint32_t *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += in[i];
}

WIDE_CLONES void lane_sub32(uint32_t *restrict sum, const uint32_t *restrict in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] -= in[i];
}

WIDE_CLONES int lane_within(const float *x, size_t n, float most)
{
    int strange = 0;

    for (size_t i = 0; i < n; i++)
        strange |= !(fabsf(x[i]) <= most);
    return public_bit(!strange);
}

int lane_finite(const float *x, size_t n)
{
    return lane_within(x, n, FLT_MAX);
}

WIDE_CLONES uint32_t lane_max32(const uint32_t *in, size_t n)
{
    uint32_t max = 0;

    for (size_t i = 0; i < n; i++)
        max = in[i] > max ? in[i] : max;
    return max;
}
