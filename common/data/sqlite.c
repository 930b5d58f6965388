/* sqlite.c -- one SELECT, row by row.
 *
 * The file may come from elsewhere: nothing in its schema is trusted to have effects, no value is
 * longer than a row of text may be, and a view that works for ever before it yields a row, is too
 * long about every one of them, or takes all memory for it, is given up.
 *
 * Nothing is written either.  Of a file in WAL mode SQLite would make two more beside it, unless it
 * is told that nobody else has a hand on the file: so it is told, where no -wal says that somebody
 * has, and when the last row is read that still has to be so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/sqlite.h"

#include "common/base/mem.h"
#include "common/data/stream.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS_AT_ONCE = 1 << 16 }; /* of SQLite's machine, between two looks at the budget */

/* Of all that SQLite has in this process: its pages, and what a view sorts in memory. */
static const sqlite3_int64 HEAP_MAX = INT64_C(1) << 31;
/* Before a row; a sorted view of a large file has to look at all of it first. */
static const uint64_t STEPS_MAX = 1000000000, STEPS_A_BYTE = 16,
                      STEPS_BYTES_MAX = UINT64_C(1) << 36;
/* That each row gives back of them: so a view ends, though every row of it may take its time. */
static const uint64_t STEPS_A_ROW = 100000, STEPS_A_CELL = 16;

struct sqlite {
    sqlite3 *db;
    sqlite3_stmt *rows;
    char real[PATH_MAX]; /* the file itself, beside which its log stands, where `path` is a link */
    bool alone;          /* nobody else has a hand on it, which was `was` then */
    struct stat was;
    uint64_t steps, steps_max; /* not given back by rows */
};

static enum status refuse(const struct source *s, struct error *err)
{
    const struct sqlite *q = s->state;
    const int code = sqlite3_errcode(q->db);

    if (code == SQLITE_NOMEM)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    if ((code & 0xff) == SQLITE_IOERR)
        return error_set(err, STATUS_IO, "%s: %s", s->path, sqlite3_errstr(code));
    if (code == SQLITE_INTERRUPT)
        return source_fail(s, err,
                           "no further row in %llu steps of SQLite: a view without an end, or far "
                           "too slow?",
                           (unsigned long long)q->steps_max);
    return source_fail(s, err, "%s", sqlite3_errstr(code));
}

static int over_budget(void *state)
{
    struct sqlite *q = state;

    q->steps += STEPS_AT_ONCE;
    return q->steps > q->steps_max;
}

/* A file without a size is one that is not there, which opening it says. */
static void limit(struct source *s, const struct source_options *o)
{
    struct sqlite *q = s->state;
    struct stat st;
    uint64_t bytes = stat(q->real, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;

    if (bytes > STEPS_BYTES_MAX)
        bytes = STEPS_BYTES_MAX;
    q->steps_max = o->steps_max > 0 ? o->steps_max : STEPS_MAX + STEPS_A_BYTE * bytes;
    sqlite3_hard_heap_limit64(HEAP_MAX);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH,
                  (int)(o->line_max == 0 ? SOURCE_LINE_MAX : o->line_max));
    sqlite3_progress_handler(q->db, STEPS_AT_ONCE, over_budget, q);
}

enum status sqlite_is(bool *sqlite, const char *path, struct error *err)
{
    static const char magic[] = "SQLite format 3"; /* and its final 0 */
    char first[sizeof magic];
    struct stream in;
    size_t n = 0;
    enum status s = stream_open(&in, path, err);

    if (s == STATUS_OK)
        s = stream_read(&in, first, sizeof first, &n, err);
    *sqlite = n == sizeof magic && memcmp(first, magic, sizeof magic) == 0;
    stream_close(&in);
    return s;
}

/* --- a file in WAL mode --- */

static bool has_log(const char *path)
{
    char *log = sqlite3_mprintf("%s-wal", path);
    struct stat is;
    const bool has = log == NULL || lstat(log, &is) == 0;

    sqlite3_free(log);
    return has;
}

/* Bytes 18 and 19 of a file that is in it are 2 (sqlite.org/fileformat2.html, section 1.3). */
static enum status is_alone(struct source *s, struct error *err)
{
    struct sqlite *q = s->state;
    char header[20] = {0};
    struct stream in;
    size_t n = 0;
    enum status status = stream_open(&in, q->real, err);

    if (status == STATUS_OK)
        status = stream_read(&in, header, sizeof header, &n, err);
    stream_close(&in);
    q->alone = status == STATUS_OK && header[18] == 2 && header[19] == 2 &&
               stat(q->real, &q->was) == 0 && !has_log(q->real);
    return status;
}

/* As a URI: what is a sign there, or no ASCII, is written out; the path begins with a slash. */
static char *uri_of(const char *path)
{
    char *uri = sqlite3_mprintf("file://");

    for (; uri != NULL && *path != 0; path++) {
        const unsigned char byte = (unsigned char)*path;

        uri = byte >= 0x80 || strchr("%?#", byte) != NULL ? sqlite3_mprintf("%z%%%02X", uri, byte)
                                                          : sqlite3_mprintf("%z%c", uri, byte);
    }
    return uri == NULL ? NULL : sqlite3_mprintf("%z?immutable=1", uri);
}

static enum status open_file(struct source *s, struct error *err)
{
    struct sqlite *q = s->state;
    enum status status = STATUS_OK;
    char *uri = NULL;
    int code;

