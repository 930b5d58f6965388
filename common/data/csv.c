/* csv.c -- cells cut out of lines in place.
 *
 * Most lines hold no quote; they are cut in one walk.  One that does is first followed to where its
 * quotes close, joining lines to it as long as they do not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/csv.h"

#include "common/base/bytes8.h"
#include "common/base/mem.h"
#include "common/data/decimal.h"
#include "common/data/lines.h"
#include "common/data/table.h"
#include "common/data/text.h"

#include <string.h>

_Static_assert((int)LINES_READABLE >= DECIMAL_READABLE,
               "the last cell of a line is as readable as the others");

struct csv {
    struct lines lines;
    char delimiter;
    bool quoted; /* there is a quote in the record in hand */
};

/* What divides cells where nobody says, by how often they are in the header. */
static const char guessed[] = ",;|\t";

/* --- records --- */

enum place { CELL_STARTS, IN_CELL, IN_QUOTES, QUOTE_IN_QUOTES };

static bool is_blank(char c, char delimiter)
{
    return (c == ' ' || c == '\t') && c != delimiter;
}

/* Where in a cell one stands behind the bytes from..n of the record, when it was `at` before. */
static enum place walk(enum place at, const char *record, size_t from, size_t n, char delimiter)
{
    for (size_t i = from; i < n; i++) {
        const char c = record[i];

        switch (at) {
        case CELL_STARTS:
        case IN_CELL:
            if (c == delimiter)
                at = CELL_STARTS;
            else if (at == CELL_STARTS && c == '"')
                at = IN_QUOTES;
            else if (at == IN_CELL || !is_blank(c, delimiter))
                at = IN_CELL;
            break;
        case IN_QUOTES: at = c == '"' ? QUOTE_IN_QUOTES : IN_QUOTES; break;
        case QUOTE_IN_QUOTES:
            at = c == '"' ? IN_QUOTES : c == delimiter ? CELL_STARTS : IN_CELL;
            break;
        }
    }
    return at;
}

/* Joins lines to the one in hand until its quotes close. */
static enum status close_quotes(struct source *s, char **record, size_t *n, struct error *err)
{
    struct csv *c = s->state;
    enum place at = CELL_STARTS;
    size_t walked = 0;

    c->quoted = memchr(*record, '"', *n) != NULL;
    if (!c->quoted)
        return STATUS_OK;
    for (;;) {
        enum status status;

        at = walk(at, *record, walked, *n, c->delimiter);
        walked = *n;
        if (at != IN_QUOTES)
            return STATUS_OK;
        status = lines_join(&c->lines, record, n, err);
        if (status == STATUS_OK && *record == NULL)
            status = source_fail(s, err, "a cell in quotes does not end");
        if (status != STATUS_OK)
            return status;
    }
}

/* The next record, with as many lines as its quotes need; NULL at the end. */
static enum status next_record(struct source *s, char **record, size_t *n, struct error *err)
{
    struct csv *c = s->state;
    enum status status = lines_next(&c->lines, record, n, err);

    s->row = c->lines.number;
    if (status != STATUS_OK || *record == NULL)
        return status;
    return close_quotes(s, record, n, err);
}

/* --- cells --- */

/* A cell in quotes at *at, unescaped in place; *at moves to the delimiter or the end behind it.
 * False: something else stands behind the closing quote. */
static bool cut_quoted(char **at, struct cell *cell, char delimiter)
{
    char *from = *at + 1, *to = from;

    cell->text = from;
    for (; *from != 0; from++) {
        if (*from == '"' && *++from != '"')
            break;
        *to++ = *from;
    }
    cell->n = (size_t)(to - cell->text);
    while (is_blank(*from, delimiter))
        from++;
    *at = from;
    if (*from != delimiter && *from != 0)
        return false;
    if (to != from)
        *to = 0;
    return true;
}

/* A cell without quotes that ends where its delimiter or the record does, without the blanks around
 * it; ended by 0 where blanks behind it leave room for that, else by whoever takes the delimiter.
 */
static void put_plain(struct cell *cell, char *from, char *end, char delimiter)
{
    char *to = end;

    while (is_blank(*from, delimiter))
        from++;
    while (to > from && is_blank(to[-1], delimiter))
        to--;
    if (to != end)
        *to = 0;
    cell->kind = CELL_TEXT;
    cell->text = from;
    cell->n = (size_t)(to - from);
}

static void cut_plain(char **at, struct cell *cell, char delimiter)
{
    char *from = *at;

    while (**at != delimiter && **at != 0)
        ++*at;
    put_plain(cell, from, *at, delimiter);
}

/* The cells of a record, each ended by 0; *n: how many there are, of which no more than max are put
 * down. */
static enum status cut_cells(const struct source *s, char *record, struct cell *cell, size_t max,
                             size_t *n, struct error *err)
{
    const char delimiter = ((struct csv *)s->state)->delimiter;
    struct cell beyond;
    char *at = record;

    for (*n = 0;; at++) {
        struct cell *here = *n < max ? &cell[*n] : &beyond;
        bool last;

        here->kind = CELL_TEXT;
        while (is_blank(*at, delimiter))
            at++;
        if (*at != '"')
            cut_plain(&at, here, delimiter);
        else if (!cut_quoted(&at, here, delimiter))
            return source_fail(s, err, "a cell in quotes goes on behind them");
        ++*n;
        last = *at == 0;
        *at = 0;
        if (last)
            return STATUS_OK;
    }
}

/* The cells of a record without quotes, n bytes long, found by eight bytes at a time.  What stands
 * behind the record may be read. */
