/* plan_rules.c -- the rules behind plan_check and the matrix of combinations in
 * docs/configuration.md.
 *
 * One predicate per rule; the table at the end gives it its key and its words, in the order in
 * which a person would want to hear of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/plan_noise.h"
#include "common/config/plan_rules_local.h"

#include <stdio.h>

/* The sum of all parties' codes is held in 32 bits with one to spare. */
#define RULES_SUM_MAX ((uint64_t)1 << 31)

/* --- who sees what --- */

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
    return hidden(p) && p->model.fusion == FUSION_CONCAT;
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
    return p->model.fusion == FUSION_CONCAT && p->protocol.straggler == STRAGGLER_DROP;
}

static bool masked_alone(const struct plan *p)
{
    return hidden(p) && !aggregation_of(p)->shares && p->shape.parties == 1;
}

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

/* --- one release of a record --- */

static bool once(const struct plan *p)
{
    return p->training.releases == RELEASES_ONCE;
}

static bool once_straggler(const struct plan *p)
{
    return once(p) && p->protocol.straggler != STRAGGLER_WAIT;
}

static bool once_fedvs(const struct plan *p)
{
    return once(p) && fedvs(p);
}

static bool once_local(const struct plan *p)
{
    return once(p) && (p->protocol.local_view == VIEW_REFRESHED ||
                       p->protocol.local_order == ORDER_SEQUENTIAL);
}

static bool once_again(const struct plan *p)
{
    return once(p) && p->training.evaluate_train;
}

static bool once_too_large(const struct plan *p)
{
    const uint64_t rows = (uint64_t)p->shape.train_rows + p->shape.test_rows;
    const uint64_t concat = p->model.fusion == FUSION_CONCAT ? p->shape.parties : 1;

    return once(p) && rows * p->model.embedding * concat > PLAN_KEPT_VALUES_MAX / 2;
}

static bool once_identity(const struct plan *p)
{
    return once(p) && p->model.output == OUTPUT_IDENTITY;
}

/* --- compressors --- */

static bool feedback_idle(const struct plan *p)
{
    return p->protocol.error_feedback && !plan_compresses(p);
}

static bool feedback_straggler(const struct plan *p)
{
    return p->protocol.error_feedback && p->protocol.straggler != STRAGGLER_WAIT;
}

/* --- no head --- */

static bool identity(const struct plan *p)
{
    return p->model.output == OUTPUT_IDENTITY;
}

static bool identity_layers(const struct plan *p)
{
    return identity(p) && p->model.head.n > 0;
}

static bool identity_concat(const struct plan *p)
{
    return identity(p) && p->model.fusion == FUSION_CONCAT;
}

static bool identity_factored(const struct plan *p)
{
    return identity(p) && p->protocol.gradient.form == GRADIENT_FACTORED;
}

/* The outputs as far as they are known before the labels are: 0 where they are not. */
static uint32_t outputs_of(const struct plan *p)
{
    if (p->shape.parties > 0)
        return p->shape.outputs;
    if (p->model.binary_loss == BINARY_SIGMOID)
        return 1;
    switch (p->model.task) {
    case TASK_BINARY: return 2;
    case TASK_REGRESSION: return 1;
    case TASK_AUTO:
    case TASK_MULTICLASS: break;
    }
    return 0;
}

static bool identity_width(const struct plan *p)
{
    uint32_t n = outputs_of(p);

    return identity(p) && n > 0 && p->model.embedding != n;
}

/* --- shares --- */

static bool coded_of_few(const struct plan *p)
{
    const struct aggregation *a = aggregation_of(p);

    return a->prime_max > 0 && p->shape.parties > 0 && a->least(p) > p->shape.parties;
}

/* The prime is above max(value M, M + K + T).  With K + T <= M <= 256 the second is never the one
 * that passes PLAN_PRIME_MAX. */
static bool coded_beyond_prime(const struct plan *p, enum plan_encoding encoding, uint64_t value)
{
    const uint32_t prime = aggregation_of(p)->prime_max;

    return prime > 0 && p->protocol.encoding == encoding && value * p->shape.parties >= prime;
}

static bool coded_pbm_too_large(const struct plan *p)
{
    return coded_beyond_prime(p, ENCODING_PBM, p->protocol.pbm.trials);
}

static bool coded_fixed_too_large(const struct plan *p)
{
    return coded_beyond_prime(p, ENCODING_FIXED, ((uint64_t)1 << p->protocol.fixed.bits) - 1);
}

