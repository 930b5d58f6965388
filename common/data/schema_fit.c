/* schema_fit.c -- counting, averaging, and the order of levels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema_fit.h"

#include "common/base/log.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows that decide. */
struct sample {
    const struct table *t;
    const uint32_t *row; /* NULL: the first ones */
    size_t rows;
};

static float cell(const struct sample *of, size_t i, size_t col)
{
    const size_t row = of->row != NULL ? of->row[i] : i;

    return of->t->x[row * of->t->cols + col];
}

/* --- levels --- */

/* intake.h has counted all rows that it has read. */
static void count_levels(struct schema_column *c, const struct sample *of, size_t col)
{
    for (uint32_t i = 0; i < c->levels.n; i++)
        c->levels.level[i].count = 0;
    c->free_text = 0;
    for (size_t i = 0; i < of->rows; i++) {
        const float x = cell(of, i, col);

        if (isnan(x))
            continue;
        if ((uint32_t)x < c->levels.n)
            c->levels.level[(uint32_t)x].count++;
        else
            c->free_text++;
    }
}

static uint32_t levels_seen(const struct levels *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n; i++)
        n += l->level[i].count > 0;
    return n;
}

static int by_count(const void *a, const void *b, void *of)
{
    const struct levels *l = of;
    const uint32_t *i = a, *j = b;
    const uint32_t x = l->level[*i].count, y = l->level[*j].count;

    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(levels_text(l, *i), levels_text(l, *j));
}

static int by_text(const void *a, const void *b, void *of)
{
    const uint32_t *i = a, *j = b;

    return strcmp(levels_text(of, *i), levels_text(of, *j));
}

/* The most frequent levels get a feature each, in the order of their texts, which is no row's. */
static enum status place_levels(struct schema_column *c)
{
    const uint32_t kept = c->embedded ? (uint32_t)LEVELS_MAX : (uint32_t)SCHEMA_LEVELS_KEPT;
    const uint32_t most = c->max_levels > 0 ? c->max_levels : kept;
    const uint32_t rows = c->min_rows > 0 ? c->min_rows : SCHEMA_LEVEL_ROWS;
    struct levels *l = &c->levels;
    uint32_t *order = mem_alloc(l->n, sizeof *order);

    c->place = mem_alloc(l->n, sizeof *c->place);
    if (order == NULL || c->place == NULL) {
        mem_free(order);
        return STATUS_MEMORY;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        order[i] = i;
        c->place[i] = LEVELS_NONE;
    }
    qsort_r(order, l->n, sizeof *order, by_count, l);
    c->kept = 0;
    while (c->kept < l->n && c->kept < most && l->level[order[c->kept]].count >= rows)
        c->kept++;
    qsort_r(order, c->kept, sizeof *order, by_text, l);
    for (uint32_t i = 0; i < c->kept; i++)
        c->place[order[i]] = i;
    c->other = c->kept < levels_seen(l) || c->free_text > 0;
    mem_free(order);
    return STATUS_OK;
}

/* Does it say who a row is, and not what? */
static bool differs_everywhere(const struct schema_column *c, size_t rows)
{
    return c->free_text > rows / 2 || (rows >= 64 && levels_seen(&c->levels) > rows / 2);
}

/* --- missing numbers --- */

/* *missing: how many there are.  NULL: no memory. */
static float *numbers_of(const struct sample *of, size_t col, size_t *n)
{
    float *x = mem_alloc(of->rows, sizeof *x);

    *n = 0;
    for (size_t i = 0; x != NULL && i < of->rows; i++) {
        const float v = cell(of, i, col);

        if (!isnan(v))
            x[(*n)++] = v;
    }
    return x;
}

