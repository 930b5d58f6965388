/* intake.c -- cell by cell into one matrix that is allocated once where the rows can be counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/intake.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/config/key_text.h"
#include "common/data/decimal.h"
#include "common/data/idx.h"
#include "common/data/npy.h"
#include "common/data/order.h"
#include "common/data/text.h"
#include "common/data/when.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_FIRST = 1024 };

const struct intake_limits INTAKE_LIMITS = {
    .rows_max = TABLE_ROWS_MAX,
    .values_max = TABLE_VALUES_MAX,
};

struct intake {
    struct source source;
    struct table *t;
    struct schema *schema;
    const struct intake_want *want;
    /* Columns of the source that are no features: the ids, and those that group.h reads, or
     * source.cols. */
    size_t id, group, time;
    size_t *from;   /* schema->n: the column of the source that each one is */
    bool made;      /* the schema is made of this source */
    struct buf ids; /* becomes t->id_text */
    uint64_t *line; /* where each row stands, for errors about two of them */
    size_t room;    /* rows that t has memory for */
    bool sorted;    /* every id so far stood behind the one before it */
};

static enum status no_memory(const struct intake *in, struct error *err)
{
    return error_set(err, STATUS_MEMORY, "%s: no memory for %zu rows of %zu columns",
                     in->source.path, in->room, in->t->cols);
}

/* --- the header --- */

/* Somebody has written that the table has it, and that it is none of this side's. */
static bool says_label(const struct schema *s)
{
    size_t i = 0;

    while (i < s->n && strcmp(s->column[i].name, "label") != 0)
        i++;
    return s->written && i < s->n && schema_width(&s->column[i]) == 0;
}

static bool is_feature(const struct intake *in, size_t column)
{
    return column != in->id && column != in->group && column != in->time;
}

/* Of one label: the ids, the labels, and whose rows they are, and of when. */
static bool is_labels(const struct intake *in)
{
    const struct source *s = &in->source;
    const size_t label = source_column(s, "label");

    return s->cols == 2 + (size_t)(in->group < s->cols) + (size_t)(in->time < s->cols) &&
           in->id == 0 && label < s->cols && is_feature(in, label);
}

/* The column of this name; NULL: there is none. */
static enum status find_role(const struct source *s, const char *name, size_t *column,
                             struct error *err)
{
    *column = name != NULL ? source_column(s, name) : s->cols;
    return name == NULL || *column < s->cols ? STATUS_OK
                                             : source_fail(s, err, "no column \"%s\"", name);
}

static enum status no_features(const struct intake *in, const char *id, struct error *err)
{
    const struct intake_want *w = in->want;
    const struct source *s = &in->source;

    if (w->group != NULL && w->time != NULL)
        return source_fail(s, err, "no column besides %s, \"%s\" and \"%s\"", id, w->group,
                           w->time);
    if (w->group != NULL || w->time != NULL)
        return source_fail(s, err, "no column besides %s and \"%s\"", id,
                           w->group != NULL ? w->group : w->time);
    return source_fail(s, err, "no column besides %s", id);
}

static enum status find_roles(struct intake *in, struct error *err)
{
    const struct intake_want *w = in->want;
    const struct source *s = &in->source;
    const char *id = in->schema->id[0] != 0 ? in->schema->id : w->id == NULL ? "id" : w->id;

    size_t features = 0;
    enum status found;

    in->id = source_column(s, id);
    if (in->id == s->cols && !w->numbered)
        return source_fail(s, err, "no column \"%s\"", id);
    found = find_role(s, w->group, &in->group, err);
    if (found == STATUS_OK)
        found = find_role(s, w->time, &in->time, err);
    if (found != STATUS_OK)
        return found;
    if (in->time < s->cols && (in->time == in->id || in->time == in->group))
        return source_fault(s, in->time, "one column cannot be the times and ids or names", err);
    if (w->labels && !is_labels(in))
        return source_fail(s, err,
                           w->group != NULL || w->time != NULL
                               ? "a label file has exactly the columns id,label, and those "
                                 "of labels.group and labels.time"
                               : "a label file has exactly the columns id,label");
    if (!w->labels && !w->several && source_column(s, "label") < s->cols && !says_label(in->schema))
        return source_fault(s, source_column(s, "label"),
                            "labels belong to the server, in a file of their own", err);
    for (size_t i = 0; i < s->cols; i++)
        features += is_feature(in, i);
    return features > 0 ? STATUS_OK : no_features(in, id, err);
}

