/* answers.c -- both tables, checked against each other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/contribution/answers.h"

#include "common/config/task.h"
#include "deploy/tools/report/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char *text, float *out)
{
    char *end;

    *out = strtof(text, &end);
    return end != text && *end == 0 && isfinite(*out);
}

static enum status bad(const struct sheet *s, size_t row, const char *what, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s:%zu: %s", s->path, s->line[row], what);
}

/* --- what was asked --- */

/* The last question names everybody, in the roster's order. */
static bool read_names(struct answers_table *t, const char *all)
{
    for (const char *at = all; *at != 0;) {
        const size_t n = strcspn(at, "+");

        if (n == 0 || t->parties == PLAN_PARTIES_MAX)
            return false;
        t->name[t->parties++] = pool_text(&t->pool, "%.*s", (int)n, at);
        at += n + (at[n] == '+');
    }
    return t->parties > 0;
}

static bool find_name(const struct answers_table *t, const char *at, size_t n, uint32_t *party)
{
    for (*party = 0; *party < t->parties; ++*party)
        if (strlen(t->name[*party]) == n && memcmp(t->name[*party], at, n) == 0)
            return true;
    return false;
}

static bool read_asked(const struct answers_table *t, struct answered *a)
{
    const char *at = a->asked;
    const size_t whole = strcspn(at, ":");
    uint32_t party;

    if (at[whole] == ':') {
        a->what.mixes = true;
        a->what.column = (uint32_t)strtoul(at + whole + 1, NULL, 10) - 1;
        return find_name(t, at, whole, &a->what.party) && a->what.column < CONTRIBUTION_COLUMNS_MAX;
    }
    while (*at != 0) {
        const size_t n = strcspn(at, "+");

        if (!find_name(t, at, n, &party))
            return false;
        coalition_remove(&a->what.of, party);
        at += n + (at[n] == '+');
    }
    return true;
}

/* --- answers --- */

static enum status read_scores(struct answers_table *t, const struct sheet *s, size_t first,
                               struct answered *a, struct error *err)
{
    float *prob = pool_alloc(&t->pool, t->rows, t->columns * sizeof *prob);

    for (size_t i = 0; i < t->rows; i++) {
        if (strcmp(sheet_text(s, first + i, 0), a->asked) != 0 ||
            strcmp(sheet_text(s, first + i, 1), t->id[i]) != 0)
            return bad(s, first + i, "not the rows of the question before", err);
        for (uint32_t c = 0; c < t->columns; c++)
            if (!read_number(sheet_text(s, first + i, 2 + c), &prob[i * t->columns + c]))
                return bad(s, first + i, "a score is no number", err);
    }
    a->prob = prob;
    return STATUS_OK;
}

static enum status read_answers(struct answers_table *t, const char *path, struct error *err)
{
    struct sheet s;
    enum status st = sheet_read(&s, &t->pool, path, err);

    if (st != STATUS_OK)
        return st;
    if (s.cols < 3 || strcmp(s.name[0], "asked") != 0 || strcmp(s.name[1], "id") != 0)
        return error_set(err, STATUS_DATA, "%s: its columns are not asked,id,score...", path);
    t->columns = (uint32_t)(s.cols - 2);
    t->kind = strcmp(s.name[2], "score") == 0 ? SCORE_OF_VALUES : SCORE_OF_CLASSES;
    while (t->rows < s.rows && strcmp(sheet_text(&s, t->rows, 0), "") == 0)
        t->rows++;
    t->n = t->rows > 0 ? s.rows / t->rows : 0;
    if (t->n < 2 || t->n * t->rows != s.rows || !read_names(t, sheet_text(&s, s.rows - 1, 0)))
        return error_set(err, STATUS_DATA, "%s: not the answers of a job of contributions", path);
    t->id = pool_alloc(&t->pool, t->rows, sizeof *t->id);
    t->of = pool_alloc(&t->pool, t->n, sizeof *t->of);
    for (size_t i = 0; i < t->rows; i++)
        t->id[i] = sheet_text(&s, i, 1);
    for (size_t k = 0; st == STATUS_OK && k < t->n; k++) {
        t->of[k].asked = sheet_text(&s, k * t->rows, 0);
        if (!read_asked(t, &t->of[k]))
            return bad(&s, k * t->rows, "asked of parties that the last question does not name",
                       err);
        st = read_scores(t, &s, k * t->rows, &t->of[k], err);
    }
    return st;
}

