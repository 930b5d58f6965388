/* report_progress.h -- where a run is, in one line for a terminal.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_PROGRESS_H
#define COLONNADE_METRICS_REPORT_PROGRESS_H

#include "common/metrics/report_degraded.h"

#include <stdint.h>

enum { REPORT_PROGRESS_MAX = 256 }; /* bytes with its final 0 */

struct report_progress {
    double epoch, epochs;
    double loss;
    const char *split, *metric_name; /* metric_name NULL: none yet */
    double metric;
    uint64_t bytes; /* frames of all kinds, both directions */
    double rounds_per_s;
    const char *slow; /* who is waited for; NULL: nobody */
    uint32_t missing; /* parties that the last training round closed without */
    struct report_degraded degraded;
};

/* The line without a line end, cut to REPORT_PROGRESS_MAX. */
void report_progress_line(char out[REPORT_PROGRESS_MAX], const struct report_progress *p);

#endif
