/* report_latency.h -- how long answers took, as summaries have it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_LATENCY_H
#define COLONNADE_METRICS_REPORT_LATENCY_H

#include "common/metrics/latency.h"
#include "common/metrics/report_json.h"

/* {"n", "mean_us", "p50_us", "p99_us", "most_us_and_count": [[MICROSECONDS, NUMBER], ...]}: of each
 * bucket that is not empty its largest, and how many it has.  l NULL: nothing. */
void report_latency(struct report_json *j, json_t *parent, const struct latency *l);

#endif
