/* plan_rules.h -- which combinations of a plan make no sense, each with the key to blame and the
 * reason.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_RULES_H
#define COLONNADE_CONFIG_PLAN_RULES_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct plan_rule {
    const char *key;    /* whose value is the one to change */
    const char *reason; /* a full clause, free of values, so that it can stand in the reference */
    bool (*broken)(const struct plan *p);
};

/* Most sets of parties among which fedvs deals keys of zero shares. */
enum { PLAN_RULES_SETS_MAX = 512, PLAN_RULES_NUMBERS_MAX = 128 };

extern const struct plan_rule plan_rules[];
extern const size_t plan_rules_n;

/* The first broken rule, or NULL.  Rules about shape are silent while shape.parties is 0 (not yet
 * known). */
const struct plan_rule *plan_rules_broken(const struct plan *p);
/* Writes what a broken rule's reason counts, in this plan (" (batch 10, segments 3)"), or "" where
 * the reason says it all. */
void plan_rules_numbers(const struct plan_rule *r, const struct plan *p, char *out, size_t size);

#endif
