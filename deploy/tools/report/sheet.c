/* sheet.c -- one pass over the bytes, cutting cells in place.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/sheet.h"

#include "common/base/file.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHEET_BYTES_MAX = 1 << 28 };

struct cutter {
    char *at; /* the next byte; the text ends with a 0 */
    size_t line;
    bool ended; /* the row that was cut last has ended */
};

/* Takes the cell at c->at out of the text; NULL when its quotes are not closed. */
static char *cut_cell(struct cutter *c)
{
    char *from = c->at, *to = c->at;
    bool quoted = *c->at == '"';

    if (quoted)
        c->at++;
    for (; *c->at != 0; *to++ = *c->at++) {
        if (quoted && c->at[0] == '"' && c->at[1] == '"')
            c->at++;
        else if (quoted ? *c->at == '"' : *c->at == ',' || *c->at == '\n')
            break;
        if (*c->at == '\n')
            c->line++;
    }
    if (quoted && *c->at++ != '"')
        return NULL;
    if (quoted && *c->at == '\r' && c->at[1] == '\n')
        c->at++;
    if (quoted && *c->at != ',' && *c->at != '\n' && *c->at != 0)
        return NULL;
    if (!quoted && *c->at != ',' && to > from && to[-1] == '\r')
        to--;
    c->ended = *c->at != ',';
    if (*c->at == '\n')
        c->line++;
    if (*c->at != 0)
        c->at++;
    *to = 0;
    return from;
}

static enum status bad_cell(const struct sheet *s, size_t line, struct error *err)
{
    return error_set(err, STATUS_DATA, "%s:%zu: quotes that are not closed, or text behind them",
                     s->path, line);
}

static enum status cut_header(struct sheet *s, struct pool *p, struct cutter *c, struct error *err)
{
    do {
        char *cell = cut_cell(c);

        if (cell == NULL)
            return bad_cell(s, 1, err);
        if (sheet_column(s, cell) < s->cols)
            return error_set(err, STATUS_DATA, "%s:1: two columns are called '%.60s'", s->path,
                             cell);
        s->name = pool_more(p, s->name, s->cols, sizeof *s->name);
        s->name[s->cols++] = cell;
    } while (!c->ended);
    return STATUS_OK;
}

static enum status cut_row(struct sheet *s, struct pool *p, struct cutter *c, struct error *err)
{
    size_t line = c->line, n = 0;

    s->line = pool_more(p, s->line, s->rows, sizeof *s->line);
    s->line[s->rows] = line;
    do {
        char *cell = cut_cell(c);
        size_t at = s->rows * s->cols + n;

        if (cell == NULL)
            return bad_cell(s, line, err);
        if (n++ == s->cols)
            break;
        s->cell = pool_more(p, s->cell, at, sizeof *s->cell);
        s->cell[at] = cell;
    } while (!c->ended);
    if (n != s->cols)
        return error_set(err, STATUS_DATA, "%s:%zu: %s cells than the %zu of the header", s->path,
                         line, n < s->cols ? "fewer" : "more", s->cols);
    s->rows++;
    return STATUS_OK;
}

static bool is_text(const struct buf *file)
{
    json_t *text = json_stringn((const char *)file->data, file->len); /* NULL: no UTF-8 */
    bool good = text != NULL && memchr(file->data, 0, file->len) == NULL;

    json_decref(text);
    return good;
}

enum status sheet_read(struct sheet *s, struct pool *p, const char *path, struct error *err)
{
    struct cutter c = {.line = 1};
    struct buf file;
    enum status status;

    *s = (struct sheet){.path = pool_text(p, "%s", path)};
    buf_init(&file, SHEET_BYTES_MAX);
    status = file_read(path, &file, err);
    if (status == STATUS_OK && file.len == 0)
        status = error_set(err, STATUS_DATA, "%s: empty", path);
    if (status == STATUS_OK && !is_text(&file))
        status = error_set(err, STATUS_DATA, "%s: no UTF-8 text", path);
    if (status == STATUS_OK) {
        c.at = pool_alloc(p, file.len + 1, 1);
        memcpy(c.at, file.data, file.len);
        status = cut_header(s, p, &c, err);
    }
    while (status == STATUS_OK && *c.at != 0)
        status = cut_row(s, p, &c, err);
    buf_deinit(&file);
    return status;
}

size_t sheet_column(const struct sheet *s, const char *name)
{
    size_t i = 0;

    while (i < s->cols && strcmp(s->name[i], name) != 0)
        i++;
    return i;
}

enum status sheet_need(const struct sheet *s, size_t *column, const char *name, struct error *err)
{
    *column = sheet_column(s, name);
    return *column < s->cols ? STATUS_OK
                             : error_set(err, STATUS_DATA, "%s:1: no column '%s'", s->path, name);
}

const char *sheet_text(const struct sheet *s, size_t row, size_t column)
{
    return column < s->cols ? s->cell[row * s->cols + column] : "";
}

enum status sheet_number(const struct sheet *s, size_t row, size_t column, double *number,
                         struct error *err)
{
    const char *text = sheet_text(s, row, column);
    char *end;

    *number = NAN;
    if (text[0] == 0)
        return STATUS_OK;
    *number = strtod(text, &end);
    if (*end == 0 && *number >= 0 && (isfinite(*number) || strcmp(text, "inf") == 0))
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "%s:%zu: %s: '%.40s' is no number from 0 on", s->path,
                     s->line[row], s->name[column], text);
}
