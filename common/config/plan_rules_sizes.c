/* plan_rules_sizes.c -- parties enough to hide among, numbers that fit.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/aggregation.h"

#include <stdio.h>

static bool coded_of_few(const struct plan *p)
{
    const struct aggregation *a = aggregation_of(p);

    return a->shares && !a->polynomial && p->shape.parties > 0 && a->least(p) > p->shape.parties;
}

static bool masked_alone(const struct plan *p)
{
    return !aggregation_of(p)->plaintext && !aggregation_of(p)->shares && p->shape.parties == 1;
}

static bool batch_too_large(const struct plan *p)
{
    return (uint64_t)p->training.batch * p->model.embedding > PLAN_VALUES_MAX;
}

static bool batch_beyond_rows(const struct plan *p)
{
    return p->shape.parties > 0 && p->training.batch > p->shape.train_rows;
}

static void rows_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (batch %u, rows %u)", p->training.batch, p->shape.train_rows);
}

static bool concat_too_wide(const struct plan *p)
{
    return plan_keeps_apart(p) && (uint64_t)p->model.embedding * p->shape.parties > PLAN_WIDTH_MAX;
}

static const struct plan_rule rules[] = {
    {.broken = coded_of_few,
     .key = "protocol.coded.segments",
     .with = {"protocol.coded.privacy"},
     .reason = "segments + privacy parties must answer, so they cannot be more than there are"},
    {.broken = masked_alone,
     .key = "shape.parties",
     .reason = "a sum over one party is that party's embedding: masked needs two parties or more"},
    {.broken = batch_too_large,
     .key = "training.batch",
     .with = {"model.embedding"},
     .reason = "batch times embedding must stay within 2^24 values"},
    {.broken = batch_beyond_rows,
     .key = "training.batch",
     .with = {"shape.train_rows"},
     .reason = "a step has at most all of the training rows",
     .numbers = rows_numbers},
    {.broken = concat_too_wide,
     .key = "model.embedding",
     .with = {"model.fusion"},
     .reason = "embedding times parties must stay within 65536 values a row with concat or max"},
};
const struct plan_rules plan_rules_sizes = PLAN_RULES(rules);
