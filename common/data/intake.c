/* intake.c -- cell by cell into one matrix that is allocated once where the rows can be counted.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/intake.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/config/key_text.h"
#include "common/data/decimal.h"
#include "common/data/idx.h"
#include "common/data/intake_header.h"
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

/* --- rows --- */

static enum status make_room(struct intake *in, size_t rows, struct error *err)
{
    struct table *t = in->t;
    const size_t old = in->room, most = in->want->limits->rows_max;
    uint32_t *at;
    uint64_t *line;
    enum status s;

    rows = rows > most ? most : rows;
    if (old == most || t->rows == most)
        return error_set(err, STATUS_DATA, "%s: more than %zu rows", in->source.path, most);
    if (rows > in->want->limits->values_max / t->cols)
        rows = in->want->limits->values_max / t->cols;
    if (rows <= old)
        return error_set(err, STATUS_DATA, "%s: %zu rows of %zu columns are too large a table",
                         in->source.path, old + 1, t->cols);
    in->room = rows;
    s = values_grow(&t->values, &t->x, old * t->cols, rows * t->cols, err);
    if (s != STATUS_OK)
        return s == STATUS_MEMORY ? intake_no_memory(in, err) : s;
    at = mem_grow(t->id_at, old * sizeof *at, rows * sizeof *at);
    t->id_at = at != NULL ? at : t->id_at;
    line = mem_grow(in->line, old * sizeof *line, rows * sizeof *line);
    in->line = line != NULL ? line : in->line;
    return at != NULL && line != NULL ? STATUS_OK : intake_no_memory(in, err);
}

static enum status no_id(const struct intake *in, struct error *err)
{
    return source_fault(&in->source, in->id,
                        "an id is 1 to 64 bytes of printable ASCII without quotes, commas or outer "
                        "spaces",
                        err);
}

static enum status add_text(const struct intake *in, struct buf *to, uint32_t *at, const char *text,
                            size_t n, struct error *err)
{
    enum status s;

    *at = (uint32_t)to->len;
    s = buf_append(to, text, n);
    if (s == STATUS_OK)
        s = buf_append(to, "", 1);
    if (s == STATUS_LIMIT)
        return error_set(err, STATUS_DATA, "%s: more than 4 GiB of ids", in->source.path);
    return s == STATUS_OK ? s : intake_no_memory(in, err);
}

static enum status add_id(struct intake *in, const char *text, size_t n, struct error *err)
{
    struct table *t = in->t;
    const char *before;

    if (t->rows > 0) {
        before = (const char *)in->ids.data + t->id_at[t->rows - 1];
        in->sorted = in->sorted && order_compare(before, strlen(before), text, n) < 0;
    }
    return add_text(in, &in->ids, &t->id_at[t->rows], text, n, err);
}

static enum status take_id(struct intake *in, struct error *err)
{
    const struct cell counted = {.kind = CELL_NUMBER, .number = (double)in->t->rows};
    const bool named = in->id < in->source.cols;
    char number[SOURCE_NUMBER_MAX];
    size_t n;
    const char *text = source_text(named ? &in->source.cell[in->id] : &counted, number, &n);

    return text_is_plain(text, n, TABLE_ID_MAX) ? add_id(in, text, n, err) : no_id(in, err);
}

/* Its own id is that of the column of ids, as in a table of no alignment; where ids are what rows
 * are found by, what they were found by.  Where rows are called by ids, whatever they are found by,
 * each row has one, so that no fault tells which rows were found. */
static enum status take_place(struct intake *in, bool *there, struct error *err)
{
    const struct places *p = in->want->places;
    const bool named = in->id < in->source.cols && (p->by_id || !intake_is_key(in, in->id));
    char number[SOURCE_NUMBER_MAX];
    const char *own = NULL;
    uint32_t place;
    size_t n = 0;
    enum status s;

    *there = false;
    if (named)
        own = source_text(&in->source.cell[in->id], number, &n);
    if (p->by_id && !text_is_plain(own, n, TABLE_ID_MAX))
        return no_id(in, err);
    s = p->find(p->owner, &in->source, &place, err);
    *there = s == STATUS_OK && place != PLACES_NONE;
    if (!*there) {
        in->t->own.left += s == STATUS_OK;
        return s;
    }
    if (!named) {
        own = p->own(p->owner);
        n = strlen(own);
    }
    if (named && !text_is_plain(own, n, TABLE_ID_MAX))
        return no_id(in, err);
    s = add_text(in, &in->own, &in->t->own.at[in->t->rows], own, n, err);
    n = (size_t)snprintf(number, sizeof number, "%u", place);
    return s == STATUS_OK ? add_id(in, number, n, err) : s;
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

