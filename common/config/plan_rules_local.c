/* plan_rules_local.c -- the rules of local steps: views, turns, the pull.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_local.h"

#include "common/config/aggregation.h"

static bool refreshed(const struct plan *p)
{
    return p->protocol.local_view == VIEW_REFRESHED;
}

bool plan_rules_local_refreshed_fedvs(const struct plan *p)
{
    return refreshed(p) && aggregation_of(p)->polynomial;
}

bool plan_rules_local_refreshed_straggler(const struct plan *p)
{
    return refreshed(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

bool plan_rules_local_holders_idle(const struct plan *p)
{
    return p->protocol.label_holders > 0 && !refreshed(p);
}

bool plan_rules_local_holders_concat(const struct plan *p)
{
    return p->protocol.label_holders > 0 && refreshed(p) && p->model.fusion == FUSION_CONCAT;
}

bool plan_rules_local_holders_too_many(const struct plan *p)
{
    return p->shape.parties > 0 && p->protocol.label_holders > p->shape.parties;
}

static bool in_turns(const struct plan *p)
{
    return p->protocol.local_order == ORDER_SEQUENTIAL;
}

bool plan_rules_local_sequential_hidden(const struct plan *p)
{
    return in_turns(p) && !aggregation_of(p)->plaintext;
}

bool plan_rules_local_sequential_straggler(const struct plan *p)
{
    return in_turns(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

bool plan_rules_local_proximal_idle(const struct plan *p)
{
    return p->protocol.proximal > 0 && p->protocol.local_iterations == 1;
}

/* A local step multiplies the way gone since the round began by 1 - lr mu, whatever the optimiser
 * makes of the rest.  No schedule has a larger rate than learning_rate. */
bool plan_rules_local_unstable(const struct plan *p)
{
    return p->training.learning_rate * p->protocol.proximal > 1;
}
