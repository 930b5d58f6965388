/* csv.c -- a CSV file in two passes: count, allocate once, parse.
 *
 * The first pass only looks at lengths, so a small file that claims a huge table (many columns in
 * the header, millions of empty lines in a gzip of some kilobytes) is refused before its memory is
 * asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/csv.h"

#include "common/base/mem.h"
#include "common/data/csv_header.h"
#include "common/data/lines.h"
#include "common/data/decimal.h"
#include "common/data/order.h"
#include "common/data/text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CSV_LINE_MAX = 16 << 20 };

const struct csv_limits CSV_LIMITS = {
    .line_max = CSV_LINE_MAX,
    .rows_max = TABLE_ROWS_MAX,
    .values_max = TABLE_VALUES_MAX,
};

struct csv {
    struct table *t;
    struct lines lines;
    size_t rows, id_bytes; /* counted by the first pass */
    size_t row, id_used;   /* filled by the second */
    size_t left_out;       /* the column, counted behind the id, that is no feature */
    bool sorted;           /* every id so far stood behind the one before it */
};

static enum status fail(const struct csv *c, struct error *err, const char *reason)
{
    return error_set(err, STATUS_DATA, "%s:%llu: %s", c->lines.source.path,
                     (unsigned long long)c->lines.number, reason);
}

static size_t id_length(const char *line, size_t len)
{
    const char *comma = memchr(line, ',', len);

    return comma == NULL ? len : (size_t)(comma - line);
}

/* Counts rows and bytes of ids up to the end, or up to a line that cannot be good whatever its
 * cells say: the second pass will stop there, or earlier, and say why. */
static enum status count(struct csv *c, const struct csv_limits *limits, struct error *err)
{
    char *line;
    size_t len, id;

    for (;;) {
        enum status s = lines_next(&c->lines, &line, &len, err);

        if (s != STATUS_OK)
            return s;
        if (line == NULL)
            break;
        if (c->rows == limits->rows_max)
            return error_set(err, STATUS_DATA, "%s: more than %zu rows", c->lines.source.path,
                             limits->rows_max);
        c->rows++;
        id = id_length(line, len);
        if (id > TABLE_ID_MAX || len < 2 * c->t->cols + 1)
            break;
        c->id_bytes += id + 1;
    }
    if (c->rows == 0)
        return error_set(err, STATUS_DATA, "%s: no rows below the header", c->lines.source.path);
    if (c->rows > limits->values_max / c->t->cols || c->id_bytes > UINT32_MAX)
        return error_set(err, STATUS_DATA, "%s: %zu rows of %zu columns are too large a table",
                         c->lines.source.path, c->rows, c->t->cols);
    return STATUS_OK;
}

static enum status allocate(struct csv *c, struct error *err)
{
    struct table *t = c->t;

    t->x = mem_alloc(c->rows, t->cols * sizeof *t->x);
    t->id_text = mem_alloc(c->id_bytes, 1);
    t->id_at = mem_alloc(c->rows, sizeof *t->id_at);
    if (t->x == NULL || t->id_text == NULL || t->id_at == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for %zu rows of %zu columns",
                         c->lines.source.path, c->rows, t->cols);
    return STATUS_OK;
}

/* Why the cell cell[0..n) of column `col` (0: the first behind the id) is refused.  What is in it
 * stays out of the log (threats F3). */
static enum status cell_error(const struct csv *c, size_t col, const char *cell, size_t n,
                              struct error *err)
{
    const char *reason = "not a number", *end;
    float value = 0;

    end = n == 0 ? NULL : decimal_scan(cell, &value);
    if (n == 0)
        reason = "empty cell";
    else if (memchr(cell, '"', n) != NULL)
        reason = "quotes are not allowed";
    else if (end == cell + n && !isfinite(value))
        reason = "too large a number";
    return error_set(err, STATUS_DATA, "%s:%llu: column %zu \"%s\": %s", c->lines.source.path,
                     (unsigned long long)c->lines.number, col + 2 + (col >= c->left_out),
                     c->t->names + col * TABLE_NAME_MAX, reason);
}

/* A line that parse_values refused: finds the first thing that is wrong with it. */
static enum status line_error(const struct csv *c, const char *line, size_t len, struct error *err)
{
    const char *cell = line + id_length(line, len) + 1, *stop = line + len;
    size_t cells = 1;

    for (size_t i = 0; i < len; i++)
        cells += line[i] == ',';
    if (len == 0)
        return fail(c, err, "empty line");
    if (cells != c->t->cols + 1 + (c->left_out != CSV_HEADER_NONE))
        return error_set(err, STATUS_DATA, "%s:%llu: %zu cells, but the header has %zu",
                         c->lines.source.path, (unsigned long long)c->lines.number, cells,
                         c->t->cols + 1 + (c->left_out != CSV_HEADER_NONE));
    for (size_t col = 0; col < c->t->cols; col++) {
        size_t n;
        float value = 0;

        if (col == c->left_out)
            cell += id_length(cell, (size_t)(stop - cell)) + 1;
        n = id_length(cell, (size_t)(stop - cell));
        if (decimal_scan(cell, &value) != cell + n || !isfinite(value))
            return cell_error(c, col, cell, n, err);
        cell += n + 1;
    }
    return fail(c, err, "malformed line");
}

