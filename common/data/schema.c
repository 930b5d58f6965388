/* schema.c -- features out of cells as they were read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/schema.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/when.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const schema_kinds[] = {"auto", "number",  "category", "ordered",
                                    "time", "ignored", "label",    NULL};
const char *const schema_missings[] = {"mean", "median", "constant", "refused", "own", NULL};
const char *const schema_parts[] = {"days", "year", "month", "day", "weekday", "hour", NULL};

enum status schema_init(struct schema *s, size_t n)
{
    *s = (struct schema){0};
    s->column = mem_alloc(n, sizeof *s->column);
    s->n = s->column != NULL ? n : 0;
    return s->column != NULL ? STATUS_OK : STATUS_MEMORY;
}

enum status schema_place_all(struct schema_column *c)
{
    c->place = mem_alloc(c->levels.n, sizeof *c->place);
    if (c->place == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < c->levels.n; i++)
        c->place[i] = i;
    c->kept = c->levels.n;
    return STATUS_OK;
}

void schema_deinit(struct schema *s)
{
    for (size_t i = 0; i < s->n; i++) {
        levels_deinit(&s->column[i].levels);
        mem_free(s->column[i].place);
        mem_free(s->column[i].edge);
    }
    mem_free(s->column);
    *s = (struct schema){0};
}

bool schema_is_missing(const char *text, size_t n)
{
    static const char *const words[] = {"?", "NA", "N/A", "NaN", "nan", "null", "NULL", "#N/A"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (n == strlen(words[i]) && memcmp(text, words[i], n) == 0)
            return true;
    return n == 0;
}

bool schema_is_open(const struct schema_column *c)
{
    return c->open || (c->bins > 0 && !c->cut);
}

/* Features of a number or time, its indicator aside. */
static size_t values_of(const struct schema_column *c)
{
    size_t n = 0;

    if (c->bins > 0)
        return c->bins;
    for (uint32_t left = c->parts; left != 0; left &= left - 1)
        n++;
    return n > 0 ? n : 1;
}

size_t schema_levels(const struct schema_column *c)
{
    return (size_t)c->kept + c->other + c->indicator;
}

size_t schema_width(const struct schema_column *c)
{
    switch (c->kind) {
    case SCHEMA_CATEGORY: return c->embedded ? schema_levels(c) > 0 : schema_levels(c);
    case SCHEMA_LABEL:
    case SCHEMA_IGNORED: return 0;
    case SCHEMA_AUTO: /* nothing but missing cells */
    case SCHEMA_NUMBER:
    case SCHEMA_ORDERED:
    case SCHEMA_TIME: return values_of(c) + c->indicator;
    }
    CHECK(false);
}

void schema_settle_vector(struct schema_column *c)
{
    const size_t levels = schema_levels(c);
    size_t n = 1;

    while (n < SCHEMA_VECTOR_MAX && n * n * n * n < 16 * levels)
        n++;
    if (c->embedded && c->vector == 0)
        c->vector = (uint32_t)n;
}

bool schema_is_embedded(const struct schema_column *c)
{
    return c->kind == SCHEMA_CATEGORY && c->embedded && schema_width(c) > 0;
}

enum status schema_check_vectors(const struct schema *s, struct error *err)
{
    size_t columns = 0, values = 0;

    for (size_t i = 0; i < s->n; i++)
        if (schema_is_embedded(&s->column[i])) {
            columns++;
            values += schema_levels(&s->column[i]) * s->column[i].vector;
            if (columns > SCHEMA_EMBEDDED_MAX || values > SCHEMA_VECTORS_MAX)
                return error_set(err, STATUS_CONFIG,
                                 "encode: embedding: at most %d columns, and %d values in all "
                                 "their vectors (levels times width)",
                                 SCHEMA_EMBEDDED_MAX, SCHEMA_VECTORS_MAX);
        }
    return STATUS_OK;
}

static size_t next_embedded(const struct schema *s, size_t i)
{
    while (i < s->n && !schema_is_embedded(&s->column[i]))
        i++;
    return i;
}

/* By place; columns of as many levels. */
static bool same_levels(const struct schema_column *a, const struct schema_column *b)
{
    for (uint32_t i = 0; i < a->levels.n; i++) {
        const char *text = levels_text(&a->levels, i);
        const uint32_t at =
            a->place[i] == LEVELS_NONE ? LEVELS_NONE : levels_find(&b->levels, text, strlen(text));

        if (a->place[i] != LEVELS_NONE && (at == LEVELS_NONE || b->place[at] != a->place[i]))
            return false;
    }
    return true;
}

bool schema_embeds_as(const struct schema *a, const struct schema *b)
{
    size_t i = next_embedded(a, 0), j = next_embedded(b, 0);

    for (; i < a->n && j < b->n; i = next_embedded(a, i + 1), j = next_embedded(b, j + 1)) {
        const struct schema_column *x = &a->column[i], *y = &b->column[j];

        if (strcmp(x->name, y->name) != 0 || x->kept != y->kept || x->other != y->other ||
            x->indicator != y->indicator || x->vector != y->vector || !same_levels(x, y))
            return false;
    }
    return i == a->n && j == b->n;
}

