/* plan_rules_local.c -- local steps: views, turns, the pull.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/aggregation.h"

#include <stdio.h>

static bool refreshed(const struct plan *p)
{
    return p->protocol.local_view == VIEW_REFRESHED;
}

static bool refreshed_fedvs(const struct plan *p)
{
    return refreshed(p) && aggregation_of(p)->polynomial;
}

static bool refreshed_straggler(const struct plan *p)
{
    return refreshed(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

/* The sum has gain times the embedding, cut off; a party would take the bare one out. */
static bool refreshed_gain(const struct plan *p)
{
    return refreshed(p) && p->protocol.encoding == ENCODING_PBM && p->protocol.pbm.gain > 1;
}

static bool holders_idle(const struct plan *p)
{
    return p->protocol.label_holders > 0 && !refreshed(p);
}

static bool holders_concat(const struct plan *p)
{
    return p->protocol.label_holders > 0 && refreshed(p) && plan_keeps_apart(p);
}

static bool holders_too_many(const struct plan *p)
{
    return p->shape.parties > 0 && p->protocol.label_holders > p->shape.parties;
}

static void holders_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (%u holders, %u parties)", p->protocol.label_holders, p->shape.parties);
}

static bool in_turns(const struct plan *p)
{
    return p->protocol.local_order == ORDER_SEQUENTIAL;
}

static bool sequential_hidden(const struct plan *p)
{
    return in_turns(p) && !aggregation_of(p)->plaintext;
}

static bool sequential_straggler(const struct plan *p)
{
    return in_turns(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

static bool proximal_idle(const struct plan *p)
{
    return p->protocol.proximal > 0 && p->protocol.local_iterations == 1;
}

/* A local step multiplies the way gone since the round began by 1 - lr mu, whatever the optimiser
 * makes of the rest.  No schedule has a larger rate than learning_rate. */
static bool pull_unstable(const struct plan *p)
{
    return p->training.learning_rate * p->protocol.proximal > 1;
}

static void pull_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (proximal %g, learning_rate %g)", p->protocol.proximal,
             p->training.learning_rate);
}

static const struct plan_rule rules[] = {
    {.broken = refreshed_fedvs,
     .key = "protocol.local_view",
     .with = {"protocol.aggregation"},
     .reason = "under fedvs a party never has its own embedding as the sum has it, so it cannot "
               "put a newer one in its place: it needs stale"},
    {.broken = refreshed_straggler,
     .key = "protocol.local_view",
     .with = {"protocol.straggler"},
     .reason = "refreshed puts a party's new embedding in the place of the one that the round's "
               "sum has of it, so everybody's must be there: it needs straggler wait"},
    {.broken = refreshed_gain,
     .key = "protocol.pbm.gain",
     .with = {"protocol.local_view"},
     .reason = "refreshed puts a party's new embedding in the place of the one that the round's "
               "sum has of it, which a gain has changed: it needs stale"},
    {.broken = holders_idle,
     .key = "protocol.label_holders",
     .with = {"protocol.local_view"},
     .reason = "has a meaning only with local_view refreshed: nobody else computes with labels"},
    {.broken = holders_concat,
     .key = "protocol.label_holders",
     .with = {"model.fusion", "protocol.local_view"},
     .reason =
         "with concat or max each party without labels would need a gradient of its own: it needs "
         "0, labels at all parties"},
    {.broken = holders_too_many,
     .key = "protocol.label_holders",
     .reason = "there are not so many parties",
     .numbers = holders_numbers},
    {.broken = sequential_hidden,
     .key = "protocol.local_order",
     .with = {"protocol.aggregation"},
     .reason = "every turn of sequential releases the same batch again, for one party's step: it "
               "needs aggregation clear"},
    {.broken = sequential_straggler,
     .key = "protocol.local_order",
     .with = {"protocol.straggler"},
     .reason = "sequential waits for the party whose turn it is: it needs straggler wait"},
    {.broken = proximal_idle,
     .key = "protocol.proximal",
     .with = {"protocol.local_iterations"},
     .reason = "pulls local steps back to where the round began, and a single one starts there: it "
               "needs local_iterations above 1"},
    {.broken = pull_unstable,
     .key = "protocol.proximal",
     .with = {"training.learning_rate"},
     .reason = "times training.learning_rate must be at most 1: above it a local step overshoots "
               "where the round began, and further on no model stays finite",
     .numbers = pull_numbers},
};
const struct plan_rules plan_rules_local = PLAN_RULES(rules);