/* --- labels --- */

/* A text is one of the model's classes, or what it calls `other`. */
static bool read_class(const struct answers_table *t, const struct package *m, const char *text,
                       float *out)
{
    char name[LEVELS_TEXT_MAX + 1];
    bool found = false;

    if (m == NULL || m->classes == NULL)
        return read_number(text, out) && *out >= 0 && *out < (float)t->columns &&
               *out == floorf(*out);
    for (uint32_t k = 0; k < t->columns; k++) {
        package_class(m, k, name, sizeof name);
        if (strcmp(name, text) == 0 || (!found && strcmp(name, "other") == 0)) {
            *out = (float)k;
            found = true;
        }
        if (strcmp(name, text) == 0)
            break;
    }
    return found;
}

static bool read_label(const struct answers_table *t, const struct package *m, const char *text,
                       float *out)
{
    switch (t->kind) {
    case SCORE_OF_CLASSES: return read_class(t, m, text, out);
    case SCORE_OF_VALUES: return read_number(text, out);
    case SCORE_OF_LABELS: break;
    }
    if (read_number(text, out))
        return *out == 0 || *out == 1;
    *out = NAN;
    return true; /* it is not known */
}

/* Which columns of the file are the labels, in the order of the scores. */
static enum status find_labels(const struct answers_table *t, const struct package *m,
                               const struct sheet *s, size_t *column, struct error *err)
{
    char name[LEVELS_TEXT_MAX + 1];

    if (t->kind != SCORE_OF_LABELS)
        return sheet_need(s, &column[0], "label", err);
    for (uint32_t k = 0; k < t->targets; k++) {
        enum status st;

        package_class(m, k, name, sizeof name);
        st = sheet_need(s, &column[k], name, err);
        if (st != STATUS_OK)
            return st;
    }
    return STATUS_OK;
}

static int by_id(const void *a, const void *b, void *of)
{
    const struct sheet *s = of;

    return strcmp(sheet_text(s, *(const size_t *)a, 0), sheet_text(s, *(const size_t *)b, 0));
}

static const size_t *find_row(const struct sheet *s, const size_t *order, const char *id)
{
    size_t from = 0, to = s->rows;

    while (from < to) {
        const size_t at = from + (to - from) / 2;
        const int way = strcmp(id, sheet_text(s, order[at], 0));

        if (way == 0)
            return &order[at];
        if (way < 0)
            to = at;
        else
            from = at + 1;
    }
    return NULL;
}

static enum status read_labels(struct answers_table *t, const char *path, const struct package *m,
                               struct error *err)
{
    struct sheet s;
    enum status st = sheet_read(&s, &t->pool, path, err);
    size_t *order, *column;
    float *target;

    t->targets = t->kind == SCORE_OF_LABELS ? t->columns : 1;
    column = pool_alloc(&t->pool, t->targets, sizeof *column);
    target = pool_alloc(&t->pool, t->rows, t->targets * sizeof *target);
    t->target = target;
    if (st == STATUS_OK && strcmp(s.name[0], "id") != 0)
        st = error_set(err, STATUS_DATA, "%s: its first column is not id", path);
    if (st == STATUS_OK)
        st = find_labels(t, m, &s, column, err);
    if (st != STATUS_OK)
        return st;
    order = pool_alloc(&t->pool, s.rows + 1, sizeof *order);
    for (size_t i = 0; i < s.rows; i++)
        order[i] = i;
    qsort_r(order, s.rows, sizeof *order, by_id, &s);
    for (size_t i = 0; i < t->rows; i++) {
        const size_t *row = find_row(&s, order, t->id[i]);

        if (row == NULL)
            return error_set(err, STATUS_DATA, "%s: no label of a row that was asked for: \"%s\"",
                             path, t->id[i]);
        for (uint32_t k = 0; k < t->targets; k++)
            if (!read_label(t, m, sheet_text(&s, *row, column[k]), &target[i * t->targets + k]))
                return bad(&s, *row, "its label is none that the model knows", err);
    }
    return STATUS_OK;
}

enum status answers_table_read(struct answers_table *t, const char *answers, const char *labels,
                               const struct package *model, struct error *err)
{
    enum status s = read_answers(t, answers, err);

    if (s != STATUS_OK)
        return s;
    if (model != NULL && task_of(&model->plan)->scores == TASK_OF_LABELS)
        t->kind = SCORE_OF_LABELS;
    return read_labels(t, labels, model, err);
}
