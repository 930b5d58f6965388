/* classes.c -- the map from texts to classes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/classes.h"

#include "common/base/mem.h"
#include "common/config/plan.h"
#include "common/data/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b, void *of)
{
    const uint32_t *i = a, *j = b;

    return strcmp(levels_text(of, *i), levels_text(of, *j));
}

static enum status make_classes(struct classes *c, const char *path, const char *positive,
                                struct error *err)
{
    struct levels *l = &c->schema.column[0].levels;
    const bool one = positive != NULL && positive[0] != 0;
    uint32_t *order = mem_alloc(l->n, sizeof *order), found = LEVELS_NONE;

    c->of = mem_alloc(l->n, sizeof *c->of);
    if (order == NULL || c->of == NULL) {
        mem_free(order);
        return error_set(err, STATUS_MEMORY, "%s: %s", path, status_words(STATUS_MEMORY));
    }
    for (uint32_t i = 0; i < l->n; i++)
        order[i] = i;
    qsort_r(order, l->n, sizeof *order, by_text, l);
    for (uint32_t i = 0; i < l->n; i++)
        c->of[order[i]] = i;
    mem_free(order);
    c->schema.column[0].open = false;
    c->n = l->n;
    if (one) {
        found = levels_find(l, positive, strlen(positive));
        for (uint32_t i = 0; i < l->n; i++)
            c->of[i] = i == found;
        c->n = 2;
    }
    if (one && found == LEVELS_NONE)
        return error_set(err, STATUS_DATA, "%s: no row has the positive label \"%.64s\"", path,
                         positive);
    if (l->n < 2)
        return error_set(err, STATUS_DATA, "%s: every row has the same label", path);
    if (c->n > PLAN_CLASSES_MAX)
        return error_set(err, STATUS_DATA, "%s: %u different labels, at most %d", path, c->n,
                         PLAN_CLASSES_MAX);
    return STATUS_OK;
}

enum status classes_read(struct classes *c, struct table *t, const char *path,
                         const struct classes_want *as, struct error *err)
{
    const bool first = c->schema.n == 0;
    const char *positive = as->positive;
    const struct intake_want want = {.labels = true,
                                     .group = as->group,
                                     .time = as->time,
                                     .places = as->places,
                                     .kind = positive != NULL && positive[0] != 0 ? SCHEMA_CATEGORY
                                                                                  : SCHEMA_AUTO,
                                     .complete = true,
                                     .limits = &INTAKE_LIMITS};
    enum status s = intake_read(t, &c->schema, path, &want, err);

    if (s != STATUS_OK || c->schema.n == 0)
        return s;
    if (c->schema.column[0].kind == SCHEMA_TIME)
        s = error_set(err, STATUS_DATA, "%s: column \"label\": times are no labels", path);
    if (s == STATUS_OK && first && c->schema.column[0].kind == SCHEMA_CATEGORY)
        s = make_classes(c, path, positive, err);
    for (size_t i = 0; s == STATUS_OK && c->n > 0 && i < t->rows; i++) {
        if ((uint32_t)t->x[i] < c->schema.column[0].levels.n)
            t->x[i] = (float)c->of[(uint32_t)t->x[i]];
        else
            s = error_set(err, STATUS_DATA, "%s: id \"%s\": a label that no training row has", path,
                          table_own_id(t, i));
    }
    if (s != STATUS_OK)
        table_deinit(t);
    return s;
}

void classes_name(const struct classes *c, uint32_t k, char *out, size_t n)
{
    const struct levels *l = &c->schema.column[0].levels;
    size_t used = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < l->n && used < n; i++)
        if (c->of[i] == k)
            used += (size_t)snprintf(out + used, n - used, "%s\"%s\"", used == 0 ? "" : ", ",
                                     levels_text(l, i));
}

enum status classes_print(const struct classes *c, char **out)
{
    const struct levels *l = c->n > 0 ? &c->schema.column[0].levels : NULL;
    size_t used = 0;

    *out = NULL;
    if (c->n == 0)
        return STATUS_OK;
    *out = mem_alloc(c->n, LEVELS_TEXT_MAX + 2);
    if (*out == NULL)
        return STATUS_MEMORY;
    for (uint32_t k = 0; k < c->n; k++) {
        const char *name = NULL;

        for (uint32_t i = 0; i < l->n; i++)
            if (c->of[i] == k)
                name = name == NULL ? levels_text(l, i) : "other";
        used += (size_t)sprintf(*out + used, "%s\n", name);
    }
    return STATUS_OK;
}

void classes_deinit(struct classes *c)
{
    schema_deinit(&c->schema);
    mem_free(c->of);
    *c = (struct classes){0};
}
