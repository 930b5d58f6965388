/* csv_header.c -- column names: first `id`, then unique plain names, labels only where they belong.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/csv_header.h"

#include "common/base/mem.h"
#include "common/data/order.h"
#include "common/data/text.h"

#include <string.h>

static enum status refuse(const struct lines *l, const char *reason, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s:1: %s", l->source.path, reason);
}

static enum status refuse_name(const struct lines *l, size_t column, const char *name, size_t n,
                               const char *reason, struct error *err)
{
    char shown[TEXT_EXCERPT_MAX];

    text_excerpt(shown, name, n);
    return error_set(err, STATUS_DATA, "%s:1: column %zu \"%s\": %s", l->source.path, column, shown,
                     reason);
}

static size_t name_length(const char *name)
{
    return strcspn(name, ",");
}

static enum status check_first(const struct lines *l, const char *line, struct error *err)
{
    size_t n = name_length(line);

    if (strncmp(line, "\xef\xbb\xbf", 3) == 0)
        return refuse(l, "the file begins with a byte order mark: save it without one", err);
    if (n != 2 || memcmp(line, "id", 2) != 0)
        return refuse_name(l, 1, line, n, "the first column must be id", err);
    return STATUS_OK;
}

static enum status check_unique(const struct table *t, const struct lines *l, struct error *err)
{
    struct order_item *items = mem_alloc(t->cols, sizeof *items);
    size_t i;
    enum status s = STATUS_OK;

    if (items == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", l->source.path, status_words(STATUS_MEMORY));
    for (i = 0; i < t->cols; i++)
        items[i] = order_item(t->names, (uint32_t)(i * TABLE_NAME_MAX), (uint32_t)i);
    order_sort(items, t->cols, t->names);
    i = order_repeated(items, t->cols, t->names);
    if (i < t->cols)
        s = error_set(err, STATUS_DATA, "%s:1: columns %lu and %lu are both \"%s\"", l->source.path,
                      (unsigned long)items[i].row + 2, (unsigned long)items[i + 1].row + 2,
                      t->names + items[i].at);
    mem_free(items);
    return s;
}

/* `name` runs over the names behind the id. */
static enum status take_names(struct table *t, const struct lines *l, const char *name,
                              const struct table_want *want, struct error *err)
{
    for (size_t i = 0; i < t->cols; i++) {
        size_t n = name_length(name);

        if (!text_is_plain(name, n, TABLE_NAME_MAX - 1))
            return refuse_name(l, i + 2, name, n,
                               "a name is 1 to 127 printable ASCII bytes without quotes or outer "
                               "spaces",
                               err);
        memcpy(t->names + i * TABLE_NAME_MAX, name, n);
        if (strcmp(t->names + i * TABLE_NAME_MAX, "id") == 0)
            return refuse_name(l, i + 2, name, n, "only the first column is called id", err);
        if (!want->labels && strcmp(t->names + i * TABLE_NAME_MAX, "label") == 0)
            return refuse_name(l, i + 2, name, n,
                               "labels belong to the server, in a file of their own", err);
        name += n + 1;
    }
    return STATUS_OK;
}

/* Takes the column called `name` out of the names. */
static enum status leave_out(struct table *t, size_t *left_out, const struct lines *l,
                             const char *name, struct error *err)
{
    size_t i = 0;

    *left_out = CSV_HEADER_NONE;
    if (name == NULL)
        return STATUS_OK;
    while (i < t->cols && strcmp(t->names + i * TABLE_NAME_MAX, name) != 0)
        i++;
    if (i == t->cols)
        return error_set(err, STATUS_DATA, "%s:1: no column \"%s\"", l->source.path, name);
    if (t->cols == 1)
        return error_set(err, STATUS_DATA, "%s:1: no column besides id and \"%s\"", l->source.path,
                         name);
    t->cols--;
    memmove(t->names + i * TABLE_NAME_MAX, t->names + (i + 1) * TABLE_NAME_MAX,
            (t->cols - i) * TABLE_NAME_MAX);
    *left_out = i;
    return STATUS_OK;
}

enum status csv_header_read(struct table *t, size_t *left_out, struct lines *lines,
                            const struct table_want *want, struct error *err)
{
    char *line;
    size_t len, cols = 0;
    enum status s = lines_next(lines, &line, &len, err);

    if (s != STATUS_OK)
        return s;
    if (line == NULL)
        return error_set(err, STATUS_DATA, "%s: empty file", lines->source.path);
    s = check_first(lines, line, err);
    if (s != STATUS_OK)
        return s;
    for (size_t i = 0; i < len; i++)
        cols += line[i] == ',';
    if (want->labels && strcmp(line, "id,label") != 0)
        return refuse(lines, "a label file has exactly the columns id,label", err);
    if (cols == 0)
        return refuse(lines, "no column besides id", err);
    if (cols > TABLE_COLUMNS_MAX)
        return error_set(err, STATUS_DATA, "%s:1: %zu columns, at most %d", lines->source.path,
                         cols, TABLE_COLUMNS_MAX);
    t->names = mem_alloc(cols, TABLE_NAME_MAX);
    if (t->names == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", lines->source.path,
                         status_words(STATUS_MEMORY));
    t->cols = cols;
    s = take_names(t, lines, line + 3, want, err);
    if (s == STATUS_OK)
        s = check_unique(t, lines, err);
    return s == STATUS_OK ? leave_out(t, left_out, lines, want->group, err) : s;
}
