/* report_degraded.c -- the kinds, their names, and which of them a terminal shows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/report_degraded.h"

#include "common/base/check.h"

#include <stdio.h>

static const struct {
    const char *name;
    const char *one, *many; /* NULL: not for a terminal */
} kinds[REPORT_DEGRADATIONS] = {
    [REPORT_MISSING_UPLOADS] = {"missing_uploads", NULL, NULL},
    [REPORT_LATE_UPLOADS] = {"late_uploads", NULL, NULL},
    [REPORT_ABSENT_PARTIES] = {"absent_parties", NULL, NULL},
    [REPORT_STALE_EMBEDDINGS] = {"stale_embeddings", NULL, NULL},
    [REPORT_UNSEEN_EMBEDDINGS] = {"unseen_embeddings", NULL, NULL},
    [REPORT_UNVERIFIED_DECODES] = {"unverified_decodes", "unverified decode", "unverified decodes"},
    [REPORT_FAULTY_UPLOADS] = {"faulty_uploads", "faulty upload", "faulty uploads"},
    [REPORT_REPLAYED_GRADIENTS] = {"replayed_gradients", NULL, NULL},
    [REPORT_VOID_ROUNDS] = {"void_rounds", "void round", "void rounds"},
    [REPORT_INTEGRITY_FAILURES] = {"integrity_failures", "integrity failure", "integrity failures"},
};

const char *report_degraded_name(enum report_degradation k)
{
    CHECK(k < REPORT_DEGRADATIONS);
    return kinds[k].name;
}

void report_degraded_set(struct report_degraded *d, enum report_degradation k, uint64_t count)
{
    CHECK(k < REPORT_DEGRADATIONS);
    d->applies[k] = true;
    d->count[k] = count;
}

void report_degraded_words(char *out, size_t n, const struct report_degraded *d)
{
    size_t used = 0;

    out[0] = 0;
    for (int k = 0; k < REPORT_DEGRADATIONS && used < n; k++) {
        const char *words = d->count[k] == 1 ? kinds[k].one : kinds[k].many;
        int w;

        if (!d->applies[k] || d->count[k] == 0 || words == NULL)
            continue;
        w = snprintf(out + used, n - used, "%s%llu %s", used == 0 ? "" : ", ",
                     (unsigned long long)d->count[k], words);
        used += w > 0 ? (size_t)w : 0;
    }
}