/* Which columns are to be read, as a schema that knows no kinds yet. */
static enum status make_schema(struct intake *in, size_t cols, struct error *err)
{
    struct schema *s = in->schema;

    if (schema_init(s, cols) != STATUS_OK)
        return no_memory(in, err);
    for (size_t i = 0; i < cols; i++) {
        struct schema_column *c = &s->column[i];

        memcpy(c->name, in->source.names + in->from[i] * SOURCE_NAME_MAX, SOURCE_NAME_MAX);
        c->kind = in->want->kind;
        c->open = true;
        if (in->want->complete)
            c->missing = MISSING_REFUSED;
    }
    return STATUS_OK;
}

/* --- the columns of a schema, wherever they stand in this source --- */

/* Of the source's names in order: the column called so; n: none. */
static size_t named(const struct order_item *sorted, size_t n, const char *names, const char *name)
{
    const size_t len = strlen(name);
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *there = names + sorted[middle].at;
        const int order = order_compare(there, strlen(there), name, len);

        if (order == 0)
            return sorted[middle].row;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return n;
}

static enum status find_columns(const struct intake *in, size_t *found, struct error *err)
{
    const struct source *s = &in->source;
    struct order_item *sorted = mem_alloc(s->cols, sizeof *sorted);

    if (sorted == NULL)
        return no_memory(in, err);
    for (size_t i = 0; i < s->cols; i++)
        sorted[i] = order_item(s->names, (uint32_t)(i * SOURCE_NAME_MAX), (uint32_t)i);
    order_sort(sorted, s->cols, s->names);
    for (size_t i = 0; i < in->schema->n; i++)
        found[i] = named(sorted, s->cols, s->names, in->schema->column[i].name);
    mem_free(sorted);
    return STATUS_OK;
}

/* What is read of a column is there, and is no id. */
static enum status check_found(const struct intake *in, const size_t *found, struct error *err)
{
    const struct schema *s = in->schema;
    char shown[TEXT_EXCERPT_MAX];

    for (size_t i = 0; i < s->n; i++) {
        const struct schema_column *c = &s->column[i];

        if (c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL)
            continue;
        if (found[i] == in->source.cols) {
            text_excerpt(shown, c->name, strlen(c->name));
            return source_fail(&in->source, err, "no column \"%s\", which the %s has", shown,
                               s->written ? "schema" : "training table");
        }
        if (found[i] == in->id)
            return source_fault(&in->source, in->id,
                                "the ids, which are no feature: in the schema it is of kind id, or "
                                "ignored",
                                err);
    }
    return STATUS_OK;
}

/* The source has no others, but for those that are no features. */
static enum status check_declared(const struct intake *in, const size_t *found, size_t cols,
                                  struct error *err)
{
    const size_t n = in->source.cols;
    bool *declared = mem_alloc(n + 1, sizeof *declared);
    size_t i = 0;

    if (declared == NULL)
        return no_memory(in, err);
    for (size_t k = 0; k < in->schema->n; k++)
        declared[found[k]] = true;
    while (i < cols && declared[in->from[i]])
        i++;
    mem_free(declared);
    if (i == cols)
        return STATUS_OK;
    return source_fault(&in->source, in->from[i],
                        in->schema->written ? "not in the schema" : "not in the training table",
                        err);
}

static enum status find_schema(struct intake *in, size_t cols, struct error *err)
{
    size_t *found = mem_alloc(in->schema->n, sizeof *found);
    enum status s = found == NULL ? no_memory(in, err) : find_columns(in, found, err);

    if (s == STATUS_OK)
        s = check_found(in, found, err);
    if (s == STATUS_OK && !in->want->several)
        s = check_declared(in, found, cols, err);
    mem_free(s == STATUS_OK ? in->from : found);
    if (s == STATUS_OK)
        in->from = found;
    return s;
}

