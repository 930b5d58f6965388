/* targets.c -- label files to targets.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/targets.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/task.h"
#include "common/metrics/score.h"

#include <math.h>
#include <string.h>

/* --- label files --- */

/* The table's own numbers, whatever they are. */
static enum status take_values(float **target, const struct table *t, const char *path,
                               struct error *err)
{
    *target = mem_alloc(t->rows * t->cols, sizeof **target);
    if (*target == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %zu labels", path, t->rows);
    memcpy(*target, t->x, t->rows * t->cols * sizeof **target);
    return STATUS_OK;
}

/* Of one of the two files of c. */
static const struct places *places_of(const struct server_targets *to,
                                      const struct config_server *c, const char *path)
{
    return placed_places(path == c->labels_train ? &to->placed.train : &to->placed.test);
}

static enum status read_several(struct server_targets *to, struct config_server *c,
                                const char *path, struct table *t, struct error *err)
{
    const char *column[CONFIG_LIST_MAX];
    struct labels_want want = {
        .column = column,
        .n = c->labels_columns.n,
        .group = c->labels_group[0] != 0 ? c->labels_group : NULL,
        .time = c->labels_time[0] != 0 ? c->labels_time : NULL,
        .places = places_of(to, c, path),
    };
    enum status s;

    for (size_t i = 0; i < want.n; i++)
        column[i] = c->labels_columns.name[i];
    s = labels_read(&to->labels, t, path, &want, err);
    if (s != STATUS_OK)
        return s;
    to->several = true;
    to->width = c->plan.shape.outputs = (uint32_t)t->cols;
    return STATUS_OK;
}

static enum status check_classes(struct plan *p, const struct table *t, const char *path,
                                 struct error *err)
{
    const uint32_t most = p->model.task == TASK_BINARY ? 2 : PLAN_CLASSES_MAX;
    int32_t *label = mem_alloc(t->rows, sizeof *label);
    uint32_t classes = 0;
    enum status s;

    if (label == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %zu labels", path, t->rows);
    s = table_classes(t, label, &classes, most, path, err);
    mem_free(label);
    if (s == STATUS_OK && classes > p->shape.outputs)
        p->shape.outputs = classes;
    return s;
}

/* One label of each row: classes, or values under task regression. */
static enum status read_one(struct server_targets *to, struct config_server *c, const char *path,
                            struct table *t, struct error *err)
{
    const bool values = task_of(&c->plan)->scores == TASK_OF_VALUES;
    const struct classes_want want = {
        .positive = c->labels_positive,
        .group = c->labels_group[0] != 0 ? c->labels_group : NULL,
        .time = c->labels_time[0] != 0 ? c->labels_time : NULL,
        .places = places_of(to, c, path),
    };
    enum status s = classes_read(&to->classes, t, path, &want, err);

    if (s != STATUS_OK)
        return s;
    if (to->classes.n > 0 && values)
        return error_set(err, STATUS_DATA,
                         "%s: labels are texts, model.task regression needs numbers", path);
    to->width = 1;
    if (!values)
        return check_classes(&c->plan, t, path, err);
    c->plan.shape.outputs = 1;
    return STATUS_OK;
}

static enum status read_file(struct server_targets *to, struct config_server *c, const char *path,
                             struct table *t, float **target, struct error *err)
{
    const struct group_from from = {
        .path = path, .places = places_of(to, c, path), .column = c->labels_group};
    enum status s = task_of(&c->plan)->scores == TASK_OF_LABELS ? read_several(to, c, path, t, err)
                                                                : read_one(to, c, path, t, err);

    if (s == STATUS_OK)
        s = take_values(target, t, path, err);
    if (s == STATUS_OK && c->labels_group[0] != 0)
        s = group_read(&to->group, &from, t, err);
    return s;
}

/* --- rows to choose by, which are none to train on --- */

static enum status split(struct server_targets *t, const struct config_server *c,
                         struct table *train, struct table *test, struct error *err)
{
    const struct group_from from = {.path = c->labels_train,
                                    .places = placed_places(&t->placed.train),
                                    .column = c->labels_time};
    const struct plan *p = &c->plan;
    uint32_t *place = NULL;
    struct validate_rule rule = {
        .share = p->data.validate, .by = p->data.validate_by, .group = &t->group};
    enum status s = STATUS_OK;

    if (rule.by == VALIDATE_TIME)
        s = group_places(&place, &from, train, err);
    rule.place = place;
    if (s == STATUS_OK)
        s = validate_split(&t->validate, train, test, &rule, err);
    mem_free(place);
    return s;
}

static enum status keep_back(struct server_targets *t, struct config_server *c, struct table *train,
                             struct table *test, struct error *err)
{
    const size_t row = t->width * sizeof(float);
    struct validate *v = &t->validate;
    float *left, *held;
    enum status s;

