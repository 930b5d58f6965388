/* report_degraded.h -- what was worse in a run than it might have been: one count for each kind.
 *
 * A kind that cannot occur under the plan is absent, one that did not occur is 0.  The names are
 * those of docs/operating.md.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_REPORT_DEGRADED_H
#define COLONNADE_METRICS_REPORT_DEGRADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum report_degradation {
    REPORT_MISSING_UPLOADS,    /* of members that a training round closed without */
    REPORT_LATE_UPLOADS,       /* that came after their training round had closed */
    REPORT_ABSENT_PARTIES,     /* parties outside the set, summed over training rounds */
    REPORT_STALE_EMBEDDINGS,   /* used though older than the arrival that a step was for */
    REPORT_UNSEEN_EMBEDDINGS,  /* that a step did without */
    REPORT_UNVERIFIED_DECODES, /* without a surplus upload to check them by */
    REPORT_FAULTY_UPLOADS,     /* found to be wrong, and left out of the sum or late */
    REPORT_REPLAYED_GRADIENTS, /* sent again to who had missed them */
    REPORT_VOID_ROUNDS,
    REPORT_INTEGRITY_FAILURES,
    REPORT_DEGRADATIONS
};

struct report_degraded {
    bool applies[REPORT_DEGRADATIONS];
    uint64_t count[REPORT_DEGRADATIONS];
};

const char *report_degraded_name(enum report_degradation k); /* the key in the JSON */
void report_degraded_set(struct report_degraded *d, enum report_degradation k, uint64_t count);

/* "2 void rounds, 1 faulty upload": what somebody at a terminal should know of, cut to n bytes with
 * the final 0.  Empty when all is well.  What is the ordinary course under a plan with stragglers
 * (missing, late, absent, stale, unseen, replayed) is not among it. */
void report_degraded_words(char *out, size_t n, const struct report_degraded *d);

#endif