static enum status read_header(struct intake *in, struct error *err)
{
    size_t cols = 0;
    enum status s = find_roles(in, err);

    if (s != STATUS_OK)
        return s;
    in->from = mem_alloc(in->source.cols, sizeof *in->from);
    if (in->from == NULL)
        return no_memory(in, err);
    for (size_t i = 0; i < in->source.cols; i++)
        if (is_feature(in, i))
            in->from[cols++] = i;
    if (cols > TABLE_COLUMNS_MAX)
        return source_fail(&in->source, err, "%zu columns, at most %d", cols, TABLE_COLUMNS_MAX);
    in->made = in->schema->n == 0;
    s = in->made ? make_schema(in, cols, err) : find_schema(in, cols, err);
    if (s != STATUS_OK)
        return s;
    cols = in->schema->n;
    in->t->names = mem_alloc(cols, TABLE_NAME_MAX);
    in->t->cols = cols;
    for (size_t i = 0; in->t->names != NULL && i < cols; i++)
        memcpy(in->t->names + i * TABLE_NAME_MAX, in->schema->column[i].name, TABLE_NAME_MAX);
    return in->t->names != NULL ? STATUS_OK : no_memory(in, err);
}

/* --- rows --- */

static enum status make_room(struct intake *in, size_t rows, struct error *err)
{
    struct table *t = in->t;
    const size_t old = in->room, most = in->want->limits->rows_max;
    float *x;
    uint32_t *at;
    uint64_t *line;

    rows = rows > most ? most : rows;
    if (old == most || t->rows == most)
        return error_set(err, STATUS_DATA, "%s: more than %zu rows", in->source.path, most);
    if (rows > in->want->limits->values_max / t->cols)
        rows = in->want->limits->values_max / t->cols;
    if (rows <= old)
        return error_set(err, STATUS_DATA, "%s: %zu rows of %zu columns are too large a table",
                         in->source.path, old + 1, t->cols);
    in->room = rows;
    x = mem_grow(t->x, old * t->cols * sizeof *x, rows * t->cols * sizeof *x);
    t->x = x != NULL ? x : t->x;
    at = mem_grow(t->id_at, old * sizeof *at, rows * sizeof *at);
    t->id_at = at != NULL ? at : t->id_at;
    line = mem_grow(in->line, old * sizeof *line, rows * sizeof *line);
    in->line = line != NULL ? line : in->line;
    return x != NULL && at != NULL && line != NULL ? STATUS_OK : no_memory(in, err);
}

static enum status take_id(struct intake *in, struct error *err)
{
    struct table *t = in->t;
    const struct cell counted = {.kind = CELL_NUMBER, .number = (double)t->rows};
    const bool named = in->id < in->source.cols;
    char number[SOURCE_NUMBER_MAX];
    size_t n;
    const char *text = source_text(named ? &in->source.cell[in->id] : &counted, number, &n);
    const char *before;
    enum status s;

    if (!text_is_plain(text, n, TABLE_ID_MAX))
        return source_fault(&in->source, in->id,
                            "an id is 1 to 64 bytes of printable ASCII without quotes, commas or "
                            "outer spaces",
                            err);
    if (t->rows > 0) {
        before = (const char *)in->ids.data + t->id_at[t->rows - 1];
        in->sorted = in->sorted && order_compare(before, strlen(before), text, n) < 0;
    }
    t->id_at[t->rows] = (uint32_t)in->ids.len;
    s = buf_append(&in->ids, text, n);
    if (s == STATUS_OK)
        s = buf_append(&in->ids, "", 1);
    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_DATA, "%s: more than 4 GiB of ids", in->source.path);
    return s == STATUS_OK ? s : no_memory(in, err);
}

static void decide_kind(struct schema_column *c, const struct cell *cell)
{
    float value;

    if (cell->kind == CELL_NUMBER || decimal_read(cell->text, cell->n, &value))
        c->kind = SCHEMA_NUMBER;
    else if (when_scan(cell->text, cell->n, &value))
        c->kind = SCHEMA_TIME;
    else
        c->kind = SCHEMA_CATEGORY;
}

