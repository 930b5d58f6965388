/* plan_rules_training.c -- what is learned, from how many releases, and until when.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules_groups.h"

#include "common/config/aggregation.h"
#include "common/config/task.h"

#include <stdio.h>
#include <string.h>

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
    return once(p) && aggregation_of(p)->polynomial;
}

static bool once_local(const struct plan *p)
{
    return once(p) && (p->protocol.local_view == VIEW_REFRESHED ||
                       p->protocol.local_order == ORDER_SEQUENTIAL);
}

static bool once_too_large(const struct plan *p)
{
    const uint64_t rows = (uint64_t)p->shape.train_rows + p->shape.test_rows;
    const uint64_t apart = plan_keeps_apart(p) ? p->shape.parties : 1;

    return once(p) && rows * p->model.embedding * apart > PLAN_KEPT_VALUES_MAX / 2;
}

static bool once_again(const struct plan *p)
{
    return once(p) && p->training.evaluate_train;
}

static bool once_identity(const struct plan *p)
{
    return once(p) && p->model.output == OUTPUT_IDENTITY;
}

static const struct plan_rule of_once[] = {
    {.broken = once_straggler,
     .key = "training.releases",
     .with = {"protocol.straggler"},
     .reason =
         "once keeps the sum of every row, so everybody has to be in it: it needs straggler wait"},
    {.broken = once_fedvs,
     .key = "training.releases",
     .with = {"protocol.aggregation"},
     .reason = "once keeps sums of embeddings that do not change, and fedvs deals new weights for "
               "each round: it needs every_epoch"},
    {.broken = once_local,
     .key = "training.releases",
     .with = {"protocol.local_view", "protocol.local_order"},
     .reason =
         "under once no bottom takes a step: it needs local_view stale and local_order parallel"},
    {.broken = once_too_large,
     .key = "model.embedding",
     .with = {"training.releases", "model.fusion"},
     .reason = "rows times embedding, kept by the server under releases once, must stay within "
               "2^27 values"},
    {.broken = once_again,
     .key = "training.evaluate_train",
     .with = {"training.releases"},
     .reason = "training.releases once releases no row a second time"},
    {.broken = once_identity,
     .key = "training.releases",
     .with = {"model.output"},
     .reason = "under once nothing but the head learns, and output identity has none: it needs "
               "every_epoch"},
};
const struct plan_rules plan_rules_once = PLAN_RULES(of_once);

/* --- what compression took --- */

static bool feedback_idle(const struct plan *p)
{
    return p->protocol.error_feedback && !plan_compresses(p);
}

static bool feedback_straggler(const struct plan *p)
{
    return p->protocol.error_feedback && p->protocol.straggler != STRAGGLER_WAIT;
}

static bool range_idle(const struct plan *p)
{
    return p->protocol.code_range != CODE_RANGE_MESSAGE && p->protocol.encoding != ENCODING_SCALAR;
}

static const struct plan_rule of_feedback[] = {
    {.broken = range_idle,
     .key = "protocol.code_range",
     .with = {"protocol.encoding"},
     .reason = "the codes of every other encoding have a range of their own: clip needs scalar"},
    {.broken = feedback_idle,
     .key = "protocol.error_feedback",
     .with = {"protocol.encoding"},
     .reason = "only what compresses leaves an error to add: it needs encoding scalar, lattice, e8 "
               "or topk"},
    {.broken = feedback_straggler,
     .key = "protocol.error_feedback",
     .with = {"protocol.straggler"},
     .reason = "an upload that the server did not take would be missed twice over: it needs "
               "straggler wait"},
};
const struct plan_rules plan_rules_feedback = PLAN_RULES(of_feedback);

/* --- the size of a step --- */

static bool steps_down(const struct plan *p)
{
    return p->training.schedule == SCHEDULE_STEP;
}

static bool step_unsaid(const struct plan *p)
{
    return steps_down(p) && !(p->training.step.epochs > 0);
}

static bool step_idle(const struct plan *p)
{
    return !steps_down(p) && p->training.step.epochs > 0;
}

static bool warmup_too_long(const struct plan *p)
{
    return p->training.warmup > p->training.epochs;
}

/* A step multiplies weights by 1 - lr lambda, before what it makes of the loss. */
static bool decay_unstable(const struct plan *p)
{
    return p->training.learning_rate * p->training.weight_decay > 1;
}

