/* plan_rules_local.h -- which plans of local steps make no sense: predicates of rows of
 * plan_rules.c, whose words say what each means.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_RULES_LOCAL_H
#define COLONNADE_CONFIG_PLAN_RULES_LOCAL_H

#include "common/config/plan.h"

#include <stdbool.h>

bool plan_rules_local_refreshed_fedvs(const struct plan *p);
bool plan_rules_local_refreshed_straggler(const struct plan *p);
bool plan_rules_local_holders_idle(const struct plan *p);
bool plan_rules_local_holders_concat(const struct plan *p);
bool plan_rules_local_holders_too_many(const struct plan *p);
bool plan_rules_local_sequential_hidden(const struct plan *p);
bool plan_rules_local_sequential_straggler(const struct plan *p);
bool plan_rules_local_proximal_idle(const struct plan *p);
bool plan_rules_local_unstable(const struct plan *p);

#endif
