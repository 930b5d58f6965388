/* plan_rules.c -- the table of rules as one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "common/config/plan_rules_groups.h"

/* In the order in which a person would want to hear of them. */
static const struct plan_rules *const groups[] = {
    &plan_rules_sums,  &plan_rules_products, &plan_rules_arrivals, &plan_rules_local,
    &plan_rules_once,  &plan_rules_dropout,  &plan_rules_feedback, &plan_rules_identity,
    &plan_rules_sizes, &encoding_rules,      &plan_noise_rules,    &plan_rules_task,
    &plan_rules_best,  &plan_rules_rate,     &plan_rules_head,
};

const struct plan_rule *plan_rules_at(size_t i)
{
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        if (i < groups[g]->n)
            return &groups[g]->rule[i];
        i -= groups[g]->n;
    }
    return NULL;
}

const struct plan_rule *plan_rules_broken(const struct plan *p, size_t *number)
{
    const struct plan_rule *r;

    for (*number = 0; (r = plan_rules_at(*number)) != NULL; ++*number) {
        if (r->broken(p))
            return r;
    }
    return NULL;
}

void plan_rules_numbers(const struct plan_rule *r, const struct plan *p,
                        char out[PLAN_RULES_NUMBERS_MAX])
{
    out[0] = 0;
    if (r->numbers != NULL)
        r->numbers(p, out, PLAN_RULES_NUMBERS_MAX);
}
