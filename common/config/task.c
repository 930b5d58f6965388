/* task.c -- the rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/task.h"

#define NAME(id, name) #name,
const char *const task_names[PLAN_TASKS + 1] = {PLAN_TASK_LIST(NAME) NULL};

/* Labels are rare as a rule, and the AUC of a rare label is high for models of no use: the mean
 * average precision over labels (macro AUPRC) is what comparisons of such models go by. */
static const struct task rows[PLAN_TASKS] = {
    [TASK_AUTO] = {.name = "auto",
                   .loss = TASK_SOFTMAX,
                   .loss_name = "softmax",
                   .scores = TASK_OF_CLASSES,
                   .best_by = METRIC_AUC},
    [TASK_BINARY] = {.name = "binary",
                     .loss = TASK_SOFTMAX,
                     .loss_name = "softmax",
                     .scores = TASK_OF_CLASSES,
                     .outputs = 2,
                     .best_by = METRIC_AUC},
    [TASK_MULTICLASS] = {.name = "multiclass",
                         .loss = TASK_SOFTMAX,
                         .loss_name = "softmax",
                         .scores = TASK_OF_CLASSES,
                         .best_by = METRIC_ACCURACY},
    [TASK_REGRESSION] = {.name = "regression",
                         .loss = TASK_SQUARED,
                         .loss_name = "squared",
                         .scores = TASK_OF_VALUES,
                         .outputs = 1,
                         .best_by = METRIC_RMSE},
    [TASK_MULTILABEL] = {.name = "multilabel",
                         .loss = TASK_SIGMOIDS,
                         .loss_name = "sigmoids",
                         .scores = TASK_OF_LABELS,
                         .best_by = METRIC_AUPRC},
};

static const struct task sigmoid = {.name = "binary",
                                    .loss = TASK_SIGMOID,
                                    .loss_name = "sigmoid",
                                    .scores = TASK_OF_CLASSES,
                                    .outputs = 1,
                                    .best_by = METRIC_AUC};

const struct task *task_of(const struct plan *p)
{
    const bool one = p->model.task == TASK_BINARY && p->model.binary_loss == BINARY_SIGMOID;

    return one ? &sigmoid : &rows[p->model.task];
}

uint32_t task_outputs(const struct plan *p)
{
    const uint32_t outputs = task_of(p)->outputs;

    return outputs > 0 ? outputs : p->shape.outputs;
}

uint32_t task_targets(const struct plan *p)
{
    return task_of(p)->scores == TASK_OF_LABELS ? p->shape.outputs : 1;
}

bool task_scales(const struct plan *p)
{
    return p->training.scale_targets && task_of(p)->scores == TASK_OF_VALUES;
}

bool task_has_metric(const struct task *t, enum plan_metric m)
{
    switch (m) {
    case METRIC_NONE: return false;
    case METRIC_LOSS: return true;
    case METRIC_ACCURACY:
    case METRIC_AUC:
    case METRIC_AUPRC:
    case METRIC_F1: return t->scores != TASK_OF_VALUES;
    case METRIC_R2:
    case METRIC_MAE:
    case METRIC_RMSE: return t->scores == TASK_OF_VALUES;
    case METRIC_AUC_MICRO:
    case METRIC_AUPRC_MICRO:
    case METRIC_F1_MICRO: return t->scores == TASK_OF_LABELS;
    }
    return false;
}
