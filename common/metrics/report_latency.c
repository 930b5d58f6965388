/* report_latency.c -- a histogram as JSON.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_latency.h"

void report_latency(struct report_json *j, json_t *parent, const struct latency *l)
{
    json_t *o, *buckets;

    if (l == NULL)
        return;
    o = report_json_object(j, parent, "latency");
    report_json_count(j, o, "n", l->n);
    if (l->n == 0)
        return;
    report_json_count(j, o, "mean_us", l->sum_us / l->n);
    report_json_count(j, o, "p50_us", latency_quantile_us(l, 0.5));
    report_json_count(j, o, "p99_us", latency_quantile_us(l, 0.99));
    buckets = report_json_array(j, o, "most_us_and_count");
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        if (l->bucket[i] > 0)
            report_json_append(
                j, buckets,
                json_pack("[I, I]", (json_int_t)latency_most_us(i), (json_int_t)l->bucket[i]));
}
