/* plan_rules_sums.c -- who sees what: sums of integers, products of shares, steps at arrivals.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"

#include <stdio.h>

/* --- sums --- */

/* masked, coded and fedvs: the server is shown sums of integers and nothing else. */
static bool hidden(const struct plan *p)
{
    return !aggregation_of(p)->plaintext;
}

static bool hidden_float(const struct plan *p)
{
    return hidden(p) && !encoding_of(p)->integers;
}

static bool hidden_concat(const struct plan *p)
{
    return hidden(p) && plan_keeps_apart(p);
}

static bool fedvs(const struct plan *p)
{
    return aggregation_of(p)->polynomial;
}

static bool hidden_fixed_drop(const struct plan *p)
{
    const struct encoding *e = encoding_of(p);

    return hidden(p) && !fedvs(p) && e->integers && !e->noisy &&
           p->protocol.straggler == STRAGGLER_DROP;
}

static bool hidden_async(const struct plan *p)
{
    return hidden(p) && p->protocol.straggler == STRAGGLER_ASYNC;
}

static bool concat_drop(const struct plan *p)
{
    return p->model.fusion == FUSION_CONCAT && p->protocol.straggler == STRAGGLER_DROP &&
           p->protocol.absent == ABSENT_IGNORE;
}

static const struct plan_rule of_sums[] = {
    {.broken = hidden_float,
     .key = "protocol.encoding",
     .with = {"protocol.aggregation"},
     .reason = "float32 and what compresses (scalar, lattice, e8, topk) cannot be added under "
               "masks or in shares: they need aggregation clear"},
    {.broken = hidden_concat,
     .key = "model.fusion",
     .with = {"protocol.aggregation"},
     .reason = "under masks and from shares the server has only sums: concat and max need "
               "aggregation clear"},
    {.broken = hidden_fixed_drop,
     .key = "protocol.straggler",
     .with = {"protocol.encoding", "protocol.aggregation"},
     .reason = "fixed has no noise, so two sums over different sets would show the dropped party: "
               "with aggregation masked or coded it needs straggler wait"},
    {.broken = concat_drop,
     .key = "protocol.straggler",
     .with = {"model.fusion", "protocol.absent"},
     .reason =
         "with concat each party has its own inputs of the head, which nobody's stand in for: "
         "it needs straggler wait, or protocol.absent zero, by which they are zeros"},
    {.broken = hidden_async,
     .key = "protocol.straggler",
     .with = {"protocol.aggregation"},
     .reason = "async takes each party's embedding as it arrives, which is no sum: it needs "
               "aggregation clear"},
};
const struct plan_rules plan_rules_sums = PLAN_RULES(of_sums);

/* --- products of shares --- */

static bool fedvs_encoding(const struct plan *p)
{
    return fedvs(p) && p->protocol.encoding != aggregation_of(p)->own;
}

static bool fedvs_drop(const struct plan *p)
{
    return fedvs(p) && p->protocol.straggler == STRAGGLER_DROP;
}

/* Data and weights lie on polynomials of degree K + T - 1, their product on one of twice that. */
static uint32_t fedvs_results(const struct plan *p)
{
    return 2 * (p->protocol.fedvs.segments + p->protocol.fedvs.privacy - 1) + 1;
}

static bool fedvs_of_few(const struct plan *p)
{
    return fedvs(p) && p->shape.parties > 0 && fedvs_results(p) > p->shape.parties;
}

static void results_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (%u results with segments %u and privacy %u, %u parties)",
             fedvs_results(p), p->protocol.fedvs.segments, p->protocol.fedvs.privacy,
             p->shape.parties);
}

/* C(n, k) for k <= n / 2, as any k is that fedvs_of_few let pass, so that c only grows: exact up to
 * PLAN_RULES_SETS_MAX, any number above it where it passes that. */
static uint64_t choose(uint32_t n, uint32_t k)
{
    uint64_t c = 1;

    for (uint32_t i = 0; i < k && c <= PLAN_RULES_SETS_MAX; i++)
        c = c * (n - i) / (i + 1);
    return c;
}

static bool fedvs_many_sets(const struct plan *p)
{
    return fedvs(p) && p->shape.parties > 0 &&
           choose(p->shape.parties - 1, p->protocol.fedvs.privacy) > PLAN_RULES_SETS_MAX;
}

static void sets_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (privacy %u among %u)", p->protocol.fedvs.privacy, p->shape.parties - 1);
}

static bool segments_idle(const struct plan *p)
{
    return p->protocol.fedvs.segments > 1 && !fedvs(p) && hidden(p);
}

static bool segments_uneven(const struct plan *p)
{
    return p->training.batch % p->protocol.fedvs.segments != 0;
}

static void uneven_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (batch %u, segments %u)", p->training.batch, p->protocol.fedvs.segments);
}

static const struct plan_rule of_products[] = {
    {.broken = fedvs_encoding,
     .key = "protocol.encoding",
     .with = {"protocol.aggregation"},
     .reason = "fedvs multiplies in a field, exactly, by its own x_bits and w_bits, and adds no "
               "noise: leave this out, or make it fixed"},
    {.broken = fedvs_drop,
     .key = "protocol.straggler",
     .with = {"protocol.aggregation"},
     .reason = "the sum of fedvs has the embedding of every party, whoever is late, so nobody can "
               "be dropped: it needs straggler wait"},
    {.broken = fedvs_of_few,
     .key = "protocol.fedvs.segments",
     .with = {"protocol.fedvs.privacy"},
     .reason = "a sum is decoded from 2 (segments + privacy - 1) + 1 results, so there must be "
               "that many parties",
     .numbers = results_numbers},
    {.broken = fedvs_many_sets,
     .key = "protocol.fedvs.privacy",
     .reason = "one key for each choice of `privacy` among the other parties keeps openings apart: "
               "there may be 512 of them at most",
     .numbers = sets_numbers},
    {.broken = segments_idle,
     .key = "protocol.fedvs.segments",
     .with = {"protocol.aggregation"},
     .reason = "rows are cut for aggregation fedvs, and for a clear run on the same batches: "
               "elsewhere it must be 1"},
    {.broken = segments_uneven,
     .key = "training.batch",
     .with = {"protocol.fedvs.segments"},
     .reason = "must be a multiple of protocol.fedvs.segments",
     .numbers = uneven_numbers},
};
const struct plan_rules plan_rules_products = PLAN_RULES(of_products);

/* --- steps at arrivals --- */

static bool async_local(const struct plan *p)
{
    return p->protocol.straggler == STRAGGLER_ASYNC && p->protocol.local_iterations > 1;
}

static bool async_too_large(const struct plan *p)
{
    return p->protocol.straggler == STRAGGLER_ASYNC &&
           (uint64_t)p->shape.train_rows * p->model.embedding * p->shape.parties >
               PLAN_KEPT_VALUES_MAX;
}

static const struct plan_rule of_arrivals[] = {
    {.broken = async_local,
     .key = "protocol.local_iterations",
     .with = {"protocol.straggler"},
     .reason = "async takes one step at each arrival: it needs 1"},
    {.broken = async_too_large,
     .key = "model.embedding",
     .with = {"protocol.straggler"},
     .reason = "training rows times embedding times parties, all of which the server keeps under "
               "async, must stay within 2^28 values"},
};
const struct plan_rules plan_rules_arrivals = PLAN_RULES(of_arrivals);
