/* fp61.c -- single elements: 2^61 = 1, so the bits above the 61st are added to those below.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp61.h"

__extension__ typedef unsigned __int128 wide;

/* -p <= x < p, as wrapped 64 bits, to canonical form. */
static uint64_t lift(uint64_t x)
{
    return x + (FP61_P & (0U - (x >> 63)));
}

uint64_t fp61_add(uint64_t a, uint64_t b)
{
    return lift(a + b - FP61_P);
}

uint64_t fp61_sub(uint64_t a, uint64_t b)
{
    return lift(a - b);
}

uint64_t fp61_mul(uint64_t a, uint64_t b)
{
    const wide product = (wide)a * b;

    return fp61_add((uint64_t)product & FP61_P, (uint64_t)(product >> 61));
}

uint64_t fp61_from_signed(int64_t x)
{
    /* The shift keeps the sign: -4 <= sum <= p + 3, and at most 3 above 0 after the next line. */
    x = (x & (int64_t)FP61_P) + (x >> 61) - (int64_t)FP61_P;
    x += (int64_t)FP61_P & (x >> 63);
    return lift((uint64_t)x);
}

int64_t fp61_signed(uint64_t a)
{
    const uint64_t negative = (FP61_HALF - a) >> 63;

    return (int64_t)(a - (FP61_P & (0U - negative)));
}
