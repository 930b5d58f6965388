/* ledger_law.h -- which rows a stretch of the public schedule releases, so that an entry needs no
 * list of them.
 *
 *     steps/1 seed=7 rows=453 batch=100 segments=1 turns=1    a step: schedule_batch(step / turns)
 *     places/1 rows=116 segments=1                            a place of a sweep: segments_range
 *
 * The number behind the slash is the version of what common/data/schedule.h and segments.h say.
 * What was charged by one law is worked out by it again at every later opening: a schedule that
 * changes gets another number, and this one stays (tests/unit/privacy/test_ledger_law.c has its
 * rows).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_LAW_H
#define COLONNADE_PRIVACY_LEDGER_LAW_H

#include "common/base/status.h"
#include "common/data/schedule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_LAW_MAX = 160 }; /* with the final 0 */
enum ledger_law_kind { LEDGER_STEPS, LEDGER_PLACES };

struct ledger_law {
    enum ledger_law_kind kind;
    uint64_t seed;         /* STEPS */
    uint32_t rows;         /* of the data set, at least 1 */
    uint32_t batch, turns; /* STEPS: at least 1; batch a multiple of segments */
    uint32_t segments;     /* at least 1 */
};

void ledger_law_print(char out[LEDGER_LAW_MAX], const struct ledger_law *law);
/* Only what _print gives, and what can be walked: false for anything else. */
bool ledger_law_read(struct ledger_law *out, const char *text);
/* Fields without a meaning for its kind do not count. */
bool ledger_law_same(const struct ledger_law *a, const struct ledger_law *b);

/* Keeps the schedule of the law that it walked last.  Zeroed: none yet. */
struct ledger_walk {
    struct schedule schedule;
    struct ledger_law law;
    bool ready;
};

/* A stretch of a law: `count` steps or places from `place` on. */
struct ledger_stretch {
    struct ledger_law law;
    uint64_t place, count;
};

/* Its rows, one release each: exactly n of them.  STATUS_LIMIT when there are more or fewer, or no
 * such places; STATUS_MEMORY. */
enum status ledger_walk_rows(struct ledger_walk *w, const struct ledger_stretch *s, uint32_t *rows,
                             size_t n) MUST_USE;
void ledger_walk_deinit(struct ledger_walk *w);

#endif