/* --- coded products --- */

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

static bool segments_idle(const struct plan *p)
{
    return p->protocol.fedvs.segments > 1 && !fedvs(p) && hidden(p);
}

static bool segments_uneven(const struct plan *p)
{
    return p->training.batch % p->protocol.fedvs.segments != 0;
}

/* --- sizes --- */

static bool sum_too_large(const struct plan *p)
{
    uint64_t value = 0;

    if (p->model.fusion == FUSION_CONCAT)
        return false;
    if (p->protocol.encoding == ENCODING_PBM)
        value = p->protocol.pbm.trials;
    if (p->protocol.encoding == ENCODING_FIXED && !fedvs(p))
        value = (uint64_t)1 << p->protocol.fixed.bits;
    return value * p->shape.parties > RULES_SUM_MAX;
}

static bool batch_too_large(const struct plan *p)
{
    return (uint64_t)p->training.batch * p->model.embedding > PLAN_VALUES_MAX;
}

static bool concat_too_wide(const struct plan *p)
{
    return p->model.fusion == FUSION_CONCAT &&
           (uint64_t)p->model.embedding * p->shape.parties > PLAN_WIDTH_MAX;
}

/* --- the mechanisms --- */

static bool beta_wide(const struct plan *p)
{
    return p->protocol.pbm.beta > 0.25 && !p->protocol.pbm.wide;
}

/* 1/2 +- beta must differ in units of 2^-16, or every coin is fair and the sum says nothing. */
static bool beta_too_small(const struct plan *p)
{
    return p->protocol.encoding == ENCODING_PBM && p->protocol.pbm.beta < 1.0 / 65536;
}

/* --- the task, and when to stop --- */

static bool sigmoid_many(const struct plan *p)
{
    return p->model.binary_loss == BINARY_SIGMOID &&
           (p->model.task == TASK_MULTICLASS || p->model.task == TASK_REGRESSION);
}

static bool class_metric(const struct plan *p)
{
    return p->training.stop.metric != METRIC_NONE && p->training.stop.metric != METRIC_LOSS;
}

static bool stop_value_missing(const struct plan *p)
{
    return p->training.stop.metric != METRIC_NONE && !(p->training.stop.value > 0);
}

static bool stop_value_idle(const struct plan *p)
{
    return p->training.stop.metric == METRIC_NONE && p->training.stop.value > 0;
}

static bool stop_value_above_one(const struct plan *p)
{
    return class_metric(p) && p->training.stop.value > 1;
}

static bool stop_classes_of_regression(const struct plan *p)
{
    return class_metric(p) && p->model.task == TASK_REGRESSION;
}

static bool stop_on_test(const struct plan *p)
{
    return p->training.stop.metric != METRIC_NONE && p->training.stop.split == SPLIT_TEST;
}

static bool stop_never_measured(const struct plan *p)
{
    return stop_on_test(p) && !(p->training.evaluate_every > 0);
}

static bool stop_without_test(const struct plan *p)
{
    return stop_on_test(p) && p->shape.parties > 0 && p->shape.test_rows == 0;
}

static bool outputs_wrong(const struct plan *p)
{
    uint32_t n = p->shape.outputs;

    if (p->shape.parties == 0)
        return false;
    switch (p->model.task) {
    case TASK_AUTO: return false;
    case TASK_BINARY: return n != (p->model.binary_loss == BINARY_SIGMOID ? 1 : 2);
    case TASK_MULTICLASS: return n < 2;
    case TASK_REGRESSION: return n != 1;
    }
    return true;
}

