/* finite.h -- a float that may be anything to one that is finite, without a branch.
 *
 * What a party computes with must stay finite whatever its records are: a NaN that is refused, or
 * that ends a run, tells of them (docs/security.md).  Loops over these become vector loops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_FINITE_H
#define COLONNADE_BASE_FINITE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t finite_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float finite_keep(float x, uint32_t mask)
{
    const uint32_t bits = finite_bits(x) & mask;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All bits when x is a number, infinite or not; otherwise 0. */
static inline uint32_t finite_number_mask(float x)
{
    return -(uint32_t)((finite_bits(x) & 0x7fffffffU) <= 0x7f800000U);
}

/* All bits when x is finite, otherwise 0. */
static inline uint32_t finite_mask(float x)
{
    return -(uint32_t)((finite_bits(x) & 0x7fffffffU) < 0x7f800000U);
}

/* x, or 0 where it is not finite. */
static inline float finite_or_zero(float x)
{
    return finite_keep(x, finite_mask(x));
}

/* x in [-most, most], cut off there; 0 where it is no number. */
static inline float finite_within(float x, float most)
{
    const uint32_t number = finite_number_mask(x);
    float y = x < most ? x : most;

    y = y > -most ? y : -most;
    return finite_keep(y, number);
}

#endif