/* Behind the comma before it and its own text; what is in it is group.h's to judge. */
static const char *skip_cell(const char *p, const char *stop)
{
    const char *comma;

    if (p == stop || *p != ',')
        return NULL;
    comma = memchr(p + 1, ',', (size_t)(stop - p - 1));
    return comma == NULL ? stop : comma;
}

/* The cells behind the id; false when anything is wrong with them. */
static bool parse_values(float *x, size_t cols, size_t left_out, const char *p, const char *stop)
{
    for (size_t col = 0; col < cols + (left_out == cols); col++) {
        if (col == left_out) {
            p = skip_cell(p, stop);
            if (p == NULL || col == cols)
                break;
        }
        if (*p++ != ',')
            return false;
        p = decimal_scan(p, &x[col]);
        if (p == NULL || !isfinite(x[col]))
            return false;
    }
    return p == stop;
}

static enum status parse_id(struct csv *c, const char *line, size_t n, struct error *err)
{
    struct table *t = c->t;
    char *id = t->id_text + c->id_used, shown[TEXT_EXCERPT_MAX];

    if (n > TABLE_ID_MAX)
        return fail(c, err, "id over 64 bytes");
    if (!text_is_plain(line, n, TABLE_ID_MAX)) {
        text_excerpt(shown, line, n);
        return error_set(
            err, STATUS_DATA,
            "%s:%llu: column 1 \"id\": an id is printable ASCII without quotes or outer "
            "spaces: \"%s\"",
            c->lines.source.path, (unsigned long long)c->lines.number, shown);
    }
    if (c->id_used + n + 1 > c->id_bytes)
        return fail(c, err, "the file changed while it was read");
    memcpy(id, line, n);
    id[n] = 0;
    if (c->row > 0) {
        const char *before = table_id(t, c->row - 1);

        c->sorted = c->sorted && order_compare(before, strlen(before), id, n) < 0;
    }
    t->id_at[c->row] = (uint32_t)c->id_used;
    c->id_used += n + 1;
    return STATUS_OK;
}

static enum status parse_rows(struct csv *c, struct error *err)
{
    struct table *t = c->t;
    char *line;
    size_t len, id;

    for (;;) {
        enum status s = lines_next(&c->lines, &line, &len, err);

        if (s != STATUS_OK)
            return s;
        if (line == NULL)
            break;
        if (c->row == c->rows)
            return fail(c, err, "the file changed while it was read");
        id = id_length(line, len);
        if (!parse_values(t->x + c->row * t->cols, t->cols, c->left_out, line + id, line + len))
            return line_error(c, line, len, err);
        s = parse_id(c, line, id, err);
        if (s != STATUS_OK)
            return s;
        c->row++;
    }
    if (c->row != c->rows)
        return fail(c, err, "the file changed while it was read");
    t->rows = c->rows;
    return STATUS_OK;
}

static enum status sort_rows(struct csv *c, struct error *err)
{
    uint32_t twice[2] = {0, 0};
    enum status s;

    if (c->sorted)
        return STATUS_OK;
    s = order_table(c->t, twice);
    if (s == STATUS_DATA)
        return error_set(err, s, "%s:%lu: id \"%s\" is already on line %lu", c->lines.source.path,
                         (unsigned long)twice[1] + 2, table_id(c->t, twice[1]),
                         (unsigned long)twice[0] + 2);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: no memory to sort %zu rows", c->lines.source.path, c->rows);
    return STATUS_OK;
}

/* Back to the first row below the header. */
static enum status rewind_rows(struct csv *c, struct error *err)
{
    enum status s = lines_rewind(&c->lines, err);
    char *line;
    size_t len;

    return s == STATUS_OK ? lines_next(&c->lines, &line, &len, err) : s;
}

enum status csv_read(struct table *t, const char *path, const struct table_want *want,
                     const struct csv_limits *limits, struct error *err)
{
    struct csv c = {.t = t, .sorted = true};
    enum status s = lines_open(&c.lines, path, limits->line_max, err);

    *t = (struct table){0};
    if (s == STATUS_OK)
        s = csv_header_read(t, &c.left_out, &c.lines, want, err);
    if (s == STATUS_OK)
        s = count(&c, limits, err);
    if (s == STATUS_OK)
        s = allocate(&c, err);
    if (s == STATUS_OK)
        s = rewind_rows(&c, err);
    if (s == STATUS_OK)
        s = parse_rows(&c, err);
    if (s == STATUS_OK)
        s = sort_rows(&c, err);
    lines_close(&c.lines);
    if (s != STATUS_OK)
        table_deinit(t);
    return s;
}