const struct plan_rule plan_rules[] = {
    {"protocol.encoding",
     "float32 and what compresses (scalar, lattice, e8, topk) cannot be added under masks or in "
     "shares: they need aggregation clear",
     hidden_float},
    {"model.fusion",
     "under masks and from shares the server has only sums: concat needs aggregation clear",
     hidden_concat},
    {"protocol.straggler",
     "fixed has no noise, so two sums over different sets would show the dropped party: with "
     "aggregation masked or coded it needs straggler wait",
     hidden_fixed_drop},
    {"protocol.straggler",
     "with concat each party has its own inputs of the head, so nobody can be dropped: it needs "
     "straggler wait",
     concat_drop},
    {"protocol.straggler",
     "async takes each party's embedding as it arrives, which is no sum: it needs aggregation "
     "clear",
     hidden_async},
    {"protocol.encoding",
     "fedvs multiplies in a field, exactly, by its own x_bits and w_bits, and adds no noise: leave "
     "this out, or make it fixed",
     fedvs_encoding},
    {"protocol.straggler",
     "the sum of fedvs has the embedding of every party, whoever is late, so nobody can be "
     "dropped: it needs straggler wait",
     fedvs_drop},
    {"protocol.fedvs.segments",
     "a sum is decoded from 2 (segments + privacy - 1) + 1 results, so there must be that many "
     "parties",
     fedvs_of_few},
    {"protocol.fedvs.privacy",
     "one key for each choice of `privacy` among the other parties keeps openings apart: there may "
     "be 512 of them at most",
     fedvs_many_sets},
    {"protocol.fedvs.segments",
     "rows are cut for aggregation fedvs, and for a clear run on the same batches: elsewhere it "
     "must be 1",
     segments_idle},
    {"training.batch", "must be a multiple of protocol.fedvs.segments", segments_uneven},
    {"protocol.local_iterations", "async takes one step at each arrival: it needs 1", async_local},
    {"model.embedding",
     "training rows times embedding times parties, all of which the server keeps under async, must "
     "stay within 2^28 values",
     async_too_large},
    {"protocol.local_view",
     "under fedvs a party never has its own embedding as the sum has it, so it cannot put a newer "
     "one in its place: it needs stale",
     plan_rules_local_refreshed_fedvs},
    {"protocol.local_view",
     "refreshed puts a party's new embedding in the place of the one that the round's sum has of "
     "it, so everybody's must be there: it needs straggler wait",
     plan_rules_local_refreshed_straggler},
    {"protocol.label_holders",
     "has a meaning only with local_view refreshed: nobody else computes with labels",
     plan_rules_local_holders_idle},
    {"protocol.label_holders",
     "with concat each party without labels would need a gradient of its own: it needs 0, labels "
     "at all parties",
     plan_rules_local_holders_concat},
    {"protocol.label_holders", "there are not so many parties", plan_rules_local_holders_too_many},
    {"protocol.local_order",
     "every turn of sequential releases the same batch again, for one party's step: it needs "
     "aggregation clear",
     plan_rules_local_sequential_hidden},
    {"protocol.local_order",
     "sequential waits for the party whose turn it is: it needs straggler wait",
     plan_rules_local_sequential_straggler},
    {"protocol.proximal",
     "pulls local steps back to where the round began, and a single one starts there: it needs "
     "local_iterations above 1",
     plan_rules_local_proximal_idle},
    {"protocol.proximal",
     "times training.learning_rate must be at most 1: above it a local step overshoots where the "
     "round began, and further on no model stays finite",
     plan_rules_local_unstable},
    {"training.releases",
     "once keeps the sum of every row, so everybody has to be in it: it needs straggler wait",
     once_straggler},
    {"training.releases",
     "once keeps sums of embeddings that do not change, and fedvs deals new weights for each "
     "round: "
     "it needs every_epoch",
     once_fedvs},
    {"training.releases",
     "under once no bottom takes a step: it needs local_view stale and local_order parallel",
     once_local},
    {"model.embedding",
     "rows times embedding, kept by the server under releases once, must stay within 2^27 values",
     once_too_large},
    {"training.evaluate_train", "training.releases once releases no row a second time", once_again},
    {"training.releases",
     "under once nothing but the head learns, and output identity has none: it needs every_epoch",
     once_identity},
    {"protocol.error_feedback",
     "only what compresses leaves an error to add: it needs encoding scalar, lattice, e8 or topk",
     feedback_idle},
    {"protocol.error_feedback",
     "an upload that the server did not take would be missed twice over: it needs straggler wait",
     feedback_straggler},
    {"model.output", "identity has no head, so model.head must be []", identity_layers},
    {"model.output",
     "identity needs one value per output, not the parties' side by side: fusion sum or mean",
     identity_concat},
    {"model.embedding",
     "with output identity the embedding is the outputs, so it must be as wide: 1 for regression "
     "and sigmoid, 2 for binary softmax, the classes for multiclass",
     identity_width},
    {"protocol.gradient.form",
     "with output identity there is no layer whose weights could be a factor: it needs full",
     identity_factored},
    {"protocol.coded.segments",
     "segments + privacy parties must answer, so they cannot be more than there are", coded_of_few},
    {"protocol.pbm.trials",
     "the sum over all parties must stay below 65521, the largest prime of coded shares",
     coded_pbm_too_large},
    {"protocol.fixed.bits",
     "the sum over all parties must stay below 65521, the largest prime of coded shares",
     coded_fixed_too_large},
    {"protocol.gaussian.levels",
     "the grid and the noise of all parties must stay within 65521, the largest prime of coded "
     "shares: fewer levels, or less noise",
     plan_noise_beyond_prime},
    {"shape.parties",
     "a sum over one party is that party's embedding: masked needs two parties or more",
     masked_alone},
    {"protocol.fixed.bits", "the sum over all parties must stay within 2^31", sum_too_large},
    {"training.batch", "batch times embedding must stay within 2^24 values", batch_too_large},
    {"model.embedding",
     "embedding times parties must stay within 65536 inputs of the head with concat",
     concat_too_wide},
    {"protocol.pbm.beta", "is over 0.25 (PBM-VFL): it needs protocol.pbm.wide true", beta_wide},
    {"protocol.pbm.beta", "below 2^-16 every coin is fair and the sums say nothing",
     beta_too_small},
    {"protocol.gaussian.sigma", "must be given (above 0) with gaussian.match sigma",
     plan_noise_sigma_missing},
    {"protocol.gaussian.sigma", "has a meaning only with gaussian.match sigma",
     plan_noise_sigma_idle},
    {"protocol.gaussian.epsilon", "must be given (above 0) with gaussian.match epsilon",
     plan_noise_epsilon_missing},
    {"protocol.gaussian.epsilon", "has a meaning only with gaussian.match epsilon",
     plan_noise_epsilon_idle},
    {"protocol.gaussian.levels",
     "a party's noise must be 4 to 2^24 steps of the grid, clip / levels, in every set that may "
     "run: sigma does not fit levels",
     plan_noise_out_of_range},
    {"protocol.gaussian.levels",
     "the grid and the noise of all parties must stay within 2^30 steps: fewer levels, or less "
     "noise",
     plan_noise_sum_too_large},
    {"model.binary_loss", "sigmoid has one output, for task binary (or auto) only", sigmoid_many},
    {"training.stop.value", "must be given (above 0) with stop.metric", stop_value_missing},
    {"training.stop.value", "has a meaning only with stop.metric", stop_value_idle},
    {"training.stop.value", "accuracy, auc, auprc and f1 never pass 1", stop_value_above_one},
    {"training.stop.metric", "regression has no classes: only loss can stop it",
     stop_classes_of_regression},
    {"training.evaluate_every",
     "is 0, so the test rows are measured only at the end and stop.split test "
     "can never act",
     stop_never_measured},
    {"training.stop.split", "there are no test rows", stop_without_test},
    {"shape.outputs",
     "does not fit the task: 1 for regression and sigmoid, 2 for binary softmax, 2 or "
     "more for multiclass",
     outputs_wrong},
};
const size_t plan_rules_n = sizeof plan_rules / sizeof plan_rules[0];

