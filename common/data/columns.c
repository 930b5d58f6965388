/* columns.c -- reading a column specification.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/columns.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/table.h"

#include <string.h>

struct reader {
    const struct columns_want *want;
    struct columns *c;
    uint8_t *taken; /* by column */
    struct error *err;
};

static enum status refuse(const struct reader *r, const char *what)
{
    return error_set(r->err, STATUS_CONFIG, "columns %s: %s", r->want->spec, what);
}

static enum status take(struct reader *r, uint32_t column)
{
    struct columns *c = r->c;

    if (column >= r->want->features)
        return error_set(r->err, STATUS_CONFIG, "columns %s: column %u, but there are %u",
                         r->want->spec, column + 1, r->want->features);
    if (r->taken[column])
        return error_set(r->err, STATUS_CONFIG, "columns %s: column %u is given twice",
                         r->want->spec, column + 1);
    r->taken[column] = 1;
    c->column[c->first[c->parties]++] = column;
    return STATUS_OK;
}

/* Opens the next party; its columns follow by take(). */
static enum status next_party(struct reader *r)
{
    struct columns *c = r->c;

    if (c->parties == PLAN_PARTIES_MAX)
        return error_set(r->err, STATUS_CONFIG, "columns: more than %d parties", PLAN_PARTIES_MAX);
    c->parties++;
    c->first[c->parties] = c->first[c->parties - 1];
    return STATUS_OK;
}

static bool read_number(const char **at, uint32_t least, uint32_t max, uint32_t *out)
{
    const char *c = *at;
    uint64_t n = 0;

    while (*c >= '0' && *c <= '9' && n <= max)
        n = n * 10 + (uint64_t)(*c++ - '0');
    if (c == *at || n < least || n > max)
        return false;
    *at = c;
    *out = (uint32_t)n;
    return true;
}

bool columns_number(const char **at, uint32_t max, uint32_t *out)
{
    return read_number(at, 1, max, out);
}

/* The feature called so, from 0; features: there is none. */
static uint32_t named(const struct reader *r, const char *name, size_t n)
{
    const struct columns_want *w = r->want;
    uint32_t i = 0;

    for (; w->names != NULL && i < w->features; i++) {
        const char *there = w->names + (size_t)i * SOURCE_NAME_MAX;

        if (strncmp(there, name, n) == 0 && there[n] == 0)
            return i;
    }
    return w->features;
}

/* One column, by its name or its number, from 0. */
static bool one_column(const struct reader *r, const char *text, size_t n, uint32_t *column)
{
    const char *at = text;

    *column = named(r, text, n);
    if (*column < r->want->features)
        return true;
    if (!columns_number(&at, TABLE_COLUMNS_MAX, column) || at != text + n)
        return false;
    --*column;
    return true;
}

/* A name in quotes at *at, which moves behind them. */
static enum status read_quoted(struct reader *r, const char **at)
{
    char name[SOURCE_NAME_MAX] = {0};
    size_t n = 0;
    uint32_t column;

    for (++*at; **at != 0 && (**at != '"' || *++*at == '"'); ++*at)
        if (n + 1 < sizeof name)
            name[n++] = **at;
    column = named(r, name, n);
    if (column < r->want->features)
        return take(r, column);
    return error_set(r->err, STATUS_CONFIG, "columns: no column is called \"%s\"", name);
}

/* A name, a number, or a range of them: all up to the next + or comma. */
static enum status read_plain(struct reader *r, const char **at)
{
    const char *text = *at;
    const size_t n = strcspn(text, "+,");
    uint32_t from, to;

    *at += n;
    if (one_column(r, text, n, &from))
        return take(r, from);
    for (size_t dash = 1; dash + 1 < n; dash++) {
        enum status s = STATUS_OK;

        if (text[dash] != '-' || !one_column(r, text, dash, &from) ||
            !one_column(r, text + dash + 1, n - dash - 1, &to))
            continue;
        if (to < from)
            return refuse(r, "a range runs backwards");
        for (uint32_t c = from; s == STATUS_OK && c <= to; c++)
            s = take(r, c);
        return s;
    }
    if (n > 0 && text[n - 1] == '-')
        return refuse(r, "a range has no end");
    if (r->want->names == NULL || n == 0 || (text[0] >= '0' && text[0] <= '9'))
        return refuse(r, "a column number from 1 is missing");
    return error_set(r->err, STATUS_CONFIG, "columns: no column is called \"%.*s\"",
                     (int)(n < SOURCE_NAME_MAX ? n : SOURCE_NAME_MAX), text);
}