static int by_size(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static float mean_of(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return n == 0 ? 0 : (float)(sum / (double)n);
}

static float median_of(float *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n == 0 ? 0 : (x[(n - 1) / 2] / 2 + x[n / 2] / 2);
}

/* Edges behind which equal shares of the values lie, each once; equal values are in one bin. */
static enum status fit_bins(struct schema_column *c, float *x, size_t n)
{
    const uint32_t wanted = c->bins;

    c->edge = mem_alloc(wanted, sizeof *c->edge);
    if (c->edge == NULL)
        return STATUS_MEMORY;
    qsort(x, n, sizeof *x, by_size);
    c->bins = 1;
    for (uint32_t i = 1; i < wanted && n > 0; i++) {
        const float edge = x[n * i / wanted];

        if (edge > (c->bins == 1 ? x[0] : c->edge[c->bins - 2]))
            c->edge[c->bins++ - 1] = edge;
    }
    c->cut = true;
    return STATUS_OK;
}

static enum status fit_number(struct schema_column *c, const struct sample *of, size_t col)
{
    const bool fill = !c->filled && (c->missing == MISSING_MEAN || c->missing == MISSING_MEDIAN);
    const bool bins = c->bins > 0 && !c->cut;
    enum status s = STATUS_OK;
    size_t n = 0;
    float *x;

    if (!fill && !bins)
        return STATUS_OK;
    x = numbers_of(of, col, &n);
    if (x == NULL)
        return STATUS_MEMORY;
    if (fill)
        c->fill = c->missing == MISSING_MEAN ? mean_of(x, n) : median_of(x, n);
    c->filled = c->filled || fill;
    if (bins)
        s = fit_bins(c, x, n);
    mem_free(x);
    return s;
}

static size_t count_missing(const struct sample *of, size_t col)
{
    size_t n = 0;

    for (size_t i = 0; i < of->rows; i++)
        n += isnan(cell(of, i, col)) != 0;
    return n;
}

static enum status fit_column(struct schema_column *c, const struct sample *of, size_t col,
                              bool written)
{
    const size_t missing = count_missing(of, col);
    enum status s;

    if (c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL)
        return STATUS_OK;
    if (c->kind == SCHEMA_AUTO || (!written && missing == of->rows)) {
        log_warn("column \"%s\": ignored, no training row has a value there", c->name);
        c->kind = SCHEMA_IGNORED;
        return STATUS_OK;
    }
    if (c->kind == SCHEMA_CATEGORY && c->open)
        count_levels(c, of, col);
    if (c->kind == SCHEMA_CATEGORY && c->open && differs_everywhere(c, of->rows)) {
        log_warn("column \"%s\": ignored, since nearly every row has another text there", c->name);
        c->kind = SCHEMA_IGNORED;
        return STATUS_OK;
    }
    if (!written)
        c->indicator = missing > 0;
    if (c->kind != SCHEMA_CATEGORY)
        s = fit_number(c, of, col);
    else
        s = c->open ? place_levels(c) : STATUS_OK;
    c->open = false;
    schema_settle_vector(c);
    if (s == STATUS_OK && schema_width(c) == 0) {
        log_warn("column \"%s\": ignored, no training row has a value there", c->name);
        c->kind = SCHEMA_IGNORED;
    }
    return s;
}

enum status schema_fit(struct schema *s, const struct table *t, const struct validate *left,
                       struct error *err)
{
    const struct sample of = {t, left != NULL ? left->from : NULL,
                              left != NULL ? left->left : t->rows};

    for (size_t i = 0; i < s->n; i++) {
        const enum status status = fit_column(&s->column[i], &of, i, s->written);

        if (status != STATUS_OK)
            return error_set(err, status, "column \"%s\": %s", s->column[i].name,
                             status_words(status));
    }
    return schema_check_vectors(s, err);
}

/* A category without levels: whatever stands there is another one. */
static void make_constant(struct schema_column *c)
{
    levels_deinit(&c->levels);
    mem_free(c->place);
    mem_free(c->edge);
    c->place = NULL;
    c->edge = NULL;
    c->kind = SCHEMA_CATEGORY;
    c->open = c->embedded = c->indicator = c->clipped = c->log = c->cut = c->filled = false;
    c->kept = c->bins = c->parts = c->min_rows = c->max_levels = c->vector = 0;
    c->missing = MISSING_MEAN; /* as of any category: a gap is nothing */
    c->other = true;
}

enum status schema_fit_some(struct schema *s, const struct table *t, const struct validate *left,
                            struct error *err)
{
    size_t first = 0, features = 0;
    enum status status;

    while (first < s->n &&
           (s->column[first].kind == SCHEMA_IGNORED || s->column[first].kind == SCHEMA_LABEL))
        first++;
    status = schema_fit(s, t, left, err);
    for (size_t i = 0; i < s->n; i++)
        features += schema_width(&s->column[i]);
    if (status == STATUS_OK && features == 0 && first < s->n)
        make_constant(&s->column[first]);
    return status;
}
