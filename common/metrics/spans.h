/* spans.h -- where the time of a run went: by phase, and by what was being done.
 *
 * No clock inside: the caller says what time it is, in microseconds of one monotonic clock.  Spans
 * of different kinds may overlap: the server waits while it serialises.
 * Zero-initialised means nothing has happened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_SPANS_H
#define COLONNADE_METRICS_SPANS_H

#include "common/metrics/traffic.h"

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, name): the names are those of summary.json. */
#define SPAN_LIST(X)                                                                               \
    X(COMPUTE, compute)                                                                            \
    X(PROTECT, protect)                                                                            \
    X(SERIALISE, serialise)                                                                        \
    X(WAIT, wait)                                                                                  \
    X(COMBINE, combine)                                                                            \
    X(HEAD, head)

enum span {
#define X(NAME, name) SPAN_##NAME,
    SPAN_LIST(X)
#undef X
        SPANS
};

struct spans {
    uint64_t us[SPANS];

    uint64_t phase_us[TRAFFIC_PHASES]; /* up to the last spans_phase or spans_stop */
    enum traffic_phase phase;
    uint64_t phase_began_us;
    bool running;
};

void spans_add(struct spans *s, enum span which, uint64_t us);

/* From now on time counts for `phase`; a repeat only brings the figures up to date. */
void spans_phase(struct spans *s, enum traffic_phase phase, uint64_t now_us);
void spans_stop(struct spans *s, uint64_t now_us);

double spans_s(const struct spans *s, enum span which);
double spans_phase_s(const struct spans *s, enum traffic_phase phase);
const char *spans_name(enum span which);

#endif
