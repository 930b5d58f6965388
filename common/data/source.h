/* source.h -- rows of cells, one after the other, whatever they come out of.
 *
 * A source is opened, tells the names of its columns, gives row after row, and is closed.  What a
 * cell means is not its business: that is the schema's (schema.h).  Each kind of source is one file
 * that fills struct source_ops.
 *
 * Cells are text as it stands, numbers as they are stored, or nothing where a format can say so
 * (NULL of a database); what text counts as missing is the schema's word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SOURCE_H
#define COLONNADE_DATA_SOURCE_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SOURCE_NAME_MAX = 128,         /* of a column, with its final 0 */
    SOURCE_COLUMNS_MAX = 65536 + 3 /* those of a table, its id, its group and its time or label */
};

enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_NONE };

struct cell {
    const char *text; /* of CELL_TEXT: n bytes of UTF-8 and a final 0, valid until the next row, as
                       * readable as decimal_read wants a number */
    size_t n;
    double number; /* of CELL_NUMBER */
    enum cell_kind kind;
};

enum { SOURCE_SHORT_MAX = 17 }; /* as much as decimal_read may look at */

struct source_options {
    const char *table;  /* of a database; NULL or "": the only one */
    char delimiter;     /* of CSV; 0: the most frequent of , ; | and tab in its header */
    size_t line_max;    /* bytes in a row of CSV; 0: SOURCE_LINE_MAX */
    uint64_t steps_max; /* of SQLite's machine before a row; 0: what the file's size allows */
    int wait_ms;        /* for a server's row or answer; 0: what its kind has */
    bool digested;      /* source_digest is asked for at the end */
};

enum { SOURCE_LINE_MAX = 16 << 20, SOURCE_DIGEST_BYTES = 32 };

struct source;

struct source_ops {
    /* One more row into s->cell; *more false: there is none.  Errors name the place. */
    enum status (*next)(struct source *s, bool *more, struct error *err);
    void (*close)(struct source *s);
    /* Before the first row: how many there are at most, as far as can be told without reading cells
     * (of rows that cannot be good none behind them); NULL: it cannot be told. */
    enum status (*count)(struct source *s, size_t *rows, struct error *err);
    /* Before the first row: source_file_digest by what is open already; NULL: it cannot. */
    enum status (*digest)(struct source *s, uint8_t out[SOURCE_DIGEST_BYTES], struct error *err);
};

struct source {
    const char *path; /* kept by reference */
    const struct source_ops *ops;
    size_t cols;
    char *names;                        /* cols of them, SOURCE_NAME_MAX bytes each, unique */
    struct cell *cell;                  /* of the present row: cols of them */
    struct tally *tally;                /* of the rows so far; NULL: nobody asks */
    char (*readable)[SOURCE_SHORT_MAX]; /* by column: its text, where that is short */
    uint64_t row; /* where the present row stands: its line, or its number from 1 */
    void *state;  /* the kind's own */
};

/* By the kind that the path begins with (key_text_is_server), the file's name, or its content when
 * the name says nothing.  s is zeroed on failure. STATUS_DATA with path, place and reason. */
enum status source_open(struct source *s, const char *path, const struct source_options *o,
                        struct error *err) MUST_USE;
enum status source_next(struct source *s, bool *more, struct error *err) MUST_USE;
/* Before the first row: an upper bound on their number, so that a table is allocated once; 0: there
 * is none. */
enum status source_count(struct source *s, size_t *rows, struct error *err) MUST_USE;
/* Before the first row, of a source that is a file: SHA-256 of what it holds, unpacked. */
enum status source_file_digest(struct source *s, uint8_t out[SOURCE_DIGEST_BYTES],
                               struct error *err) MUST_USE;
void source_close(struct source *s); /* safe on a zeroed struct */

/* The column of that name; s->cols: there is none. */
size_t source_column(const struct source *s, const char *name);

/* STATUS_DATA with `path:row: ` before the words, or `path: ` where there is no row. */
enum status source_fail(const struct source *s, struct error *err, const char *fmt, ...) MUST_USE
    PRINTF_LIKE(3, 4);
/* The same about one cell: `path:row: column N "name": reason`. */
enum status source_fault(const struct source *s, size_t column, const char *reason,
                         struct error *err) MUST_USE;

enum { SOURCE_NUMBER_MAX = 32 };
/* A cell as text, ended by 0 and n bytes long: of a number one that comes back the same, written to
 * `number`; of nothing the empty one. */
const char *source_text(const struct cell *c, char number[SOURCE_NUMBER_MAX], size_t *n);

/* What all rows said, whatever their order, once there is no more: equal for two reads of a table
 * that nobody changed.  Only of a source opened with `digested`. */
void source_digest(const struct source *s, uint8_t out[SOURCE_DIGEST_BYTES]);

/* For the kinds: a cell of text that is not theirs to write to, checked for bytes 0. */
enum status source_text_cell(struct source *s, size_t column, const char *text, size_t n,
                             struct error *err) MUST_USE;
/* STATUS_DATA with the first line of somebody else's words behind `who`, cut off, and without what
 * is no printable ASCII. */
enum status source_foreign(const struct source *s, const char *who, const char *words,
                           struct error *err) MUST_USE;
/* Room for `cols` columns, and a name checked and put in. */
enum status source_columns(struct source *s, size_t cols, struct error *err) MUST_USE;
enum status source_name(struct source *s, size_t column, const char *name, size_t n,
                        struct error *err) MUST_USE;

#endif
