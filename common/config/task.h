/* task.h -- what is known of a task from a plan alone: one row for each, which the head, the
 * scores, the rules of plans and the files of results ask instead of a name.
 *
 * A binary task has two rows: two outputs under softmax, or one under a sigmoid.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_TASK_H
#define COLONNADE_CONFIG_TASK_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* What the head's outputs are, and what they are compared with. */
enum task_loss {
    TASK_SOFTMAX,  /* a probability for each class, of which a row has one */
    TASK_SIGMOID,  /* the probability of class 1 of two */
    TASK_SIGMOIDS, /* a probability for each label, of which a row has any number */
    TASK_SQUARED   /* a value */
};

/* Which family of scores its predictions have. */
enum task_scores { TASK_OF_CLASSES, TASK_OF_VALUES, TASK_OF_LABELS };

struct task {
    const char *name; /* in plans */
    enum task_loss loss;
    const char *loss_name; /* in model packages */
    enum task_scores scores;
    uint32_t outputs;         /* of the head; 0: as many as there are classes, or labels */
    enum plan_metric best_by; /* by what one evaluation is better than another */
};

/* In the order of the enum, NULL at the end. */
extern const char *const task_names[PLAN_TASKS + 1];

const struct task *task_of(const struct plan *p);

/* Outputs of the head: the row's, or as many as the plan's shape says. */
uint32_t task_outputs(const struct plan *p);
/* Labels that a row has: as many as there are outputs under multilabel, else one. */
uint32_t task_targets(const struct plan *p);
/* training.scale_targets, which acts on values alone. */
bool task_scales(const struct plan *p);
/* Is it a score of such a task?  The loss is one of every task, METRIC_NONE of none. */
bool task_has_metric(const struct task *t, enum plan_metric m);

#endif