    if (realpath(s->path, q->real) == NULL)
        return error_set(err, STATUS_IO, "%s: %s", s->path, strerror(errno));
    status = is_alone(s, err);
    if (status == STATUS_OK && q->alone) {
        uri = uri_of(q->real);
        if (uri == NULL)
            return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    }
    if (status != STATUS_OK)
        return status;
    code = sqlite3_open_v2(uri != NULL ? uri : q->real, &q->db,
                           SQLITE_OPEN_READONLY | (uri != NULL ? SQLITE_OPEN_URI : 0), NULL);
    sqlite3_free(uri);
    return code == SQLITE_OK ? STATUS_OK : refuse(s, err);
}

/* Whoever began to write meanwhile may have changed what was read behind it. */
static enum status still_alone(const struct source *s, struct error *err)
{
    const struct sqlite *q = s->state;
    struct stat is;

    if (!q->alone || (stat(q->real, &is) == 0 && !has_log(q->real) && is.st_ino == q->was.st_ino &&
                      is.st_dev == q->was.st_dev && is.st_size == q->was.st_size &&
                      is.st_ctim.tv_sec == q->was.st_ctim.tv_sec &&
                      is.st_ctim.tv_nsec == q->was.st_ctim.tv_nsec))
        return STATUS_OK;
    return error_set(err, STATUS_DATA, "%s: it was written to while it was read", s->path);
}

/* --- rows --- */

static enum status sqlite_next(struct source *s, bool *more, struct error *err)
{
    struct sqlite *q = s->state;
    const int step = sqlite3_step(q->rows);
    const uint64_t back = STEPS_A_ROW + STEPS_A_CELL * s->cols;
    enum status status = STATUS_OK;
    const char *text;

    *more = step == SQLITE_ROW;
    q->steps -= q->steps < back ? q->steps : back;
    s->row++;
    if (step == SQLITE_DONE)
        return still_alone(s, err);
    if (step != SQLITE_ROW)
        return refuse(s, err);
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        struct cell *c = &s->cell[i];
        const int type = sqlite3_column_type(q->rows, (int)i);

        c->kind = type == SQLITE_NULL ? CELL_NONE : type == SQLITE_FLOAT ? CELL_NUMBER : CELL_TEXT;
        c->n = 0;
        if (type == SQLITE_BLOB)
            return source_fault(s, i, "a blob, which is no text and no number", err);
        if (c->kind == CELL_NUMBER)
            c->number = sqlite3_column_double(q->rows, (int)i);
        if (c->kind != CELL_TEXT)
            continue;
        text = (const char *)sqlite3_column_text(q->rows, (int)i);
        if (text == NULL)
            return refuse(s, err);
        status = source_text_cell(s, i, text, (size_t)sqlite3_column_bytes(q->rows, (int)i), err);
    }
    return status;
}

static void sqlite_close(struct source *s)
{
    struct sqlite *q = s->state;

    sqlite3_finalize(q->rows);
    sqlite3_close(q->db);
    mem_free(q);
}

static const struct source_ops sqlite_ops = {.next = sqlite_next, .close = sqlite_close};

/* The name of the only table or view; the caller's to sqlite3_free. */
static enum status only_table(struct source *s, char **name, struct error *err)
{
    static const char list[] = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND "
                               "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    const struct sqlite *q = s->state;
    sqlite3_stmt *names = NULL;
    enum status status = STATUS_OK;
    int n = 0;

    *name = NULL;
    if (sqlite3_prepare_v2(q->db, list, -1, &names, NULL) != SQLITE_OK)
        return refuse(s, err);
    for (; n < 2 && sqlite3_step(names) == SQLITE_ROW; n++)
        if (n == 0)
            *name = sqlite3_mprintf("%s", sqlite3_column_text(names, 0));
    if (sqlite3_errcode(q->db) != SQLITE_ROW && sqlite3_errcode(q->db) != SQLITE_DONE)
        status = refuse(s, err);
    else if (n != 1)
        status = source_fail(s, err, n == 0 ? "no table in it" : "several tables: say which one");
    sqlite3_finalize(names);
    return status;
}

static enum status begin(struct source *s, const char *table, struct error *err)
{
    struct sqlite *q = s->state;
    char *text = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    enum status status = STATUS_OK;
    bool known;

    if (text == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    known = sqlite3_prepare_v2(q->db, text, -1, &q->rows, NULL) == SQLITE_OK;
    sqlite3_free(text);
    if (!known)
        return sqlite3_errcode(q->db) == SQLITE_ERROR
                   ? source_fail(s, err, "no table \"%.64s\"", table)
                   : refuse(s, err);
    status = source_columns(s, (size_t)sqlite3_column_count(q->rows), err);
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        const char *name = sqlite3_column_name(q->rows, (int)i);

        status = name == NULL
                     ? error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY))
                     : source_name(s, i, name, strlen(name), err);
    }
    return status;
}

enum status sqlite_open(struct source *s, const struct source_options *o, struct error *err)
{
    struct sqlite *q = mem_alloc(1, sizeof *q);
    char *only = NULL;
    enum status status = STATUS_OK;

    if (q == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    s->state = q;
    s->ops = &sqlite_ops;
    status = open_file(s, err);
    if (status != STATUS_OK)
        return status;
    limit(s, o);
    if (o->table == NULL || o->table[0] == 0)
        status = only_table(s, &only, err);
    if (status == STATUS_OK)
        status = begin(s, only != NULL ? only : o->table, err);
    sqlite3_free(only);
    return status;
}