static enum status take_missing(struct intake *in, size_t col, float *out, struct error *err)
{
    const struct schema_column *c = &in->schema->column[col];
    const char *reason = c->kind == SCHEMA_NUMBER ? "not a number" : "a missing value";

    *out = NAN;
    if (c->missing != MISSING_REFUSED)
        return STATUS_OK;
    if (in->source.cell[in->from[col]].n == 0)
        reason = "empty cell";
    return source_fault(&in->source, in->from[col], reason, err);
}

/* Line ends and tabs in a text are blanks in its level, and blanks at its ends are none of it. */
static size_t flatten(char out[LEVELS_TEXT_MAX], const char *text, size_t n)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const char c = text[i] == '\n' || text[i] == '\r' || text[i] == '\t' ? ' ' : text[i];

        if (used > 0 || c != ' ')
            out[used++] = c;
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    return used;
}

static enum status take_level(struct intake *in, size_t col, float *out, struct error *err)
{
    const struct cell *cell = &in->source.cell[in->from[col]];
    struct schema_column *c = &in->schema->column[col];
    char text[LEVELS_TEXT_MAX];
    uint32_t level = 0;
    enum status s = STATUS_OK;
    size_t n;

    if (cell->kind == CELL_NUMBER)
        return source_fault(&in->source, in->from[col], "a number, where rows before have text",
                            err);
    if (cell->n > LEVELS_TEXT_MAX) {
        level = LEVELS_MAX;
    } else if ((n = flatten(text, cell->text, cell->n)) == 0) {
        return take_missing(in, col, out, err);
    } else if (c->open) {
        s = levels_add(&c->levels, text, n, &level);
    } else {
        level = levels_find(&c->levels, text, n);
        level = level == LEVELS_NONE ? c->levels.n : level;
    }
    if (s == STATUS_LIMIT || level == LEVELS_MAX) {
        c->free_text += c->open;
        level = LEVELS_MAX;
        s = STATUS_OK;
    }
    /* One that is none of an order's is one above the highest, however long it is. */
    *out = (float)(c->kind == SCHEMA_ORDERED && level > c->levels.n ? c->levels.n : level);
    if (s == STATUS_DATA)
        return source_fault(&in->source, in->from[col],
                            "a text that is no UTF-8, or has control characters", err);
    return s == STATUS_OK ? s : no_memory(in, err);
}

static enum status take_time(struct intake *in, size_t col, float *out, struct error *err)
{
    const struct cell *cell = &in->source.cell[in->from[col]];

    if (cell->kind == CELL_TEXT && when_scan(cell->text, cell->n, out))
        return STATUS_OK;
    return source_fault(&in->source, in->from[col], "not a time (YYYY-MM-DD HH:MM:SS)", err);
}

/* A cell that is not the plain number which take_row expects first. */
static enum status take_other(struct intake *in, size_t col, float *out, struct error *err)
{
    struct schema_column *c = &in->schema->column[col];
    const struct cell *cell;

    *out = NAN;
    if (c->kind == SCHEMA_IGNORED || c->kind == SCHEMA_LABEL)
        return STATUS_OK;
    cell = &in->source.cell[in->from[col]];
    if (cell->kind == CELL_NONE || (cell->kind == CELL_NUMBER && isnan(cell->number)) ||
        (cell->kind == CELL_TEXT && schema_is_missing(cell->text, cell->n)))
        return take_missing(in, col, out, err);
    if (c->kind == SCHEMA_AUTO)
        decide_kind(c, cell);
    switch (c->kind) {
    case SCHEMA_NUMBER:
        if (cell->kind == CELL_NUMBER)
            *out = (float)cell->number;
        else if (!decimal_read(cell->text, cell->n, out))
            return source_fault(&in->source, in->from[col], "not a number", err);
        if (isfinite(*out))
            return STATUS_OK;
        return source_fault(&in->source, in->from[col], "too large a number", err);
    case SCHEMA_CATEGORY:
    case SCHEMA_ORDERED: return take_level(in, col, out, err);
    case SCHEMA_TIME: return take_time(in, col, out, err);
    case SCHEMA_AUTO:
    case SCHEMA_LABEL:
    case SCHEMA_IGNORED: break;
    }
    return STATUS_OK;
}

