/* plan.h -- a plan that a hostile server might offer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_PLAN_H
#define COLONNADE_TESTS_INTERFERENCE_PLAN_H

#include "tests/interference/pair.h"

/* p->plan and p->set, for the shape and the strictness that p has. */
void pair_draw_plan(struct pair *p, struct dice *d);

/* By row of the table of keys: has any pair so far a plan with another value than the default? */
void pair_plan_moved(const struct pair *p, bool moved[PLAN_KEYS_N]);
/* Says which keys were meant to be drawn and no pair has moved, and how many. */
size_t pair_plan_unmoved(const bool moved[PLAN_KEYS_N]);

#endif
