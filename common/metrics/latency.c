/* latency.c -- buckets by the first three bits of a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/latency.h"

enum { PER_DOUBLING = 4, BITS = 2 }; /* BITS: of what is behind the first one */

static unsigned bucket_of(uint64_t us)
{
    unsigned first = 0, i;

    if (us < PER_DOUBLING)
        return (unsigned)us;
    while (us >> (first + 1) != 0)
        first++;
    i = (first - BITS + 1) * PER_DOUBLING + (unsigned)(us >> (first - BITS) & (PER_DOUBLING - 1));
    return i < LATENCY_BUCKETS ? i : LATENCY_BUCKETS - 1;
}

uint64_t latency_most_us(unsigned i)
{
    const unsigned doubling = i / PER_DOUBLING, part = i % PER_DOUBLING;

    if (doubling == 0)
        return i;
    return ((uint64_t)(PER_DOUBLING + part + 1) << (doubling - 1)) - 1;
}

void latency_add(struct latency *l, uint64_t us)
{
    l->bucket[bucket_of(us)]++;
    l->n++;
    l->sum_us += us;
}

uint64_t latency_quantile_us(const struct latency *l, double q)
{
    const double wanted = q * (double)l->n;
    uint64_t so_far = 0;

    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        so_far += l->bucket[i];
        if (so_far > 0 && (double)so_far >= wanted)
            return latency_most_us(i);
    }
    return 0;
}