static enum status take_row(struct intake *in, struct error *err)
{
    struct table *t = in->t;
    float *x = t->x + t->rows * t->cols;
    enum status s = take_id(in, err);

    for (size_t i = 0; s == STATUS_OK && i < t->cols; i++) {
        if (in->schema->column[i].kind == SCHEMA_NUMBER) {
            const struct cell *cell = &in->source.cell[in->from[i]];

            if (cell->kind == CELL_TEXT && decimal_read(cell->text, cell->n, &x[i]) &&
                isfinite(x[i]))
                continue;
        }
        s = take_other(in, i, &x[i], err);
    }
    in->line[t->rows] = in->source.row;
    t->rows += s == STATUS_OK;
    return s;
}

static enum status read_rows(struct intake *in, struct error *err)
{
    size_t rows = 0;
    bool more = true;
    enum status s = source_count(&in->source, &rows, err);

    if (s == STATUS_OK)
        s = make_room(in, rows == 0 ? ROWS_FIRST : rows, err);
    while (s == STATUS_OK) {
        s = source_next(&in->source, &more, err);
        if (s != STATUS_OK || !more)
            break;
        if (in->t->rows == in->room)
            s = make_room(in, 2 * in->room, err);
        if (s == STATUS_OK)
            s = take_row(in, err);
    }
    if (s == STATUS_OK && in->t->rows == 0)
        s = error_set(err, STATUS_DATA, "%s: no rows below the header", in->source.path);
    return s;
}

static enum status sort_rows(struct intake *in, struct error *err)
{
    uint32_t twice[2] = {0, 0};
    enum status s;

    if (in->sorted)
        return STATUS_OK;
    s = order_table(in->t, twice);
    if (s == STATUS_DATA)
        return error_set(err, s, "%s:%llu: id \"%s\" is already on line %llu", in->source.path,
                         (unsigned long long)in->line[twice[1]], table_id(in->t, twice[1]),
                         (unsigned long long)in->line[twice[0]]);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: no memory to sort %zu rows", in->source.path, in->t->rows);
    return STATUS_OK;
}

static enum status read_source(struct intake *in, const char *path, struct error *err)
{
    struct source_options options = in->want->source;
    enum status s;

    options.digested = options.digested || in->want->group != NULL ||
                       in->want->time != NULL; /* which are read later */
    s = source_open(&in->source, path, &options, err);
    buf_init(&in->ids, UINT32_MAX);
    if (s == STATUS_OK)
        s = read_header(in, err);
    if (s == STATUS_OK)
        s = read_rows(in, err);
    in->t->id_text = (char *)in->ids.data;
    in->t->digested = s == STATUS_OK && options.digested;
    if (in->t->digested)
        source_digest(&in->source, in->t->digest);
    if (s == STATUS_OK)
        s = sort_rows(in, err);
    source_close(&in->source);
    mem_free(in->from);
    mem_free(in->line);
    return s;
}

enum status intake_read(struct table *t, struct schema *schema, const char *path,
                        const struct intake_want *want, struct error *err)
{
    struct intake in = {.t = t, .schema = schema, .want = want, .sorted = true};
    const struct table_want counted = {
        .labels = want->labels, .group = want->group, .time = want->time};
    bool idx = false, npy = false;
    enum status s = STATUS_OK;

    *t = (struct table){0};
    if (!key_text_is_server(path))
        s = idx_is(&idx, path, err);
    if (s == STATUS_OK && !idx && !key_text_is_server(path))
        s = npy_is(&npy, path, err);
    if (s == STATUS_OK)
        s = idx   ? idx_read(t, path, &counted, err)
            : npy ? npy_read(t, path, &counted, err)
                  : read_source(&in, path, err);
    if (s == STATUS_OK)
        return s;
    table_deinit(t);
    if (in.made)
        schema_deinit(schema);
    return s;
}
