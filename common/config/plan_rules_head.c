/* plan_rules_head.c -- layers of the head that do not go together, or with what parties compute;
 * and what the head is given in the place of who is absent.
 *
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

static bool absent_idle(const struct plan *p)
{
    return p->protocol.absent != ABSENT_IGNORE && p->protocol.straggler != STRAGGLER_DROP;
}

/* Its product is the gradient of what the first layer takes, which is no party's own. */
static bool max_factored(const struct plan *p)
{
    return p->model.fusion == FUSION_MAX && p->protocol.gradient.form == GRADIENT_FACTORED;
}

static bool head_large(const struct plan *p)
{
    return plan_head_values(p) > PLAN_HEAD_VALUES_MAX / p->training.batch;
}

static void large_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (%llu values)",
             (unsigned long long)plan_head_values(p) * p->training.batch);
}

static bool head_mixes_one(const struct plan *p)
{
    return plan_head_mixes(p) && p->training.batch < 2;
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
    {.broken = absent_idle,
     .key = "protocol.absent",
     .with = {"protocol.straggler"},
     .reason = "has a meaning only with straggler drop: wait does without nobody, and async has "
               "their last embeddings"},
    {.broken = max_factored,
     .key = "protocol.gradient.form",
     .with = {"model.fusion"},
     .reason = "with max each party's gradient is of the coordinates that it has the largest of, "
               "which no product of two factors is: it needs full"},
    {.broken = head_large,
     .key = "model.head",
     .with = {"training.batch"},
     .reason = "what a batch makes behind all items must stay within 2^28 values",
     .numbers = large_numbers},
    {.broken = head_mixes_one,
     .key = "training.batch",
     .with = {"model.head"},
     .reason = "batchnorm makes the same of any row that is alone: it needs 2 or more"},
};
const struct plan_rules plan_rules_head = PLAN_RULES(of_head);