bool schema_is_value(const struct schema_column *c)
{
    return c->kind != SCHEMA_CATEGORY && c->bins == 0 && schema_width(c) > 0;
}

/* Is a table of these columns what it is already? */
static bool is_plain(const struct schema *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->column[i].kind == SCHEMA_CATEGORY || schema_width(&s->column[i]) != 1 ||
            s->column[i].clipped || s->column[i].log || s->column[i].bins > 0 ||
            s->column[i].parts > 0)
            return false;
    return true;
}

/* `first`, the sign and `second` as a name; what is too long is cut off between characters. */
static void put_name(char out[TABLE_NAME_MAX], const char *first, const char *second)
{
    const size_t room[2] = {strlen(second) < 60 ? TABLE_NAME_MAX - 1 - strlen(second) : 66, 60};
    const char *part[2] = {first, second};
    size_t used = 0;

    for (int i = 0; i < 2; i++) {
        size_t n = strnlen(part[i], room[i]);

        while (part[i][n] != 0 && ((unsigned char)part[i][n] & 0xc0) == 0x80)
            n--;
        memcpy(out + used, part[i], n);
        used += n;
    }
    out[used] = 0;
}

/* name<edge, name[edge,edge), name>=edge. */
static void put_bins(char *out, const struct schema_column *c)
{
    char text[64];

    for (uint32_t i = 0; i < c->bins; i++) {
        if (c->bins == 1)
            strcpy(text, "=any");
        else if (i == 0)
            snprintf(text, sizeof text, "<%.9g", (double)c->edge[0]);
        else if (i + 1 == c->bins)
            snprintf(text, sizeof text, ">=%.9g", (double)c->edge[i - 1]);
        else
            snprintf(text, sizeof text, "[%.9g;%.9g)", (double)c->edge[i - 1], (double)c->edge[i]);
        put_name(out + i * (size_t)TABLE_NAME_MAX, c->name, text);
    }
}

/* name.part */
static void put_parts(char *out, const struct schema_column *c)
{
    char text[16];

    for (size_t i = 0; schema_parts[i] != NULL; i++)
        if ((c->parts >> i & 1) != 0) {
            snprintf(text, sizeof text, ".%s", schema_parts[i]);
            put_name(out, c->name, text);
            out += TABLE_NAME_MAX;
        }
}

/* name=level, name=other, name?. */
static void put_names(char *out, const struct schema_column *c)
{
    const size_t width = schema_width(c);
    char level[LEVELS_TEXT_MAX + 2];

    if (c->kind == SCHEMA_CATEGORY && c->embedded) {
        if (width > 0)
            memcpy(out, c->name, TABLE_NAME_MAX);
        return;
    }
    if (c->kind == SCHEMA_CATEGORY) {
        for (uint32_t i = 0; i < c->levels.n; i++) {
            snprintf(level, sizeof level, "=%s", levels_text(&c->levels, i));
            if (c->place[i] != LEVELS_NONE)
                put_name(out + c->place[i] * (size_t)TABLE_NAME_MAX, c->name, level);
        }
        if (c->other)
            put_name(out + (size_t)c->kept * TABLE_NAME_MAX, c->name, "=other");
    } else if (c->bins > 0) {
        put_bins(out, c);
    } else if (c->parts > 0) {
        put_parts(out, c);
    } else if (width > 0) {
        memcpy(out, c->name, TABLE_NAME_MAX);
    }
    if (c->indicator)
        put_name(out + (width - 1) * TABLE_NAME_MAX, c->name, "?");
}

float schema_transform(const struct schema_column *c, float x)
{
    if (c->clipped)
        x = fminf(fmaxf(x, c->low), c->high);
    return c->log ? copysignf(log1pf(fabsf(x)), x) : x;
}

/* Of a number, or what stands in for it. */
static void put_value(float *out, const struct schema_column *c, float x)
{
    struct when_parts of;
    uint32_t bin = 0;

    x = schema_transform(c, x);
    if (c->bins > 0) {
        while (bin + 1 < c->bins && x >= c->edge[bin])
            bin++;
        out[bin] = 1;
    } else if (c->parts > 0) {
        when_take_apart(&of, x);
        for (size_t i = 0; i < WHEN_PARTS; i++)
            if ((c->parts >> i & 1) != 0)
                *out++ = of.part[i];
    } else {
        out[0] = x;
    }
}

/* Which feature of a category is 1; LEVELS_NONE: none. */
static uint32_t place_of(const struct schema_column *c, float x, size_t *unseen)
{
    uint32_t level, place;

    if (isnan(x))
        return c->indicator ? c->kept + c->other : LEVELS_NONE;
    if (c->levels.n == 0) /* whatever stands there, also what was read as a number */
        return c->other ? c->kept : LEVELS_NONE;
    level = (uint32_t)x;
    place = level < c->levels.n ? c->place[level] : LEVELS_NONE;
    *unseen += level == c->levels.n || (level < c->levels.n && c->levels.level[level].count == 0);
    return place == LEVELS_NONE && c->other ? c->kept : place;
}