static void decay_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (weight_decay %g, learning_rate %g)", p->training.weight_decay,
             p->training.learning_rate);
}

static const struct plan_rule of_rate[] = {
    {.broken = step_unsaid,
     .key = "training.step.epochs",
     .with = {"training.schedule"},
     .reason = "must be given (above 0) with schedule step"},
    {.broken = step_idle,
     .key = "training.step.epochs",
     .with = {"training.schedule"},
     .reason = "has a meaning only with schedule step"},
    {.broken = warmup_too_long,
     .key = "training.warmup",
     .with = {"training.epochs"},
     .reason = "is longer than the run"},
    {.broken = decay_unstable,
     .key = "training.weight_decay",
     .with = {"training.learning_rate"},
     .reason = "times training.learning_rate must be at most 1: above it a step overshoots 0, and "
               "further on no model stays finite",
     .numbers = decay_numbers},
};
const struct plan_rules plan_rules_rate = PLAN_RULES(of_rate);

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
    return identity(p) && plan_keeps_apart(p);
}

/* The outputs as far as they are known before the labels are: 0 where they are not. */
static uint32_t outputs_of(const struct plan *p)
{
    if (p->shape.parties > 0)
        return p->shape.outputs;
    if (p->model.binary_loss == BINARY_SIGMOID)
        return 1;
    return task_of(p)->outputs;
}

static bool identity_width(const struct plan *p)
{
    uint32_t n = outputs_of(p);

    return identity(p) && n > 0 && p->model.embedding != n;
}

static void width_numbers(const struct plan *p, char *out, size_t size)
{
    snprintf(out, size, " (embedding %u, %u outputs)", p->model.embedding, outputs_of(p));
}

static bool identity_factored(const struct plan *p)
{
    return identity(p) && p->protocol.gradient.form == GRADIENT_FACTORED;
}

static const struct plan_rule of_identity[] = {
    {.broken = identity_layers,
     .key = "model.output",
     .with = {"model.head"},
     .reason = "identity has no head, so model.head must be []"},
    {.broken = identity_concat,
     .key = "model.output",
     .with = {"model.fusion"},
     .reason =
         "identity needs a sum for each output, not the parties' side by side, or the largest of "
         "them: fusion sum or mean"},
    {.broken = identity_width,
     .key = "model.embedding",
     .with = {"model.output", "model.task", "model.binary_loss"},
     .reason =
         "with output identity the embedding is the outputs, so it must be as wide: 1 for "
         "regression and sigmoid, 2 for binary softmax, the classes for multiclass, the labels "
         "for multilabel",
     .numbers = width_numbers},
    {.broken = identity_factored,
     .key = "protocol.gradient.form",
     .with = {"model.output"},
     .reason =
         "with output identity there is no layer whose weights could be a factor: it needs full"},
};
const struct plan_rules plan_rules_identity = PLAN_RULES(of_identity);

/* --- the task, and when to stop --- */

static bool sigmoid_many(const struct plan *p)
{
    return p->model.binary_loss == BINARY_SIGMOID && p->model.task != TASK_BINARY &&
           p->model.task != TASK_AUTO;
}

static bool of_classes(enum plan_metric m)
{
    return m >= METRIC_ACCURACY && m <= METRIC_F1;
}

static bool of_values(enum plan_metric m)
{
    return m >= METRIC_R2 && m <= METRIC_RMSE;
}

static bool of_labels(enum plan_metric m)
{
    return m >= METRIC_AUC_MICRO;
}

static bool class_metric(const struct plan *p)
{
    return of_classes(p->training.stop.metric);
}

static bool value_metric(const struct plan *p)
{
    return of_values(p->training.stop.metric);
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
    const enum plan_metric m = p->training.stop.metric;

    return (class_metric(p) || of_labels(m) || m == METRIC_R2) && p->training.stop.value > 1;
}

static bool stop_classes_of_regression(const struct plan *p)
{
    return class_metric(p) && task_of(p)->scores == TASK_OF_VALUES;
}

static bool stop_values_of_classes(const struct plan *p)
{
    return value_metric(p) && task_of(p)->scores != TASK_OF_VALUES;
}

