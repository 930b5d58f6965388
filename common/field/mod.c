/* mod.c -- single residues: the machine's own division, of 64 bits where that is enough.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/mod.h"

#include "common/base/check.h"

__extension__ typedef unsigned __int128 wide;

uint64_t mod_add(uint64_t a, uint64_t b, uint64_t p)
{
    const uint64_t sum = a + b;

    return sum >= p ? sum - p : sum;
}

uint64_t mod_sub(uint64_t a, uint64_t b, uint64_t p)
{
    return a >= b ? a - b : a + (p - b);
}

uint64_t mod_mul(uint64_t a, uint64_t b, uint64_t p)
{
    /* Half the width divides several times faster. */
    if (p <= UINT16_MAX)
        return (uint32_t)a * (uint32_t)b % (uint32_t)p;
    if (p <= UINT32_MAX)
        return a * b % p;
    return (uint64_t)((wide)a * b % p);
}

uint64_t mod_pow(uint64_t a, uint64_t exponent, uint64_t p)
{
    uint64_t power = 1;

    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            power = mod_mul(power, a, p);
        a = mod_mul(a, a, p);
    }
    return power;
}

uint64_t mod_inv(uint64_t a, uint64_t p)
{
    CHECK(a > 0 && a < p);
    return mod_pow(a, p - 2, p); /* Fermat */
}

void mod_inv_all(uint64_t *x, uint64_t *scratch, uint32_t n, uint64_t p)
{
    uint64_t product = 1;

    for (uint32_t i = 0; i < n; i++) {
        scratch[i] = product; /* of all before x[i] */
        product = mod_mul(product, x[i], p);
    }
    product = mod_inv(product, p);
    for (uint32_t i = n; i-- > 0;) {
        const uint64_t inverse = mod_mul(product, scratch[i], p);

        product = mod_mul(product, x[i], p);
        x[i] = inverse;
    }
}