/* One cell's features; out is zeroed. */
static void put(float *out, const struct schema_column *c, float x, size_t *unseen, size_t *filled)
{
    const bool missing = isnan(x);

    if (missing && !c->indicator)
        ++*filled;
    if (c->kind == SCHEMA_CATEGORY) {
        const uint32_t place = place_of(c, x, unseen);

        if (place != LEVELS_NONE && c->embedded)
            out[0] = (float)place + 1;
        else if (place != LEVELS_NONE)
            out[place] = 1;
        return;
    }
    if (c->indicator)
        out[schema_width(c) - 1] = missing ? 1 : 0;
    if (!missing || c->missing != MISSING_OWN)
        put_value(out, c, missing ? c->fill : x);
}

static void fill_in_place(const struct schema *s, struct table *t, size_t *filled)
{
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->cols; j++) {
            float *x = &t->x[i * t->cols + j];

            if (isnan(*x)) {
                *x = s->column[j].fill;
                ++*filled;
            }
        }
}

/* `out` has zeros. */
static void put_row(float *out, const struct schema *s, const float *cells, size_t counts[2])
{
    for (size_t j = 0; j < s->n; j++) {
        const size_t width = schema_width(&s->column[j]);

        if (width > 0)
            put(out, &s->column[j], cells[j], &counts[0], &counts[1]);
        out += width;
    }
}

/* In place, from the end where rows become wider and from the start where they do not, so that no
 * row is written on one that is still to be read.  cells: room for one. */
static void put_rows(float *x, size_t cols, const struct schema *s, const struct table *t,
                     float *cells, size_t counts[2])
{
    for (size_t k = 0; k < t->rows; k++) {
        const size_t i = cols > t->cols ? t->rows - 1 - k : k;

        memcpy(cells, x + i * t->cols, t->cols * sizeof *cells);
        memset(x + i * cols, 0, cols * sizeof *x);
        put_row(x + i * cols, s, cells, counts);
    }
}

static enum status widen(const struct schema *s, struct table *t, size_t counts[2],
                         struct error *err)
{
    size_t cols = 0;
    float *cells;
    char *names;
    enum status status = STATUS_MEMORY;

    for (size_t i = 0; i < s->n; i++)
        cols += schema_width(&s->column[i]);
    if (cols == 0)
        return error_set(err, STATUS_DATA, "no column is left: all are ignored");
    if (cols > TABLE_COLUMNS_MAX || t->rows > TABLE_VALUES_MAX / cols)
        return error_set(err, STATUS_DATA, "%zu rows of %zu features are too large a table",
                         t->rows, cols);
    cells = mem_alloc(t->cols, sizeof *cells);
    names = mem_alloc(cols, TABLE_NAME_MAX);
    if (cells != NULL && names != NULL)
        status = values_grow(&t->values, &t->x, t->rows * t->cols,
                             t->rows * (cols > t->cols ? cols : t->cols), err);
    if (status == STATUS_OK)
        put_rows(t->x, cols, s, t, cells, counts);
    mem_free(cells);
    if (status != STATUS_OK) {
        mem_free(names);
        return status != STATUS_MEMORY
                   ? status
                   : error_set(err, status, "no memory for %zu rows of %zu features", t->rows,
                               cols);
    }
    for (size_t i = 0, at = 0; i < s->n; at += schema_width(&s->column[i++]))
        put_names(names + at * TABLE_NAME_MAX, &s->column[i]);
    mem_free(t->names);
    values_cut(&t->values, &t->x, t->rows * cols);
    t->names = names;
    t->cols = cols;
    return STATUS_OK;
}

enum status schema_apply(const struct schema *s, struct table *t, size_t *unseen, size_t *filled,
                         struct error *err)
{
    size_t counts[2] = {0, 0};
    enum status status = STATUS_OK;

    CHECK(s->n == 0 || t->cols == s->n);
    if (s->n == 0)
        status = STATUS_OK;
    else if (is_plain(s))
        fill_in_place(s, t, &counts[1]);
    else
        status = widen(s, t, counts, err);
    *unseen = counts[0];
    *filled = counts[1];
    return status;
}

void schema_spare_levels(const struct schema *s, struct scale *scale)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct schema_column *c = &s->column[i];
        const size_t width = schema_width(c);

        for (size_t j = 0; j < width; j++)
            if (c->kind == SCHEMA_CATEGORY || c->bins > 0 || (c->indicator && j + 1 == width)) {
                scale->mean[at + j] = 0;
                scale->sd[at + j] = 1;
            }
        at += width;
    }
    CHECK(s->n == 0 || at == scale->cols);
}

bool schema_is_spared(const struct schema *s, const struct scale *scale)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n && scale->cols > 0; at += schema_width(&s->column[i++]))
        if (schema_is_embedded(&s->column[i]) &&
            !(fabsf(scale->mean[at]) <= 0 && fabsf(scale->sd[at] - 1) <= 0))
            return false;
    return true;
}
