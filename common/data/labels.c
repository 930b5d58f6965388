/* labels.c -- columns of a label file as they stand, checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/labels.h"

#include "common/base/mem.h"
#include "common/config/plan.h"
#include "common/data/intake.h"
#include "common/data/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS_MIN = 2 };

/* Columns that are asked for by name are all that is read. */
static enum status ask_for(struct schema *s, const struct labels_want *want, const char *path,
                           struct error *err)
{
    if (schema_init(s, want->n) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    for (size_t i = 0; i < want->n; i++) {
        struct schema_column *c = &s->column[i];

        for (size_t k = 0; k < i; k++)
            if (strcmp(want->column[k], want->column[i]) == 0)
                return error_set(err, STATUS_CONFIG, "labels.columns: \"%s\" stands there twice",
                                 want->column[i]);
        snprintf(c->name, sizeof c->name, "%s", want->column[i]);
        c->kind = SCHEMA_NUMBER;
    }
    return STATUS_OK;
}

static enum status check_columns(const struct labels *l, const char *path, struct error *err)
{
    const struct schema *s = &l->schema;

    if (s->n == 0)
        return error_set(err, STATUS_DATA,
                         "%s: several labels need columns with names, which IDX has not", path);
    if (s->n < LABELS_MIN || s->n > PLAN_CLASSES_MAX)
        return error_set(err, STATUS_DATA, "%s: %zu columns of labels, multilabel takes %d to %d",
                         path, s->n, (int)LABELS_MIN, (int)PLAN_CLASSES_MAX);
    for (size_t i = 0; i < s->n; i++)
        if (!text_is_name(s->column[i].name, strlen(s->column[i].name), LEVELS_TEXT_MAX))
            return error_set(err, STATUS_DATA, "%s: label column %zu: no name of printable text",
                             path, i + 1);
    return STATUS_OK;
}

static enum status check_values(const struct labels *l, const struct table *t, const char *path,
                                struct error *err)
{
    for (size_t i = 0; i < t->rows * t->cols; i++)
        if (!isnan(t->x[i]) && t->x[i] != 0 && t->x[i] != 1)
            return error_set(err, STATUS_DATA,
                             "%s: id \"%s\": label \"%s\" is neither 0 nor 1 nor missing", path,
                             table_own_id(t, i / t->cols), l->schema.column[i % t->cols].name);
    return STATUS_OK;
}

enum status labels_read(struct labels *l, struct table *t, const char *path,
                        const struct labels_want *want, struct error *err)
{
    const struct intake_want numbers = {.several = true,
                                        .group = want->group,
                                        .time = want->time,
                                        .places = want->places,
                                        .kind = SCHEMA_NUMBER,
                                        .limits = &INTAKE_LIMITS};
    enum status s = STATUS_OK;

    *t = (struct table){0};
    if (l->schema.n == 0 && want->n > 0)
        s = ask_for(&l->schema, want, path, err);
    if (s == STATUS_OK)
        s = intake_read(t, &l->schema, path, &numbers, err);
    if (s == STATUS_OK)
        s = check_columns(l, path, err);
    if (s == STATUS_OK)
        s = check_values(l, t, path, err);
    if (s != STATUS_OK)
        table_deinit(t);
    return s;
}

enum status labels_print(const struct labels *l, char **out)
{
    const struct schema *s = &l->schema;
    size_t used = 0;

    *out = mem_alloc(s->n, SOURCE_NAME_MAX + 1);
    if (*out == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < s->n; i++)
        used += (size_t)sprintf(*out + used, "%s\n", s->column[i].name);
    return STATUS_OK;
}

void labels_deinit(struct labels *l)
{
    schema_deinit(&l->schema);
}
