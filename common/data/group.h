/* group.h -- whose a row is: the column of a table that names a person with many rows; and when it
 * was.
 *
 * Values are 1..64 printable bytes, as ids are, and are compared as bytes: `7` and `07` are two.
 * Several tables, one after the other, share one set of names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_GROUP_H
#define COLONNADE_DATA_GROUP_H

#include "common/base/buf.h"
#include "common/data/places.h"
#include "common/data/source.h"
#include "common/data/table.h"

struct group {
    size_t rows;  /* of all tables so far; 0: there is no grouping */
    uint32_t *at; /* rows: offset of each one's name in `text` */
    struct buf text;
    uint32_t *of; /* rows: the number of its group, from 0, once group_number was called */
    uint32_t n;   /* groups */
};

struct group_from {
    const char *path;
    struct source_options source;
    const char *id;              /* the column of ids; NULL or "": `id` */
    const struct places *places; /* by which t was read, instead; NULL: none */
    const char *column;
};

/* The column of the source that t was read from, behind what is there already, in the order of t.
 * STATUS_DATA names file and line. */
enum status group_read(struct group *g, const struct group_from *from, const struct table *t,
                       struct error *err) MUST_USE;
/* Numbers the groups of all that was read. */
enum status group_number(struct group *g, struct error *err) MUST_USE;
/* Of the rows of b, which were read right behind those of a, the first whose id a has in another
 * group, once group_number was called; b->rows: there is none. */
size_t group_at_odds(const struct group *g, const struct table *a, const struct table *b);

/* The same of a column that says when each row was, numbers or times (when.h), as its first row has
 * it.  (*place)[i], which the caller frees: how many rows of t stand before row i in the order of
 * times, and of ids where these are the same. */
enum status group_places(uint32_t **place, const struct group_from *from, const struct table *t,
                         struct error *err) MUST_USE;
/* When one row was, by the cell that says so: seconds where *dated, which the first row decides,
 * else its number.  NULL, or why the cell is refused. */
const char *group_moment(double *time, bool *dated, bool first, const struct cell *c);
void group_deinit(struct group *g); /* safe on a zeroed struct */

const char *group_name(const struct group *g, size_t row);

#endif