static bool stop_micro_of_others(const struct plan *p)
{
    return of_labels(p->training.stop.metric) && task_of(p)->scores != TASK_OF_LABELS;
}

/* A party that takes local steps with labels has one of each row. */
static bool labels_refreshed(const struct plan *p)
{
    return task_of(p)->scores == TASK_OF_LABELS && p->protocol.local_view == VIEW_REFRESHED;
}

static bool weights_of_regression(const struct plan *p)
{
    return p->training.class_weights != CLASS_WEIGHTS_NONE && task_of(p)->scores == TASK_OF_VALUES;
}

static bool scale_by_many(const struct plan *p)
{
    return task_scales(p) && p->protocol.local_view == VIEW_REFRESHED;
}

static bool stop_on(const struct plan *p, enum plan_split split)
{
    return p->training.stop.metric != METRIC_NONE && p->training.stop.split == split;
}

static bool stop_never_measured(const struct plan *p)
{
    return (stop_on(p, SPLIT_TEST) || stop_on(p, SPLIT_VALIDATE)) &&
           !(p->training.evaluate_every > 0);
}

static bool stop_without_test(const struct plan *p)
{
    return stop_on(p, SPLIT_TEST) && p->shape.parties > 0 &&
           p->shape.test_rows == p->shape.validate_rows;
}

static bool stop_without_validation(const struct plan *p)
{
    return stop_on(p, SPLIT_VALIDATE) && !(p->data.validate > 0);
}

static bool outputs_wrong(const struct plan *p)
{
    const uint32_t n = p->shape.outputs, wanted = task_of(p)->outputs;

    if (p->shape.parties == 0 || p->model.task == TASK_AUTO)
        return false;
    return wanted > 0 ? n != wanted : n < 2;
}

static const struct plan_rule of_task[] = {
    {.broken = sigmoid_many,
     .key = "model.binary_loss",
     .with = {"model.task"},
     .reason = "sigmoid has one output, for task binary (or auto) only"},
    {.broken = stop_value_missing,
     .key = "training.stop.value",
     .with = {"training.stop.metric"},
     .reason = "must be given (above 0) with stop.metric"},
    {.broken = stop_value_idle,
     .key = "training.stop.value",
     .with = {"training.stop.metric"},
     .reason = "has a meaning only with stop.metric"},
    {.broken = stop_value_above_one,
     .key = "training.stop.value",
     .with = {"training.stop.metric"},
     .reason = "accuracy, auc, auprc, f1 and r2 never pass 1"},
    {.broken = stop_classes_of_regression,
     .key = "training.stop.metric",
     .with = {"model.task"},
     .reason = "regression has no classes: loss, r2, mae and rmse can stop it"},
    {.broken = stop_values_of_classes,
     .key = "training.stop.metric",
     .with = {"model.task"},
     .reason = "r2, mae and rmse are of regression"},
    {.broken = stop_micro_of_others,
     .key = "training.stop.metric",
     .with = {"model.task"},
     .reason = "auc_micro, auprc_micro and f1_micro are of multilabel"},
    {.broken = labels_refreshed,
     .key = "model.task",
     .with = {"protocol.local_view"},
     .reason =
         "multilabel: parties that refresh their view hold one label of each row, so it needs "
         "local_view stale"},
    {.broken = weights_of_regression,
     .key = "training.class_weights",
     .with = {"model.task"},
     .reason = "regression has no classes"},
    {.broken = scale_by_many,
     .key = "training.scale_targets",
     .with = {"protocol.local_view", "model.task"},
     .reason = "a party that computes the loss itself takes labels as they are: local_view stale, "
               "or false"},
    {.broken = stop_never_measured,
     .key = "training.evaluate_every",
     .with = {"training.stop.split", "training.stop.metric"},
     .reason =
         "is 0, so rows are measured only at the end and a stop by test or validate can never act"},
    {.broken = stop_without_test,
     .key = "training.stop.split",
     .with = {"training.stop.metric"},
     .reason = "there are no test rows"},
    {.broken = stop_without_validation,
     .key = "training.stop.split",
     .with = {"data.validate"},
     .reason = "validate needs rows that data.validate keeps back"},
    {.broken = outputs_wrong,
     .key = "shape.outputs",
     .with = {"model.task", "model.binary_loss"},
     .reason = "does not fit the task: 1 for regression and sigmoid, 2 for binary softmax, 2 or "
               "more for multiclass and multilabel"},
};
const struct plan_rules plan_rules_task = PLAN_RULES(of_task);

