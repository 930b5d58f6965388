/* table.h -- rows by id: features of a party, or labels of the server.
 *
 * Rows are sorted by id (shorter first, then bytewise: the order of decimal numbers) so that files
 * of different organisations line up without being in the same order.  Ids are 1..64 printable
 * bytes, unique.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_TABLE_H
#define COLONNADE_DATA_TABLE_H

#include "common/base/status.h"
#include "common/data/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TABLE_ID_MAX = 64,
    TABLE_COLUMNS_MAX = 65536,
    TABLE_ROWS_MAX = 100000000,
    TABLE_NAME_MAX = 128
};
#define TABLE_VALUES_MAX ((size_t)1 << 33) /* rows * cols */
#define TABLE_VALUE_LIMIT 1e12F            /* of a feature, after scaling: table_limit */

/* Rows of an alignment (places.h): their ids are places, 0, 1, ..., and this is what their side
 * calls them.  Every id here is unique, too. */
struct table_own {
    bool any;
    uint8_t alignment[32]; /* what the places are bound to */
    char *text;            /* the own ids, each ended by 0 */
    uint32_t *at;          /* rows: where each row's own id is */
    uint32_t *order;       /* rows, in the order of own ids */
    size_t left;           /* rows of the source that are in no place */
};

struct table {
    size_t rows, cols;
    bool counted;         /* ids are the rows' numbers in their file, as of IDX, and name nobody */
    bool told_apart;      /* ids of such a file that joined others: validate.h */
    float *x;             /* rows x cols, row major; every value finite */
    struct values values; /* what x lies in */
    uint8_t *lacks;       /* rows: 1 for one that is not there (absent.h); NULL: all are there */
    char *id_text;        /* all ids in the order of the rows, each ended by 0, nothing between */
    uint32_t *id_at;      /* rows: offset of each row's id in id_text */
    struct table_own own; /* any: of an alignment */
    bool digested;        /* what its rows said when it was read is in `digest` (source.h) */
    uint8_t digest[32];
    char *names; /* cols names, TABLE_NAME_MAX bytes each; NULL when the file has none (IDX) */
};

/* A label table has one column named `label`. */
struct table_want {
    bool labels;        /* exactly the columns id,label */
    const char *group;  /* columns of the features that are left out (group.h reads them); NULL: */
    const char *time;   /* none */
    const char *mapped; /* where values lie in a file (values.h); NULL or "": they lie in memory */
};

/* A table of nothing but numbers, none missing (intake.h reads others): CSV (csv.h) with a column
 * `id`, or IDX, 2-D or more, unsigned bytes, read as x/255, ids 0, 1, ...; 1-D label files give
 * label values.  Errors name file, line, column and reason: STATUS_DATA.  t need not be
 * initialised; it is zeroed on failure. */
enum status table_read(struct table *t, const char *path, const struct table_want *want,
                       struct error *err) MUST_USE;
void table_deinit(struct table *t); /* safe on a zeroed struct */

const char *table_id(const struct table *t, size_t row);
/* What this side calls it: its id, unless that is a place. */
const char *table_own_id(const struct table *t, size_t row);

/* Labels as classes 0, 1, ...: STATUS_DATA names the first row that is no whole number below
 * `classes_max`. *classes = largest label + 1. */
enum status table_classes(const struct table *t, int32_t *label, uint32_t *classes,
                          uint32_t classes_max, const char *path, struct error *err) MUST_USE;

/* Cuts every value off at +-TABLE_VALUE_LIMIT, so that no single feature makes an infinity of a
 * layer.  Returns how many were beyond. */
size_t table_limit(struct table *t);

/* out (n x cols, row major) = the rows rows[0..n). */
void table_gather(float *out, const struct table *t, const uint32_t *rows, size_t n);

/* The row of this id; t->rows: there is none. */
size_t table_find(const struct table *t, const char *id, size_t n);
/* The row of this own id. */
size_t table_find_own(const struct table *t, const char *id);
/* Is any own id in both? */
bool table_share_ids(const struct table *a, const struct table *b);

/* Are the ids the rows' numbers, 0, 1, ...? */
bool table_counts(const struct table *t);

/* How many ids of b there are that a lacks, and the first row of b with such a one. */
size_t table_lacks(const struct table *a, const struct table *b, size_t *first);
/* STATUS_DATA, in words: how many ids of each the other lacks, with an example. */
enum status table_differ(const struct table *a, const char *called, const struct table *b,
                         const char *path, struct error *err) MUST_USE;
/* Are the ids of both the same, in the same order? */
bool table_same_ids(const struct table *a, const struct table *b);
/* Bytes of all ids in order, each with its final 0, from the first one's on. */
size_t table_ids_bytes(const struct table *t);

#endif
