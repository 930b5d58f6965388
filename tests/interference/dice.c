/* dice.c -- what a seed draws.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/dice.h"

uint64_t dice_next(struct dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

uint64_t dice_between(struct dice *d, uint64_t lo, uint64_t hi)
{
    return lo + dice_next(d) % (hi - lo + 1);
}

bool dice_percent(struct dice *d, unsigned percent)
{
    return dice_next(d) % 100 < percent;
}

double dice_real(struct dice *d)
{
    return (double)(dice_next(d) >> 11) * 0x1p-53;
}

struct dice dice_of(uint64_t seed, uint64_t what, uint64_t n)
{
    struct dice d = {seed};

    d.state = dice_next(&d) ^ (what * 0x2545f4914f6cdd1dull);
    d.state = dice_next(&d) + n;
    (void)dice_next(&d);
    return d;
}
