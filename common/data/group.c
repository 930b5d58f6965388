/* group.c -- one column of a file again, names or times, put beside the rows that a table has made
 * of it.
 *
 * The table is in the order of its ids by then, so each row of the file finds its own by its id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/group.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/number.h"
#include "common/data/order.h"
#include "common/data/source.h"
#include "common/data/text.h"
#include "common/data/when.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct moment {
    double time;
    uint32_t row;
};

struct reading {
    struct group *g;       /* NULL: the column says when the rows were */
    struct moment *moment; /* of t's rows, then */
    bool dated;            /* they are dates, no numbers */
    const struct table *t;
    const struct places *places; /* which rows t has of it; NULL: all */
    struct source source;
    size_t id, column; /* of the source */
    size_t first;      /* row of g that is row 0 of t */
    size_t rows;       /* so far */
};

static enum status find_columns(struct reading *r, const struct group_from *from, struct error *err)
{
    const char *id = from->id != NULL && from->id[0] != 0 ? from->id : "id", *name = from->column;

    r->id = source_column(&r->source, id);
    r->column = source_column(&r->source, name);
    if (r->column < r->source.cols && r->places != NULL)
        return r->places->begin(r->places->owner, &r->source, err);
    if (r->column < r->source.cols && r->id < r->source.cols)
        return STATUS_OK;
    if (r->places != NULL)
        return source_fail(&r->source, err, "no column \"%s\"", name);
    return source_fail(&r->source, err, "no column \"%s\"", r->id < r->source.cols ? name : id);
}

static enum status changed(const struct reading *r, struct error *err)
{
    return source_fail(&r->source, err, "it changed between two times that it was read");
}

/* Every cell is what it was when t was read. */
static bool same_rows(const struct reading *r)
{
    uint8_t digest[SOURCE_DIGEST_BYTES];

    if (r->source.tally == NULL)
        return true;
    source_digest(&r->source, digest);
    return memcmp(digest, r->t->digest, sizeof digest) == 0;
}

static bool scan_number(const struct cell *c, double *out)
{
    if (c->kind == CELL_TEXT)
        return number_real(out, c->text);
    *out = c->number;
    return c->kind == CELL_NUMBER && isfinite(c->number);
}

const char *group_moment(double *time, bool *dated, bool first, const struct cell *c)
{
    const bool is_dated = c->kind == CELL_TEXT && when_scan_seconds(c->text, c->n, time);

    if (first)
        *dated = is_dated;
    if (*dated ? is_dated : scan_number(c, time))
        return NULL;
    return *dated   ? "not a time (YYYY-MM-DD HH:MM:SS)"
           : !first ? "not a number"
                    : "neither a number nor a time (YYYY-MM-DD HH:MM:SS)";
}

static enum status take_time(struct reading *r, size_t row, struct error *err)
{
    const char *reason =
        group_moment(&r->moment[row].time, &r->dated, r->rows == 0, &r->source.cell[r->column]);

    r->moment[row].row = (uint32_t)row;
    return reason == NULL ? STATUS_OK : source_fault(&r->source, r->column, reason, err);
}

static enum status take_name(struct reading *r, size_t row, struct error *err)
{
    char number[SOURCE_NUMBER_MAX];
    size_t n;
    const char *name = source_text(&r->source.cell[r->column], number, &n);
    struct group *g = r->g;
    enum status s;

    if (!text_is_plain(name, n, TABLE_ID_MAX))
        return source_fail(
            &r->source, err,
            "data.group: a value is 1 to 64 bytes of printable ASCII without quotes, commas "
            "or outer spaces");
    g->at[r->first + row] = (uint32_t)g->text.len;
    s = buf_append(&g->text, name, n);
    if (s == STATUS_OK)
        s = buf_append(&g->text, "", 1);
    return s == STATUS_OK
               ? s
               : source_fail(&r->source, err, "data.group: too many names, or no memory for them");
}

/* Every place is a row of t, which is as it was read. */
static enum status find_row(struct reading *r, size_t *row, bool *there, struct error *err)
{
    char number[SOURCE_NUMBER_MAX];
    uint32_t place;
    enum status s;
    const char *id;
    size_t n;

    *there = true;
    if (r->places == NULL) {
        id = source_text(&r->source.cell[r->id], number, &n);
        *row = table_find(r->t, id, n);
        return STATUS_OK;
    }
    s = r->places->find(r->places->owner, &r->source, &place, err);
    *there = s == STATUS_OK && place != PLACES_NONE;
    *row = place;
    return s;
}