/* 1-3+8,4-7 or age+job,hours */
static enum status read_list(struct reader *r)
{
    const char *at = r->want->spec;
    enum status s = next_party(r);

    while (s == STATUS_OK) {
        s = *at == '"' ? read_quoted(r, &at) : read_plain(r, &at);
        if (s != STATUS_OK || *at == 0)
            return s;
        if (*at == ',')
            s = next_party(r);
        else if (*at != '+')
            return refuse(r, "expected '+' or ',' behind a name in quotes");
        at++;
    }
    return s;
}

/* Start of part i of n cut in `parts` runs, of which the first n mod parts are one longer. */
static uint32_t part_start(uint32_t n, uint32_t parts, uint32_t i)
{
    return i * (n / parts) + (i < n % parts ? i : n % parts);
}

/* Of every channel, one after another. */
static enum status take_block(struct reader *r, const uint32_t rows[2], const uint32_t cols[2])
{
    const uint32_t *side = r->c->shape.width;
    enum status s = next_party(r);

    for (uint32_t c = 0; c < side[0]; c++)
        for (uint32_t y = rows[0]; y < rows[1]; y++)
            for (uint32_t x = cols[0]; s == STATUS_OK && x < cols[1]; x++)
                s = take(r, (c * side[1] + y) * side[2] + x);
    return s;
}

static enum status cut_grid(struct reader *r, uint32_t rows, uint32_t cols)
{
    const uint32_t height = r->c->shape.width[1], width = r->c->shape.width[2];
    enum status s = STATUS_OK;

    if (rows > height || cols > width)
        return error_set(r->err, STATUS_CONFIG,
                         "columns grid:%ux%u: the image has only %u x %u pixels", rows, cols,
                         height, width);
    for (uint32_t i = 0; s == STATUS_OK && i < rows; i++)
        for (uint32_t j = 0; s == STATUS_OK && j < cols; j++)
            s = take_block(
                r,
                (const uint32_t[2]){part_start(height, rows, i), part_start(height, rows, i + 1)},
                (const uint32_t[2]){part_start(width, cols, j), part_start(width, cols, j + 1)});
    return s;
}

/* grid:RxC */
static enum status read_grid(struct reader *r)
{
    const char *at = r->want->spec + strlen("grid:");
    struct plan_widths *shape = &r->c->shape;
    uint32_t rows, cols;

    if (!columns_number(&at, TABLE_COLUMNS_MAX, &rows) || *at++ != 'x' ||
        !columns_number(&at, TABLE_COLUMNS_MAX, &cols) || *at != 0)
        return refuse(r, "expected grid:RxC");
    for (uint32_t side = 1; shape->n == 0 && side * side <= r->want->features; side++)
        if (side * side == r->want->features)
            *shape = (struct plan_widths){3, {1, side, side}};
    if (shape->n == 0)
        return refuse(r, "the columns are no square image");
    if (shape->n == 2)
        *shape = (struct plan_widths){3, {1, shape->width[0], shape->width[1]}};
    return cut_grid(r, rows, cols);
}

/* Of channel c: every column, or, of a series, that of step t. */
static enum status take_channel(struct reader *r, uint32_t c, uint32_t t)
{
    const struct plan_widths *shape = &r->c->shape;
    enum status s = STATUS_OK;

    if (shape->n == 2)
        return take(r, t * shape->width[1] + c);
    for (uint32_t i = 0, plane = shape->width[1] * shape->width[2]; s == STATUS_OK && i < plane;
         i++)
        s = take(r, c * plane + i);
    return s;
}

/* 0-2+6-8, up to the next comma: of all of it step t. */
static enum status take_channels(struct reader *r, const char **at, uint32_t channels, uint32_t t)
{
    enum status s = STATUS_OK;

    do {
        uint32_t from, to;

        *at += **at == '+';
        if (!read_number(at, 0, TABLE_COLUMNS_MAX, &from))
            return refuse(r, "a channel number from 0 is missing");
        to = from;
        if (**at == '-' && (++*at, !read_number(at, from, TABLE_COLUMNS_MAX, &to)))
            return refuse(r, "a range has no end, or runs backwards");
        if (to >= channels)
            return error_set(r->err, STATUS_CONFIG, "columns %s: channel %u, but there are 0 to %u",
                             r->want->spec, to, channels - 1);
        for (uint32_t c = from; s == STATUS_OK && c <= to; c++)
            s = take_channel(r, c, t);
    } while (s == STATUS_OK && **at == '+');
    return s;
}

