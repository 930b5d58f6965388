/* placed.h -- rows of a table found by an alignment: its places (common/data/places.h) for tables
 * that have the columns of its key, in whatever order and spelling.
 *
 * Cells become ids as they did when the alignment was made: its file says how.  Of rows of one id
 * the k-th here is what the k-th was there, or one that is left out, or a fault, as
 * align.duplicates was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_PLACED_H
#define COLONNADE_DAEMON_PLACED_H

#include "common/daemon/aligned.h"
#include "common/data/places.h"
#include "common/data/table.h"

/* Kept where it was opened: places.owner points to it. */
struct placed {
    struct aligned file;
    struct places places;
    struct idlist_form form; /* columns: of the source that is read */
    uint8_t *rows;           /* file.n times ALIGN_ROW_BYTES, by place */
    uint32_t *order;         /* `there` places in the order of rows */
    uint32_t there;          /* of file.n: this side does not have the others (absent.h) */
    uint32_t *times;         /* by place: rows of the source so far that are this, or (the first of
                              * an id) of its id */
    struct buf spelling;     /* of the present row */
    bool may_lack; /* a row of the file that the source does not have is one that is not here, and
                    * of an id that stands twice the first one counts: that a side ends for it
                    * would tell others that the row is in the file */
    bool asked; /* for predictions: rows of the file that the source does not have are unknown here,
                 * all of them, perhaps */
    char own[TABLE_ID_MAX + 1];
};

enum status placed_open(struct placed *p, const char *state, const char *name,
                        struct error *err) MUST_USE;
void placed_close(struct placed *p); /* wipes; safe on a zeroed struct */
/* The place of the row that this side spells so, the occurrence-th of its id; PLACES_NONE. */
uint32_t placed_find(const struct placed *p, const char *spelling, size_t n, uint32_t occurrence);

/* How many rows an alignment and a table have in common, whichever they are. */
struct placed_count {
    uint32_t rows;      /* of the alignment */
    size_t there, left; /* of these, in the table; and rows of the table that are not in it */
};
enum status placed_count(struct placed_count *c, const char *state, const char *name,
                         const char *path, struct error *err) MUST_USE;

/* Of a side's training and test rows. */
struct placed_pair {
    struct placed train, test;
};
struct placed_names {
    const char *key; /* of the configuration: data or labels */
    const char *train, *test, *test_file;
    bool by_order; /* rows are to be kept back by the order of ids */
    bool may_lack; /* a party's: of labelled rows it may lack some */
};
/* STATUS_CONFIG where one of them is named without the other, both are one, or rows are kept back
 * by an order that places are not in. */
enum status placed_open_pair(struct placed_pair *p, const char *state, const struct placed_names *n,
                             struct error *err) MUST_USE;
void placed_close_pair(struct placed_pair *p); /* safe on a zeroed struct */
/* May some of its rows not be here? */
bool placed_lacks(const struct placed_pair *p);

/* What this side calls row i of a table that was read by it: its own id, or, where that is made of
 * what is no plain text, the spelling, n bytes of it.  p not opened: as table_own_id. */
const char *placed_own_id(const struct placed *p, const struct table *t, size_t row, size_t *n);
/* Into the log: how many rows of the source that t was read from are in it. */
void placed_show(const struct placed *p, const struct table *t, const char *path);

/* NULL: there is none, and all rows are taken. */
static inline const struct places *placed_places(const struct placed *p)
{
    return p->file.n > 0 ? &p->places : NULL;
}

#endif