    /* They may be of images, whose labels stand in a table as a rule (vfl split).  Whether they are
     * is seen by every party, which refuses this where its rows have names. */
    train->counted = table_counts(train);
    test->counted = table_counts(test);
    s = split(t, c, train, test, err);
    if (s != STATUS_OK)
        return s;
    left = mem_alloc(v->left, row);
    held = mem_alloc(v->held, row);
    if (left == NULL || held == NULL) {
        mem_free(left);
        mem_free(held);
        return error_set(err, STATUS_MEMORY, "data.validate: no memory for %zu labels",
                         v->left + v->held);
    }
    for (size_t i = 0; i < v->left + v->held; i++)
        memcpy(i < v->left ? left + i * t->width : held + (i - v->left) * t->width,
               v->from[i] < v->train ? t->train + (size_t)v->from[i] * t->width
                                     : t->test + (v->from[i] - v->train) * t->width,
               row);
    mem_free(t->train);
    mem_free(t->test);
    t->train = left;
    t->test = held;
    c->plan.shape.validate_rows = (uint32_t)(v->train - v->left);
    return STATUS_OK;
}

enum status server_targets_read(struct server_targets *t, struct config_server *c,
                                struct table *train, struct table *test, struct error *err)
{
    enum status s = read_file(t, c, c->labels_train, train, &t->train, err);

    if (s == STATUS_OK && c->labels_test[0] != 0)
        s = read_file(t, c, c->labels_test, test, &t->test, err);
    if (s == STATUS_OK) {
        placed_show(&t->placed.train, train, c->labels_train);
        placed_show(&t->placed.test, test, c->labels_test);
    }
    if (s == STATUS_OK && c->plan.data.validate > 0)
        s = keep_back(t, c, train, test, err);
    return s;
}

/* By what the rows kept back decide, and the key that says so; METRIC_NONE: nothing. */
static enum plan_metric decides(const struct plan *p, const char **key)
{
    *key = p->training.patience > 0 ? "training.best_by" : "training.stop.metric";
    if (p->training.patience > 0)
        return plan_best_by(p);
    return p->training.stop.split == SPLIT_VALIDATE ? p->training.stop.metric : METRIC_NONE;
}

/* Scores that are not there where all labels are the same, or do not depend on the model. */
static bool needs_two_labels(enum plan_metric m)
{
    return m == METRIC_AUC || m == METRIC_AUPRC || m == METRIC_F1 || m == METRIC_R2 ||
           m == METRIC_AUC_MICRO || m == METRIC_AUPRC_MICRO || m == METRIC_F1_MICRO;
}

/* Of label k, in the rows kept back. */
static bool has_two(const struct server_targets *t, uint32_t k)
{
    const struct validate *v = &t->validate;
    const float *first = NULL;

    for (size_t i = 0; i < v->held; i++) {
        const float *label = &t->test[i * t->width + k];

        if (!validate_row(v, i) || isnan(*label))
            continue;
        if (first != NULL && *label != *first)
            return true;
        first = label;
    }
    return false;
}

enum status server_targets_check(const struct server_targets *t, const struct plan *p,
                                 struct error *err)
{
    const char *key;
    const enum plan_metric m = decides(p, &key);

    if (t->validate.from == NULL || !needs_two_labels(m))
        return STATUS_OK;
    for (uint32_t k = 0; k < t->width; k++)
        if (has_two(t, k))
            return STATUS_OK;
    return error_set(err, STATUS_DATA,
                     "%s: %s needs rows of two labels, and of the %u that data.validate keeps back "
                     "all have the same: keep back more, or go by loss",
                     key, score_names[m - METRIC_FIRST], p->shape.validate_rows);
}

void server_targets_deinit(struct server_targets *t)
{
    validate_deinit(&t->validate);
    placed_close_pair(&t->placed);
    group_deinit(&t->group);
    classes_deinit(&t->classes);
    labels_deinit(&t->labels);
    mem_free(t->train);
    mem_free(t->test);
    *t = (struct server_targets){0};
}

/* --- for people --- */

enum status server_targets_names(const struct server_targets *t, char **out)
{
    return t->several ? labels_print(&t->labels, out) : classes_print(&t->classes, out);
}

void server_targets_show(const struct server_targets *t)
{
    char name[512];

    for (uint32_t k = 0; k < t->classes.n; k++) {
        classes_name(&t->classes, k, name, sizeof name);
        log_info("labels: class %u is %s", k, name);
    }
    for (size_t k = 0; k < t->labels.schema.n; k++)
        log_info("labels: score_%zu is \"%s\"", k, t->labels.schema.column[k].name);
}

enum status server_targets_print(const struct server_targets *t, struct buf *out)
{
    char name[512];
    enum status s = STATUS_OK;

    for (uint32_t k = 0; s == STATUS_OK && k < t->classes.n; k++) {
        classes_name(&t->classes, k, name, sizeof name);
        s = buf_printf(out, "# class %u is %s\n", k, name);
    }
    for (size_t k = 0; s == STATUS_OK && k < t->labels.schema.n; k++)
        s = buf_printf(out, "# label %zu is \"%s\"\n", k, t->labels.schema.column[k].name);
    return s;
}

struct verdict_labels server_targets_count(const struct server_targets *t, const float *of,
                                           size_t n)
{
    return t->several ? verdict_count_labels(of, n, t->width) : verdict_count(of, n);
}