/* --- the best evaluation --- */

static bool patient(const struct plan *p)
{
    return p->training.patience > 0;
}

static bool patience_blind(const struct plan *p)
{
    return patient(p) && !(p->data.validate > 0);
}

static bool patience_never_measured(const struct plan *p)
{
    return patient(p) && !(p->training.evaluate_every > 0);
}

static bool patience_async(const struct plan *p)
{
    return patient(p) && p->protocol.straggler == STRAGGLER_ASYNC;
}

static bool best_idle(const struct plan *p)
{
    return !patient(p) && p->training.best_by != METRIC_NONE;
}

static bool best_of_other_task(const struct plan *p)
{
    const enum plan_metric m = p->training.best_by;

    return m != METRIC_NONE && !task_has_metric(task_of(p), m);
}

/* Before labels are read `auto` may be any task's. */
static bool target_of_another(const struct plan *p)
{
    const bool open = p->model.task == TASK_AUTO && p->training.best_by == METRIC_NONE;

    return patient(p) && p->training.stop.metric != METRIC_NONE &&
           (p->training.stop.split != SPLIT_VALIDATE ||
            (!open && p->training.stop.metric != plan_best_by(p)));
}

static bool rows_unfit(const struct plan *p)
{
    return p->shape.validate_rows > p->shape.test_rows ||
           (p->shape.parties > 0 && (p->shape.validate_rows > 0) != (p->data.validate > 0));
}

static bool by_idle(const struct plan *p)
{
    return p->data.validate_by != VALIDATE_ID && !(p->data.validate > 0);
}

/* --- what a run begins with --- */

/* As runs are called (common/daemon/models.h). */
static bool from_no_run(const struct plan *p)
{
    const char *from = p->training.from;

    return from[0] != 0 && (strlen(from) > PLAN_RUN_NAME_MAX ||
                            strspn(from, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(from) ||
                            strspn(from, "abcdef0123456789") < PLAN_RUN_DIGITS);
}

static bool from_nothing(const struct plan *p)
{
    return p->training.from[0] == 0 && p->training.from_trail[0] != 0;
}

static const struct plan_rule of_best[] = {
    {.broken = from_no_run,
     .key = "training.from",
     .reason = "is no name of a run: 16 digits of its plan's digest, and perhaps -2, -3, ..."},
    {.broken = from_nothing,
     .key = "training.from_trail",
     .with = {"training.from"},
     .reason = "has a meaning only with training.from"},
    {.broken = by_idle,
     .key = "data.validate_by",
     .with = {"data.validate"},
     .reason = "has a meaning only with data.validate"},
    {.broken = patience_blind,
     .key = "training.patience",
     .with = {"data.validate"},
     .reason = "needs rows to choose by, which data.validate keeps back: the test rows are for no "
               "choice"},
    {.broken = patience_never_measured,
     .key = "training.patience",
     .with = {"training.evaluate_every"},
     .reason = "compares evaluations: evaluate_every must be above 0"},
    {.broken = patience_async,
     .key = "training.patience",
     .with = {"protocol.straggler"},
     .reason = "each party counts its own steps under async, so no two sides have the same best "
               "one: it needs straggler wait or drop"},
    {.broken = best_idle,
     .key = "training.best_by",
     .with = {"training.patience"},
     .reason = "has a meaning only with training.patience"},
    {.broken = best_of_other_task,
     .key = "training.best_by",
     .with = {"model.task"},
     .reason = "loss, r2, mae and rmse are of regression; loss, accuracy, auc, auprc and f1 of "
               "classes and labels, of these alone auc_micro, auprc_micro and f1_micro"},
    {.broken = target_of_another,
     .key = "training.stop.metric",
     .with = {"training.patience", "training.stop.split", "training.best_by"},
     .reason = "with patience the best model is kept, which has to be the one that reaches the "
               "target: stop.split must be validate, and stop.metric what best_by compares"},
    {.broken = rows_unfit,
     .key = "shape.validate_rows",
     .with = {"data.validate"},
     .reason = "are not what data.validate keeps back"},
};
const struct plan_rules plan_rules_best = PLAN_RULES(of_best);
