/* gauss_table.c -- e^(-m^2 / (2 s^2)) for all magnitudes m, their sum, and the quotients in two
 * parts of 62 bits.
 *
 * How exact it is, with s = sigma / sqrt(part) <= 21, N <= 255 entries, W >= 2.5 s the sum of all
 * weights, and 2^-128 the unit of the arithmetic:
 *   e^-a, a = 1 / (2 s^2), has an error below 2^-122 (fifty roundings), and so the weight
 *   w(m) = e^(-a m^2) one of m^2 2^-122 w(m), which sums to s^2 2^-122 W < 2^-113 W;
 *   products add m^2 2^-124 w(m), which sums to 2^-115 W, and m 2^-128, which sums to 2^-115 W;
 *   weights are cut to 2^-120 before they are summed and divided, which does not reach 2^-115 W.
 * So far the law is off by less than 2^-112.  The quotients p(m) are cut at 2^-124: together less
 * than N 2^-124, which goes to `rest`.  Upper halves stand in `main` as they are and leave
 * R <= N units of 2^-62 over; whoever draws from `rest` gets m with the weight of its lower half up
 * to one unit of 2^-62, so the law is off by another N (R + 1) 2^-125 < 2^-108.99 at most.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss_table.h"

#include "common/base/check.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define WORDS (UINT64_C(1) << GAUSS_WORD_BITS)

enum { WEIGHT_BITS = 120 };

/* floor(a b / 2^128) or one less. */
static wide times(wide a, wide b)
{
    const uint64_t ah = (uint64_t)(a >> 64), al = (uint64_t)a;
    const uint64_t bh = (uint64_t)(b >> 64), bl = (uint64_t)b;
    const wide cross = (wide)ah * bl, other = (wide)al * bh;
    const wide carry = (wide)(uint64_t)cross + (uint64_t)other + (uint64_t)((wide)al * bl >> 64);

    return (wide)ah * bh + (cross >> 64) + (other >> 64) + (carry >> 64);
}

/* floor(n 2^bits / d) for n <= d < 2^127. */
static wide quotient(wide n, wide d, int bits)
{
    wide q = n >= d;

    n -= q * d;
    for (int i = 0; i < bits; i++) {
        n <<= 1;
        q <<= 1;
        if (n >= d) {
            n -= d;
            q |= 1;
        }
    }
    return q;
}

/* part / (2 sigma^2) in units of 2^-128, from the bits of sigma as they are. */
static wide exponent(double sigma, uint64_t part)
{
    int e;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(sigma, &e), 53);

    return quotient(part, (wide)mantissa * mantissa, 127 - 2 * (e - 53));
}

/* e^-a = 1 - (a - a^2/2 + a^3/6 - ...), all in units of 2^-128; 0 < a <= 1/32. */
static wide power(wide a)
{
    wide term = a, lost = a;

    for (unsigned k = 2; term > 0; k++) {
        term = times(term, a) / k;
        lost = k % 2 == 0 ? lost - term : lost + term;
    }
    return -lost;
}

/* weight[m] of the magnitude m, both signs, in units of 2^-WEIGHT_BITS; returns their sum.  From
 * one to the next by e^(-a (2 m + 1)). */
static wide weigh(wide *weight, uint32_t entries, wide a)
{
    const wide r = power(a), r2 = times(r, r);
    wide sum = (wide)1 << WEIGHT_BITS, ratio = times(r2, r), w = r;

    weight[0] = sum;
    for (uint32_t m = 1; m < entries; m++) {
        weight[m] = w >> (127 - WEIGHT_BITS);
        sum += weight[m];
        w = times(w, ratio);
        ratio = times(ratio, r2);
    }
    return sum;
}

static void set(uint64_t *t, uint32_t m, wide sum)
{
    t[m % GAUSS_SIDE * GAUSS_SIDE + m / GAUSS_SIDE] = (uint64_t)sum;
}

void gauss_table_fill(struct gauss *g, double sigma, uint64_t part)
{
    wide weight[GAUSS_ENTRIES], rest[GAUSS_ENTRIES];
    wide sum, main_sum = 0, rest_sum = 0;

    CHECK(g->entries < GAUSS_ENTRIES);
    memset(g->main, 0x7f, sizeof g->main); /* beyond every word, as a signed number too */
    memset(g->rest, 0x7f, sizeof g->rest);
    sum = weigh(weight, g->entries, exponent(sigma, part));
    for (uint32_t m = 0; m < g->entries; m++) {
        const wide p = quotient(weight[m], sum, 2 * GAUSS_WORD_BITS);

        main_sum += p >> GAUSS_WORD_BITS;
        rest_sum += p & (WORDS - 1);
        set(g->main, m, main_sum);
        rest[m] = rest_sum;
    }
    for (uint32_t m = 0; m < g->entries; m++)
        set(g->rest, m, quotient(rest[m], rest_sum, GAUSS_WORD_BITS));
}
