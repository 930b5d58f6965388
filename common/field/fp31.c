/* fp31.c -- single elements: 2^31 = 1, so the bits above the 31st are added to those below.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31.h"

/* -p <= x < p, as wrapped 32 bits, to canonical form. */
static uint32_t lift(uint32_t x)
{
    return x + (FP31_P & (0U - (x >> 31)));
}

uint32_t fp31_add(uint32_t a, uint32_t b)
{
    return lift(a + b - FP31_P);
}

uint32_t fp31_sub(uint32_t a, uint32_t b)
{
    return lift(a - b);
}

uint32_t fp31_mul(uint32_t a, uint32_t b)
{
    const uint64_t product = (uint64_t)a * b;

    return fp31_add((uint32_t)(product & FP31_P), (uint32_t)(product >> 31));
}

uint32_t fp31_from_signed(int64_t x)
{
    /* The shift keeps the sign: -2^32 <= x < 2^32 + 2^31, then -2 <= x <= p + 3. */
    x = (x & FP31_P) + (x >> 31);
    x = (x & FP31_P) + (x >> 31);
    x -= (int64_t)FP31_P; /* at most 3 above 0 */
    x += (int64_t)FP31_P & (x >> 63);
    return lift((uint32_t)x);
}

int32_t fp31_signed(uint32_t a)
{
    const uint32_t negative = (FP31_HALF - a) >> 31;

    return (int32_t)(a - (FP31_P & (0U - negative)));
}
