/* plan.h -- a plan that a hostile server might offer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_PLAN_H
#define COLONNADE_TESTS_INTERFERENCE_PLAN_H

#include "tests/interference/pair.h"

/* p->plan and p->set, for the shape and the strictness that p has. */
void pair_draw_plan(struct pair *p, struct dice *d);

#endif
