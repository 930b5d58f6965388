/* fp16.c -- the prime, and single elements.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16.h"

#include "common/base/bits.h"

static bool is_prime(uint32_t n)
{
    if (n < 2)
        return false;
    for (uint32_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return true;
}

uint32_t fp16_prime_above(uint32_t n)
{
    for (; n < FP16_PRIME_MAX; n++)
        if (is_prime(n + 1))
            return n + 1;
    return 0;
}

bool fp16_init(struct fp16 *f, uint32_t p)
{
    if (p == 2 || p > FP16_PRIME_MAX || !is_prime(p))
        return false;
    *f = (struct fp16){p, bits_width(p), (p - 1) / 2, (uint32_t)((UINT64_C(1) << 32) / p)};
    return true;
}

/* -p <= x < p, as wrapped 32 bits, to canonical form. */
static uint16_t lift(uint32_t x, uint32_t p)
{
    return (uint16_t)(x + (p & (0U - (x >> 31))));
}

uint16_t fp16_add(uint16_t a, uint16_t b, const struct fp16 *f)
{
    return lift((uint32_t)a + b - f->p, f->p);
}

uint16_t fp16_sub(uint16_t a, uint16_t b, const struct fp16 *f)
{
    return lift((uint32_t)a - b, f->p);
}

uint16_t fp16_mul(uint16_t a, uint16_t b, const struct fp16 *f)
{
    const uint32_t product = (uint32_t)a * b;
    /* The quotient, or one less (Barrett 1986): floor(2^32 / p) lacks less than 1, product < 2^32.
     */
    const uint32_t q = (uint32_t)((uint64_t)product * f->inverse >> 32);

    return lift(product - q * f->p - f->p, f->p);
}