const struct plan_rule *plan_rules_broken(const struct plan *p)
{
    for (size_t i = 0; i < plan_rules_n; i++) {
        if (plan_rules[i].broken(p))
            return &plan_rules[i];
    }
    return NULL;
}

void plan_rules_numbers(const struct plan_rule *r, const struct plan *p, char *out, size_t size)
{
    const uint32_t k = p->protocol.fedvs.segments, t = p->protocol.fedvs.privacy;

    out[0] = 0;
    if (r->broken == fedvs_of_few)
        snprintf(out, size, " (%u results with segments %u and privacy %u, %u parties)",
                 fedvs_results(p), k, t, p->shape.parties);
    if (r->broken == fedvs_many_sets)
        snprintf(out, size, " (privacy %u among %u)", t, p->shape.parties - 1);
    if (r->broken == plan_rules_local_holders_too_many)
        snprintf(out, size, " (%u holders, %u parties)", p->protocol.label_holders,
                 p->shape.parties);
    if (r->broken == identity_width)
        snprintf(out, size, " (embedding %u, %u outputs)", p->model.embedding, outputs_of(p));
    if (r->broken == plan_rules_local_unstable)
        snprintf(out, size, " (proximal %g, learning_rate %g)", p->protocol.proximal,
                 p->training.learning_rate);
    if (r->broken == plan_noise_out_of_range)
        plan_noise_numbers(p, out, size);
    if (r->broken == segments_uneven)
        snprintf(out, size, " (batch %u, segments %u)", p->training.batch, k);
}
