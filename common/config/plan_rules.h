/* plan_rules.h -- which combinations of a plan make no sense: a table in which each rule has its
 * predicate, the keys that it is about and its words.  The check of a plan, the message to whoever
 * wrote it and docs/configuration.md come from the same rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_RULES_H
#define COLONNADE_CONFIG_PLAN_RULES_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLAN_RULES_WITH_MAX = 3, PLAN_RULES_NUMBERS_MAX = 128 };

struct plan_rule {
    bool (*broken)(const struct plan *p);
    const char *key;                       /* whose value is the one to change */
    const char *with[PLAN_RULES_WITH_MAX]; /* those that it does not go with; NULL: no more */
    const char *reason; /* a full clause, free of values, so that it can stand in the reference */
    /* What the reason counts, in this plan (" (batch 10, segments 3)"); NULL: it says it all. */
    void (*numbers)(const struct plan *p, char *out, size_t size);
};

/* Most sets of parties among which fedvs deals keys of zero shares. */
enum { PLAN_RULES_SETS_MAX = 512 };

/* The rules by number (0 ..), in the order in which a person would want to hear of them; NULL past
 * the end. */
const struct plan_rule *plan_rules_at(size_t i);
/* The first broken rule, or NULL, and its number.  Rules about shape are silent while shape.parties
 * is 0 (not yet known). */
const struct plan_rule *plan_rules_broken(const struct plan *p, size_t *number);
/* The numbers of a rule that this plan breaks, or "". */
void plan_rules_numbers(const struct plan_rule *r, const struct plan *p,
                        char out[PLAN_RULES_NUMBERS_MAX]);

#endif