static enum status take_row(struct reading *r, struct error *err)
{
    size_t row = 0;
    bool there;
    enum status s = find_row(r, &row, &there, err);

    if (s != STATUS_OK || !there)
        return s;
    if (row >= r->t->rows)
        return changed(r, err);
    s = r->g != NULL ? take_name(r, row, err) : take_time(r, row, err);
    r->rows++;
    return s;
}

static enum status read_rows(struct reading *r, struct error *err)
{
    bool more;

    for (;;) {
        enum status s = source_next(&r->source, &more, err);

        if (s == STATUS_OK && more)
            s = take_row(r, err);
        if (s != STATUS_OK)
            return s;
        if (!more)
            break;
    }
    return r->rows == r->t->rows && same_rows(r) ? STATUS_OK : changed(r, err);
}

static enum status read_column(struct reading *r, const struct group_from *from, struct error *err)
{
    struct source_options options = from->source;
    enum status s;

    options.digested = r->t->digested;
    s = source_open(&r->source, from->path, &options, err);
    if (s == STATUS_OK)
        s = find_columns(r, from, err);
    if (s == STATUS_OK)
        s = read_rows(r, err);
    source_close(&r->source);
    return s;
}

enum status group_read(struct group *g, const struct group_from *from, const struct table *t,
                       struct error *err)
{
    struct reading r = {.g = g, .t = t, .places = from->places, .first = g->rows};
    uint32_t *at = mem_grow(g->at, g->rows * sizeof *at, (g->rows + t->rows) * sizeof *at);

    if (at == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for the groups of %zu rows", from->path,
                         t->rows);
    g->at = at;
    g->rows += t->rows;
    if (g->text.max == 0)
        buf_init(&g->text, UINT32_MAX);
    return read_column(&r, from, err);
}

enum status group_number(struct group *g, struct error *err)
{
    struct order_item *items = mem_alloc(g->rows, sizeof *items);
    const char *text = (const char *)g->text.data;

    CHECK(g->rows > 0 && g->of == NULL);
    g->of = mem_alloc(g->rows, sizeof *g->of);
    if (items == NULL || g->of == NULL) {
        mem_free(items);
        return error_set(err, STATUS_MEMORY, "no memory for the groups of %zu rows", g->rows);
    }
    for (size_t i = 0; i < g->rows; i++)
        items[i] = order_item(text, g->at[i], (uint32_t)i);
    order_sort(items, g->rows, text);
    g->n = 0;
    for (size_t i = 0; i < g->rows; i++) {
        if (i > 0 && strcmp(text + items[i].at, text + items[i - 1].at) != 0)
            g->n++;
        g->of[items[i].row] = g->n;
    }
    g->n++;
    mem_free(items);
    return STATUS_OK;
}

size_t group_at_odds(const struct group *g, const struct table *a, const struct table *b)
{
    CHECK(g->of != NULL && g->rows == a->rows + b->rows);
    for (size_t i = 0; i < b->rows; i++) {
        const char *id = table_own_id(b, i);
        const size_t there = table_find_own(a, id);

        if (there < a->rows && g->of[there] != g->of[a->rows + i])
            return i;
    }
    return b->rows;
}

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    if (x->time < y->time || x->time > y->time)
        return x->time < y->time ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

enum status group_places(uint32_t **place, const struct group_from *from, const struct table *t,
                         struct error *err)
{
    struct reading r = {
        .t = t, .places = from->places, .moment = mem_alloc(t->rows, sizeof *r.moment)};
    enum status s = STATUS_MEMORY;

    *place = mem_alloc(t->rows, sizeof **place);
    if (r.moment == NULL || *place == NULL)
        error_set(err, s, "%s: no memory for the times of %zu rows", from->path, t->rows);
    else
        s = read_column(&r, from, err);
    if (s == STATUS_OK) {
        qsort(r.moment, t->rows, sizeof *r.moment, compare_moments);
        for (size_t i = 0; i < t->rows; i++)
            (*place)[r.moment[i].row] = (uint32_t)i;
    } else {
        mem_free(*place);
        *place = NULL;
    }
    mem_free(r.moment);
    return s;
}

void group_deinit(struct group *g)
{
    mem_free(g->at);
    mem_free(g->of);
    buf_deinit(&g->text);
    *g = (struct group){0};
}

const char *group_name(const struct group *g, size_t row)
{
    return (const char *)g->text.data + g->at[row];
}
