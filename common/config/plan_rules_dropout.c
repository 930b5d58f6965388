/* plan_rules_dropout.c -- steps that do without some parties (training.party_dropout), and heads
 * without some units (model.head_dropout).
 *
 * A step's sum is then of fewer parties' embeddings, though everybody's noise is in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/plan_head.h"

static bool drops(const struct plan *p)
{
    return p->training.party_dropout > 0;
}

static bool dropout_fedvs(const struct plan *p)
{
    return drops(p) && aggregation_of(p)->polynomial;
}

static bool dropout_exact(const struct plan *p)
{
    return drops(p) && !aggregation_of(p)->plaintext && !encoding_of(p)->noisy;
}

static bool dropout_compressed(const struct plan *p)
{
    return drops(p) && encoding_of(p)->compresses;
}

static bool dropout_straggler(const struct plan *p)
{
    return drops(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

static bool dropout_local(const struct plan *p)
{
    return drops(p) && (p->protocol.local_view == VIEW_REFRESHED ||
                        p->protocol.local_order == ORDER_SEQUENTIAL);
}

static bool dropout_once(const struct plan *p)
{
    return drops(p) && p->training.releases == RELEASES_ONCE;
}

static bool dropout_identity(const struct plan *p)
{
    return drops(p) && p->model.output == OUTPUT_IDENTITY;
}

static bool head_dropout_layers(const struct plan *p)
{
    return p->model.head_dropout > 0 && !plan_head_lists(p, LAYERS_UNITS);
}

static bool head_dropout_view(const struct plan *p)
{
    return p->model.head_dropout > 0 && p->protocol.local_view == VIEW_REFRESHED;
}

static const struct plan_rule of_dropout[] = {
    {.broken = dropout_fedvs,
     .key = "training.party_dropout",
     .with = {"protocol.aggregation"},
     .reason = "under fedvs a party's weights are in the sum, not its embeddings, and its answers "
               "are exact, so that nobody may be missing from them: it needs masked, coded or "
               "clear"},
    {.broken = dropout_exact,
     .key = "training.party_dropout",
     .with = {"protocol.encoding", "protocol.aggregation"},
     .reason = "fixed has no noise, so the sums of a row with a party and without it would show "
               "that party's embedding: with aggregation masked or coded it needs pbm or gaussian"},
    {.broken = dropout_compressed,
     .key = "training.party_dropout",
     .with = {"protocol.encoding"},
     .reason = "what compresses chooses by a batch's gradient, which a party that is left out does "
               "not get: it needs pbm, gaussian, fixed or float32"},
    {.broken = dropout_straggler,
     .key = "training.party_dropout",
     .with = {"protocol.straggler"},
     .reason = "who is left out must be in the set, with its noise: it needs straggler wait"},
    {.broken = dropout_local,
     .key = "training.party_dropout",
     .with = {"protocol.local_view", "protocol.local_order"},
     .reason = "stand-ins are the server's, and a party that computes the loss itself, or has its "
               "turn, would be without them: it needs local_view stale and local_order parallel"},
    {.broken = dropout_once,
     .key = "training.party_dropout",
     .with = {"training.releases"},
     .reason = "a row that is released once must have everybody in it: it needs every_epoch"},
    {.broken = dropout_identity,
     .key = "training.party_dropout",
     .with = {"model.output"},
     .reason = "stand-ins belong to the head, and output identity has none: it needs linear"},
    {.broken = head_dropout_layers,
     .key = "model.head_dropout",
     .with = {"model.head"},
     .reason = "it is of hidden layers, and the head has none"},
    {.broken = head_dropout_view,
     .key = "model.head_dropout",
     .with = {"protocol.local_view"},
     .reason = "a party that computes the loss itself would do so with another head than the "
               "server's: it needs local_view stale"},
};
const struct plan_rules plan_rules_dropout = PLAN_RULES(of_dropout);