/* channels:0-2+6-8,3-5 */
static enum status read_channels(struct reader *r)
{
    const struct plan_widths *shape = &r->c->shape;
    const char *at = r->want->spec + strlen("channels:");
    const uint32_t steps = shape->n == 2 ? shape->width[0] : 1;
    enum status s = STATUS_OK;

    if (shape->n == 0)
        return refuse(r, "the columns are no series and no image");
    while (s == STATUS_OK) {
        const char *from = at;

        s = next_party(r);
        for (uint32_t t = 0; s == STATUS_OK && t < steps; t++) {
            at = from;
            s = take_channels(r, &at, shape->width[shape->n == 2 ? 1 : 0], t);
        }
        if (s != STATUS_OK || *at == 0)
            return s;
        if (*at++ != ',')
            return refuse(r, "expected '+', '-' or ',' behind a channel's number");
    }
    return s;
}

static enum status make_runs(struct reader *r)
{
    uint32_t features = r->want->features, parties = r->want->parties;
    enum status s = STATUS_OK;

    CHECK(parties > 0);
    if (r->c->shape.n == 3 && r->c->shape.width[0] > 1)
        return cut_grid(r, 1, parties);
    if (parties > features)
        return error_set(r->err, STATUS_CONFIG, "%u parties, but only %u columns", parties,
                         features);
    for (uint32_t p = 0; s == STATUS_OK && p < parties; p++) {
        s = next_party(r);
        for (uint32_t c = part_start(features, parties, p);
             s == STATUS_OK && c < part_start(features, parties, p + 1); c++)
            s = take(r, c);
    }
    return s;
}

enum status columns_assign(struct columns *c, const struct columns_want *want, struct error *err)
{
    struct reader r = {.want = want, .c = c, .err = err};
    enum status s;

    CHECK(want->features > 0 && want->features <= TABLE_COLUMNS_MAX);
    *c = (struct columns){.shape = want->shape};
    c->column = mem_alloc(want->features, sizeof *c->column);
    r.taken = mem_alloc(want->features, 1);
    if (c->column == NULL || r.taken == NULL)
        s = error_set(err, STATUS_MEMORY, "columns: %s", status_words(STATUS_MEMORY));
    else if (want->spec == NULL)
        s = make_runs(&r);
    else if (strncmp(want->spec, "grid:", 5) == 0)
        s = read_grid(&r);
    else if (strncmp(want->spec, "channels:", 9) == 0)
        s = read_channels(&r);
    else
        s = read_list(&r);
    if (s == STATUS_OK && want->parties != 0 && want->parties != c->parties)
        s = error_set(err, STATUS_CONFIG, "columns %s: these are %u parties, %u are asked for",
                      want->spec, c->parties, want->parties);
    mem_free(r.taken);
    if (s != STATUS_OK)
        columns_deinit(c);
    return s;
}

/* Do n columns begin with `inner` at a time that stay within one index of the sides before? */
static uint32_t run_of(const uint32_t *column, uint32_t n, uint32_t inner, uint32_t side)
{
    uint32_t i = inner;

    while (i < n && column[i] / side == column[0] / side)
        i += inner;
    return i / inner;
}

/* Every combination of some indices of each side, the last side's fastest: column i has the same
 * index on each side as the first column that has i's place there. */
bool columns_shape(const struct columns *c, uint32_t p, struct plan_widths *out)
{
    const uint32_t *column = c->column + c->first[p], n = c->first[p + 1] - c->first[p];
    uint32_t inner = 1, side = 1;

    *out = (struct plan_widths){.n = c->shape.n};
    for (size_t d = c->shape.n; d-- > 0;) {
        const uint32_t last = side;

        side *= c->shape.width[d];
        out->width[d] = d > 0 ? run_of(column, n, inner, side) : n / inner;
        if (out->width[d] * inner > n || n % (out->width[d] * inner) != 0)
            return false;
        for (uint32_t i = 0; i < n; i++)
            if (column[i] % side / last != column[i / inner % out->width[d] * inner] % side / last)
                return false;
        inner *= out->width[d];
    }
    return out->n > 0;
}

void columns_deinit(struct columns *c)
{
    mem_free(c->column);
    *c = (struct columns){0};
}
