/* group.c -- one column of a file again, put beside the rows that a table has made of it.
 *
 * The table is in the order of its ids by then, so each line finds its row by its id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/group.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/lines.h"
#include "common/data/order.h"
#include "common/data/text.h"

#include <string.h>

enum { LINE_MAX_BYTES = 16 << 20 };

struct reading {
    struct group *g;
    const struct table *t;
    struct lines lines;
    size_t column; /* of the line: 1 stands behind the id */
    size_t first;  /* row of g that is row 0 of t */
};

static enum status fail(const struct reading *r, struct error *err, const char *reason)
{
    return error_set(err, STATUS_DATA, "%s:%llu: %s", r->lines.source.path,
                     (unsigned long long)r->lines.number, reason);
}

/* The cell `column` (0: the id) of a line; NULL: it has fewer. */
static const char *cell(const char *line, size_t column, size_t *n)
{
    while (column > 0) {
        line = strchr(line, ',');
        if (line == NULL)
            return NULL;
        line++;
        column--;
    }
    *n = strcspn(line, ",");
    return line;
}

static enum status find_column(struct reading *r, const char *name, struct error *err)
{
    const char *c;
    char *line;
    size_t len, n;
    enum status s = lines_next(&r->lines, &line, &len, err);

    if (s != STATUS_OK)
        return s;
    for (r->column = 1; line != NULL && (c = cell(line, r->column, &n)) != NULL; r->column++) {
        if (n == strlen(name) && memcmp(c, name, n) == 0)
            return STATUS_OK;
    }
    return error_set(err, STATUS_DATA, "%s:1: no column \"%s\"", r->lines.source.path, name);
}

/* Rows are sorted; t->rows when there is none of that id. */
static size_t row_of(const struct table *t, const char *id, size_t n)
{
    size_t low = 0, high = t->rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *there = table_id(t, middle);
        const int order = order_compare(there, strlen(there), id, n);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return t->rows;
}

static enum status take_line(struct reading *r, const char *line, struct error *err)
{
    struct group *g = r->g;
    size_t id_n, n, row;
    const char *id = cell(line, 0, &id_n), *name = cell(line, r->column, &n);
    enum status s;

    row = row_of(r->t, id, id_n);
    if (name == NULL || row == r->t->rows)
        return fail(r, err, "the file changed while it was read");
    if (!text_is_plain(name, n, TABLE_ID_MAX))
        return fail(r, err,
                    "data.group: a value is 1 to 64 bytes of printable ASCII without quotes or "
                    "outer spaces");
    g->at[r->first + row] = (uint32_t)g->text.len;
    s = buf_append(&g->text, name, n);
    if (s == STATUS_OK)
        s = buf_append(&g->text, "", 1);
    return s == STATUS_OK ? s : fail(r, err, "data.group: too many names, or no memory for them");
}

static enum status read_rows(struct reading *r, struct error *err)
{
    size_t rows = 0, len;
    char *line;

    for (;; rows++) {
        enum status s = lines_next(&r->lines, &line, &len, err);

        if (s == STATUS_OK && line != NULL)
            s = take_line(r, line, err);
        if (s != STATUS_OK)
            return s;
        if (line == NULL)
            break;
    }
    return rows == r->t->rows ? STATUS_OK : fail(r, err, "the file changed while it was read");
}

enum status group_read(struct group *g, const char *path, const char *name, const struct table *t,
                       struct error *err)
{
    struct reading r = {.g = g, .t = t, .first = g->rows};
    uint32_t *at = mem_grow(g->at, g->rows * sizeof *at, (g->rows + t->rows) * sizeof *at);
    enum status s;

    if (at == NULL)
        return error_set(err, STATUS_MEMORY, "%s: no memory for the groups of %zu rows", path,
                         t->rows);
    g->at = at;
    g->rows += t->rows;
    if (g->text.max == 0)
        buf_init(&g->text, UINT32_MAX);
    s = lines_open(&r.lines, path, LINE_MAX_BYTES, err);
    if (s == STATUS_OK)
        s = find_column(&r, name, err);
    if (s == STATUS_OK)
        s = read_rows(&r, err);
    lines_close(&r.lines);
    return s;
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
        const char *id = table_id(b, i);
        const size_t there = row_of(a, id, strlen(id));

        if (there < a->rows && g->of[there] != g->of[a->rows + i])
            return i;
    }
    return b->rows;
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
