/* latency.h -- how long answers took: a histogram of microseconds, four buckets to each doubling.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_LATENCY_H
#define COLONNADE_METRICS_LATENCY_H

#include <stdint.h>

enum { LATENCY_BUCKETS = 120 }; /* up to half an hour; the last has what is above */

/* Zero-initialised: nothing yet. */
struct latency {
    uint64_t n, sum_us;
    uint64_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, uint64_t us);
/* The largest of bucket i, in microseconds. */
uint64_t latency_most_us(unsigned i);
/* At most so long took the share q of all, to a quarter of itself; 0: there are none. */
uint64_t latency_quantile_us(const struct latency *l, double q);

#endif