    *out = 0;
    if (cell->kind == CELL_NUMBER && !c->open && c->levels.n == 0)
        return STATUS_OK; /* it takes whatever stands there */
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
    return s == STATUS_OK ? s : intake_no_memory(in, err);
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
    bool there = true;
    enum status s = in->want->places != NULL ? take_place(in, &there, err) : take_id(in, err);

    if (!there)
        return s;
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

/* As many rows as there are places, each of which comes once. */
static enum status make_own(struct intake *in, struct error *err)
{
    struct table_own *own = &in->t->own;

    own->any = in->t->counted = true; /* their ids are numbers */
    memcpy(own->alignment, in->want->places->digest, sizeof own->alignment);
    own->at = mem_alloc(in->room, sizeof *own->at);
    return own->at != NULL ? STATUS_OK : intake_no_memory(in, err);
}

static enum status read_rows(struct intake *in, struct error *err)
{
    size_t rows = 0;
    bool more = true;
    enum status s = source_count(&in->source, &rows, err);

    if (in->want->places != NULL)
        rows = in->want->places->n;
    if (s == STATUS_OK)
        s = make_room(in, rows == 0 ? ROWS_FIRST : rows, err);
    if (s == STATUS_OK && in->want->places != NULL)
        s = make_own(in, err);
    while (s == STATUS_OK) {
        s = source_next(&in->source, &more, err);
        if (s != STATUS_OK || !more)
            break;
        if (in->t->rows == in->room && in->want->places == NULL)
            s = make_room(in, 2 * in->room, err);
        if (s == STATUS_OK)
            s = take_row(in, err);
    }
    values_cut(&in->t->values, &in->t->x, in->t->rows * in->t->cols);
    if (s == STATUS_OK && in->want->places != NULL)
        return in->want->places->end(in->want->places->owner, &in->source, err);
    if (s == STATUS_OK && in->t->rows == 0)
        s = error_set(err, STATUS_DATA, "%s: no rows below the header", in->source.path);
    return s;
}

static enum status sort_rows(struct intake *in, struct error *err)
{
    struct table *t = in->t;
    uint32_t twice[2] = {0, 0};
    enum status s = STATUS_OK;

    if (t->own.any)
        s = order_own(t, twice); /* before rows are moved: they are on those lines */
    if (s == STATUS_OK && !in->sorted)
        s = order_table(t, twice);
    if (s == STATUS_OK && t->own.any)
        s = order_own(t, twice);
    if (s == STATUS_DATA)
        return error_set(err, s, "%s:%llu: id \"%s\" is already on line %llu", in->source.path,
                         (unsigned long long)in->line[twice[1]], table_own_id(t, twice[1]),
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
    buf_init(&in->own, UINT32_MAX);
    if (s == STATUS_OK)
        s = intake_header_read(in, err);
    if (s == STATUS_OK)
        s = read_rows(in, err);
    in->t->id_text = (char *)in->ids.data;
    in->t->own.text = (char *)in->own.data;
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
        .labels = want->labels, .group = want->group, .time = want->time, .mapped = want->mapped};
    bool idx = false, npy = false;
    enum status s = STATUS_OK;

    *t = (struct table){.values.folder = want->mapped};
    if (!key_text_is_server(path))
        s = idx_is(&idx, path, err);
    if (s == STATUS_OK && !idx && !key_text_is_server(path))
        s = npy_is(&npy, path, err);
    if (s == STATUS_OK && (idx || npy) && want->places != NULL)
        s = error_set(err, STATUS_DATA, "%s: its rows have no ids for an alignment", path);
    if (s == STATUS_OK)
        s = idx   ? array_read(t, path, &IDX_FORMAT, &counted, err)
            : npy ? array_read(t, path, &NPY_FORMAT, &counted, err)
                  : read_source(&in, path, err);
    if (s == STATUS_OK)
        return s;
    table_deinit(t);
    if (in.made)
        schema_deinit(schema);
    return s;
}
