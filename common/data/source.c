/* source.c -- which kind a source is, and the names of its columns.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/source.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/data/csv.h"
#include "common/data/decimal.h"
#include "common/data/odbc.h"
#include "common/data/order.h"
#include "common/data/postgres.h"
#include "common/data/sqlite.h"
#include "common/data/stream.h"
#include "common/data/table.h"
#include "common/data/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SOURCE_NAME_MAX == (int)TABLE_NAME_MAX, "names of columns are of one length");
_Static_assert(SOURCE_COLUMNS_MAX == (int)TABLE_COLUMNS_MAX + 3, "as many columns as a table");
_Static_assert((int)SOURCE_SHORT_MAX == DECIMAL_READABLE, "short texts are copied whole");
_Static_assert((int)SOURCE_DIGEST_BYTES == DIGEST_BYTES, "rows are tallied by their digests");

enum { FOREIGN_MAX = 200 };

enum status source_fail(const struct source *s, struct error *err, const char *fmt, ...)
{
    char words[ERROR_TEXT_MAX], row[24] = "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    if (s->row > 0)
        snprintf(row, sizeof row, ":%llu", (unsigned long long)s->row);
    return error_set(err, STATUS_DATA, "%s%s: %s", s->path, row, words);
}

enum status source_fault(const struct source *s, size_t column, const char *reason,
                         struct error *err)
{
    char shown[TEXT_EXCERPT_MAX];
    const char *name = s->names + column * SOURCE_NAME_MAX;

    text_excerpt(shown, name, strlen(name));
    return source_fail(s, err, "column %zu \"%s\": %s", column + 1, shown, reason);
}

static enum status no_memory(const struct source *s, struct error *err)
{
    return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
}

const char *source_text(const struct cell *c, char number[SOURCE_NUMBER_MAX], size_t *n)
{
    number[0] = 0;
    *n = c->n;
    if (c->kind == CELL_TEXT)
        return c->text;
    if (c->kind == CELL_NUMBER)
        snprintf(number, SOURCE_NUMBER_MAX, "%.17g", c->number);
    *n = strlen(number);
    return number;
}

enum status source_columns(struct source *s, size_t cols, struct error *err)
{
    if (cols > SOURCE_COLUMNS_MAX)
        return source_fail(s, err, "%zu columns, at most %d", cols, SOURCE_COLUMNS_MAX);
    s->names = mem_alloc(cols, SOURCE_NAME_MAX);
    s->cell = mem_alloc(cols, sizeof *s->cell);
    if (s->names == NULL || s->cell == NULL)
        return no_memory(s, err);
    s->cols = cols;
    return STATUS_OK;
}

static enum status refuse_name(const struct source *s, size_t column, const char *name, size_t n,
                               struct error *err)
{
    char shown[TEXT_EXCERPT_MAX];

    text_excerpt(shown, name, n);
    return source_fail(s, err,
                       "column %zu \"%s\": a name is 1 to %d bytes of UTF-8 without control "
                       "characters or outer spaces",
                       column + 1, shown, SOURCE_NAME_MAX - 1);
}

enum status source_name(struct source *s, size_t column, const char *name, size_t n,
                        struct error *err)
{
    if (text_is_name(name, n, SOURCE_NAME_MAX - 1)) {
        memcpy(s->names + column * SOURCE_NAME_MAX, name, n);
        return STATUS_OK;
    }
    return refuse_name(s, column, name, n, err);
}

static enum status check_unique(const struct source *s, struct error *err)
{
    struct order_item *items = mem_alloc(s->cols, sizeof *items);
    size_t i;
    enum status status = STATUS_OK;

    if (items == NULL)
        return no_memory(s, err);
    for (i = 0; i < s->cols; i++)
        items[i] = order_item(s->names, (uint32_t)(i * SOURCE_NAME_MAX), (uint32_t)i);
    order_sort(items, s->cols, s->names);
    i = order_repeated(items, s->cols, s->names);
    if (i < s->cols) {
        char shown[TEXT_EXCERPT_MAX];

        text_excerpt(shown, s->names + items[i].at, strlen(s->names + items[i].at));
        status = source_fail(s, err, "columns %lu and %lu are both \"%s\"",
                             (unsigned long)items[i].row + 1, (unsigned long)items[i + 1].row + 1,
                             shown);
    }
    mem_free(items);
    return status;
}

enum status source_text_cell(struct source *s, size_t column, const char *text, size_t n,
                             struct error *err)
{
    if (memchr(text, 0, n) != NULL)
        return source_fault(s, column, "byte 0 in a text", err);
    if (s->readable == NULL && (s->readable = mem_alloc(s->cols, sizeof *s->readable)) == NULL)
        return no_memory(s, err);
    if (n < SOURCE_SHORT_MAX) {
        memcpy(s->readable[column], text, n);
        s->readable[column][n] = 0;
        text = s->readable[column];
    }
    s->cell[column] = (struct cell){.kind = CELL_TEXT, .text = text, .n = n};
    return STATUS_OK;
}

enum status source_foreign(const struct source *s, const char *who, const char *words,
                           struct error *err)
{
    char line[FOREIGN_MAX];
    size_t n = 0;

    for (; words[n] != 0 && words[n] != '\n' && n + 1 < sizeof line; n++)
        line[n] = words[n] >= ' ' && words[n] < 0x7f ? words[n] : '?';
    line[n] = 0;
    return source_fail(s, err, "%s: %s", who, line);
}

/* --- what was read --- */

