/* intake.h -- the rows of a source as a table in the order of ids, each cell as its column's kind
 * has it.
 *
 * Numbers stay as they are, missing cells become NAN, and text becomes the number of its level in
 * the schema.  The source is read once, forward (files of text are counted before).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_INTAKE_H
#define COLONNADE_DATA_INTAKE_H

#include "common/data/places.h"
#include "common/data/schema.h"
#include "common/data/source.h"
#include "common/data/table.h"

/* Checked before anything of that size is allocated. */
struct intake_limits {
    size_t rows_max;
    size_t values_max; /* rows * columns */
};

extern const struct intake_limits INTAKE_LIMITS;

struct intake_want {
    struct source_options source;
    const char *id;    /* its column, where the schema says nothing; NULL: `id` */
    bool numbered;     /* rows of a table without that column are called 0, 1, ... */
    const char *group; /* columns that are left out (group.h reads them); NULL: none */
    const char *time;
    /* Rows are called by place, each place is there, and what else there is, is left out unread;
     * what tells rows apart is no feature, unless a schema that is given says so.  NULL: all rows.
     */
    const struct places *places;
    bool labels;           /* the table is the server's: exactly id and `label` */
    bool several;          /* it is the server's, and each column may be a label; of a schema that
                            * is given, others are not read */
    enum schema_kind kind; /* of every column; SCHEMA_AUTO: as its first cell is */
    bool complete;         /* nothing may be missing */
    const char *mapped;    /* as table_want has it */
    const struct intake_limits *limits;
};

/* A schema of n = 0 is made of the file: a column is a number, a time or a category as its first
 * cell is that is not missing, and what comes later must be the same.  (It stays empty for IDX,
 * where there is nothing to prepare.)  One with columns has to be of this table: its columns, but
 * for those that make no feature, are there, in whatever order, and no others; a level that it does
 * not know becomes the number of its levels, or a new one where it is open.  t is zeroed on
 * failure; STATUS_DATA names file, line, column and reason, never what is in a cell. */
enum status intake_read(struct table *t, struct schema *s, const char *path,
                        const struct intake_want *want, struct error *err) MUST_USE;

#endif