static size_t cut_unquoted(char *record, size_t n, char delimiter, struct cell *cell, size_t max)
{
    struct cell beyond;
    char *from = record;
    size_t cells = 0;

    for (size_t at = 0; at < n; at += BYTES8) {
        uint64_t marks = bytes8_equal(bytes8_load(record + at), (uint8_t)delimiter);

        for (; marks != 0; marks &= marks - 1) {
            const size_t end = at + bytes8_first(marks);

            if (end >= n)
                break;
            put_plain(cells < max ? &cell[cells] : &beyond, from, record + end, delimiter);
            record[end] = 0;
            cells++;
            from = record + end + 1;
        }
    }
    put_plain(cells < max ? &cell[cells] : &beyond, from, record + n, delimiter);
    return cells + 1;
}

/* --- the source --- */

/* Nothing but empty lines may follow an empty one. */
static enum status expect_end(struct source *s, struct error *err)
{
    const uint64_t empty = s->row;
    char *record;
    size_t n;

    do {
        enum status status = next_record(s, &record, &n, err);

        if (status != STATUS_OK || record == NULL)
            return status;
    } while (n == 0);
    s->row = empty;
    return source_fail(s, err, "empty line");
}

static enum status csv_next(struct source *s, bool *more, struct error *err)
{
    const struct csv *c = s->state;
    size_t n, cells;
    char *record;
    enum status status = next_record(s, &record, &n, err);

    *more = record != NULL && n > 0;
    if (status != STATUS_OK || record == NULL)
        return status;
    if (n == 0)
        return expect_end(s, err);
    if (!c->quoted)
        cells = cut_unquoted(record, n, c->delimiter, s->cell, s->cols);
    else
        status = cut_cells(s, record, s->cell, s->cols, &cells, err);
    if (status == STATUS_OK && cells != s->cols)
        status = source_fail(s, err, "%zu cells, but the header has %zu", cells, s->cols);
    return status;
}

/* From the first row. */
static enum status begin_again(struct source *s, struct error *err)
{
    struct csv *c = s->state;
    char *header;
    size_t n;
    enum status status = lines_rewind(&c->lines, err);

    return status == STATUS_OK ? next_record(s, &header, &n, err) : status;
}

/* Lines, of which a row has at least one.  Up to the first that is too short for its delimiters: it
 * is refused when it is read, or inside quotes, and the table then grows as it is filled. */
static enum status csv_count(struct source *s, size_t *rows, struct error *err)
{
    struct csv *c = s->state;
    enum status status;
    char *line;
    size_t n;

    do {
        status = lines_next(&c->lines, &line, &n, err);
        if (status != STATUS_OK)
            return status;
    } while (line != NULL && n + 1 >= s->cols && n > 0 && ++*rows < TABLE_ROWS_MAX);
    return begin_again(s, err);
}

static enum status csv_digest(struct source *s, uint8_t out[SOURCE_DIGEST_BYTES], struct error *err)
{
    struct csv *c = s->state;
    enum status status = stream_digest(out, &c->lines.stream, err);

    return status == STATUS_OK ? begin_again(s, err) : status;
}

static void csv_close(struct source *s)
{
    struct csv *c = s->state;

    lines_close(&c->lines);
    mem_free(c);
}

static const struct source_ops csv_ops = {
    .next = csv_next, .close = csv_close, .count = csv_count, .digest = csv_digest};

static char most_frequent(const char *header)
{
    size_t count[sizeof guessed] = {0}, most = 0;
    bool quoted = false;

    for (const char *c = header; *c != 0; c++) {
        const char *found = quoted ? NULL : strchr(guessed, *c);

        quoted ^= *c == '"';
        if (found != NULL)
            count[found - guessed]++;
    }
    for (size_t i = 1; i < sizeof guessed - 1; i++)
        if (count[i] > count[most])
            most = i;
    return guessed[most];
}

static enum status read_names(struct source *s, char *record, struct error *err)
{
    struct cell one;
    size_t cols = 1;
    enum status status;
    const struct csv *c = s->state;

    for (const char *at = record; *at != 0; at++)
        cols += *at == c->delimiter;
    status = source_columns(s, cols, err); /* that many at most */
    if (status == STATUS_OK)
        status = cut_cells(s, record, s->cell, cols, &s->cols, err);
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        one = s->cell[i];
        status = source_name(s, i, one.text, one.n, err);
    }
    return status;
}

enum status csv_open(struct source *s, const struct source_options *o, struct error *err)
{
    struct csv *c = mem_alloc(1, sizeof *c);
    char *record = NULL;
    size_t n = 0;
    enum status status;

    if (c == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    s->state = c;
    s->ops = &csv_ops;
    c->delimiter = o->delimiter;
    status = lines_open(&c->lines, s->path, o->line_max == 0 ? SOURCE_LINE_MAX : o->line_max, err);
    if (status == STATUS_OK)
        status = lines_next(&c->lines, &record, &n, err);
    if (status != STATUS_OK)
        return status;
    if (record == NULL)
        return error_set(err, STATUS_DATA, "%s: empty file", s->path);
    s->row = c->lines.number;
    if (c->delimiter == 0)
        c->delimiter = most_frequent(record);
    status = close_quotes(s, &record, &n, err);
    return status == STATUS_OK ? read_names(s, record, err) : status;
}

bool csv_delimiter(char c)
{
    return c == '\t' || (c != 0 && strchr("!#$%&*,/:;<=>?@\\^_`|~", c) != NULL);
}

void csv_put(FILE *out, const char *text, size_t n)
{
    bool quoted = n > 0 && (is_blank(text[0], ',') || is_blank(text[n - 1], ','));

    for (size_t i = 0; i < n && !quoted; i++)
        quoted = strchr("\"\r\n", text[i]) != NULL || strchr(guessed, text[i]) != NULL;
    if (!quoted) {
        fwrite(text, 1, n, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}