/* The sum of the digests of all rows, as a number of 256 bits: in whatever order they come. */
struct tally {
    uint64_t sum[SOURCE_DIGEST_BYTES / 8];
};

static void count_cell(struct digest *d, const struct cell *c)
{
    const uint8_t kind = (uint8_t)c->kind;
    const uint64_t n = c->kind == CELL_TEXT ? c->n : 0;

    digest_update(d, &kind, 1);
    digest_update(d, &n, sizeof n);
    if (c->kind == CELL_TEXT)
        digest_update(d, c->text, c->n);
    else if (c->kind == CELL_NUMBER)
        digest_update(d, &c->number, sizeof c->number);
}

static void count_row(struct source *s)
{
    uint64_t row[SOURCE_DIGEST_BYTES / 8];
    uint8_t bytes[DIGEST_BYTES];
    struct digest d;
    bool carry = false;

    digest_begin(&d);
    for (size_t i = 0; i < s->cols; i++)
        count_cell(&d, &s->cell[i]);
    digest_final(&d, bytes);
    memcpy(row, bytes, sizeof row);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const uint64_t sum = s->tally->sum[i] + row[i];

        s->tally->sum[i] = sum + carry;
        carry = sum < row[i] || s->tally->sum[i] < sum;
    }
}

void source_digest(const struct source *s, uint8_t out[SOURCE_DIGEST_BYTES])
{
    struct digest d;

    CHECK(s->tally != NULL);
    digest_begin(&d);
    digest_update(&d, s->names, s->cols * SOURCE_NAME_MAX);
    digest_update(&d, s->tally->sum, sizeof s->tally->sum);
    digest_final(&d, out);
}

/* --- kinds --- */

enum status source_open(struct source *s, const char *path, const struct source_options *o,
                        struct error *err)
{
    enum status status = STATUS_OK;
    bool sqlite = false;

    *s = (struct source){.path = path};
    if (strncmp(path, "postgres:", 9) == 0) {
        status = postgres_open(s, o, err);
    } else if (strncmp(path, "odbc:", 5) == 0) {
        status = odbc_open(s, o, err);
    } else {
        if (!stream_is_csv(path))
            status = sqlite_is(&sqlite, path, err);
        if (status == STATUS_OK)
            status = sqlite ? sqlite_open(s, o, err) : csv_open(s, o, err);
    }
    if (status == STATUS_OK)
        status = check_unique(s, err);
    if (status == STATUS_OK && o->digested) {
        s->tally = mem_alloc(1, sizeof *s->tally);
        status = s->tally != NULL ? status : no_memory(s, err);
    }
    if (status != STATUS_OK)
        source_close(s);
    return status;
}

enum status source_next(struct source *s, bool *more, struct error *err)
{
    enum status status = s->ops->next(s, more, err);

    if (status == STATUS_OK && *more && s->tally != NULL)
        count_row(s);
    return status;
}

enum status source_count(struct source *s, size_t *rows, struct error *err)
{
    *rows = 0;
    return s->ops->count == NULL ? STATUS_OK : s->ops->count(s, rows, err);
}

enum status source_file_digest(struct source *s, uint8_t out[SOURCE_DIGEST_BYTES],
                               struct error *err)
{
    struct stream in;
    enum status status;

    if (s->ops->digest != NULL)
        return s->ops->digest(s, out, err);
    status = stream_open(&in, s->path, err);
    if (status == STATUS_OK)
        status = stream_digest(out, &in, err);
    stream_close(&in);
    return status;
}

void source_close(struct source *s)
{
    if (s->ops != NULL)
        s->ops->close(s);
    mem_free(s->names);
    mem_free(s->cell);
    mem_free(s->readable);
    mem_free(s->tally);
    *s = (struct source){0};
}

size_t source_column(const struct source *s, const char *name)
{
    size_t i = 0;

    while (i < s->cols && strcmp(s->names + i * SOURCE_NAME_MAX, name) != 0)
        i++;
    return i;
}
