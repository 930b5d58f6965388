/* plan_rules_head.c -- layers of the head that do not go together, or with what parties compute.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/plan_head.h"

#include <stdio.h>

static bool head_faulty(const struct plan *p)
{
    char why[PLAN_RULES_NUMBERS_MAX];

    return plan_head_fault(p, why, sizeof why);
}

static void fault_numbers(const struct plan *p, char *out, size_t size)
{
    char why[PLAN_RULES_NUMBERS_MAX - 4];

    if (plan_head_fault(p, why, sizeof why))
        snprintf(out, size, " (%s)", why);
}

/* What a party that computes the loss itself puts into its head is its embedding of now, which it
 * has not released: a row's gradient would hang on other rows', and the claims for its own steps
 * (model.train dp) know of none such. */
static bool head_mixes_refreshed(const struct plan *p)
{
    return plan_head_mixes(p) && p->protocol.local_view == VIEW_REFRESHED;
}

static bool head_factored(const struct plan *p)
{
    return p->model.head.n > 0 && p->model.head.item[0].word != LAYERS_UNITS &&
           p->protocol.gradient.form == GRADIENT_FACTORED;
}

static const struct plan_rule of_head[] = {
    {.broken = head_faulty,
     .key = "model.head",
     .with = {"model.embedding", "model.fusion"},
     .reason = "each item must take what comes to it",
     .numbers = fault_numbers},
    {.broken = head_mixes_refreshed,
     .key = "model.head",
     .with = {"protocol.local_view"},
     .reason = "a party that computes the loss itself would have batchnorm tie what it has not "
               "released of one row to the others of the batch: it needs local_view stale "
               "(groupnorm goes with either)"},
    {.broken = head_factored,
     .key = "protocol.gradient.form",
     .with = {"model.head"},
     .reason = "factored is of a first layer of units, and the head begins with something else: "
               "it needs full"},
};
const struct plan_rules plan_rules_head = PLAN_RULES(of_head);
