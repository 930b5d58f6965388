/* placed.h -- rows of a table found by an alignment: its places (common/data/places.h) for tables
 * that have the columns of its key, in whatever order and spelling.
 *
 * Cells become ids as they did when the alignment was made: its file says how.  Of rows of one id
 * the k-th here is what the k-th was there, or one that is left out, or a fault, as
 * align.duplicates was.  Where several keys have matched rows, a row is looked for in the sections
 * in their order, as the keys were tried: what one has not got is looked for in the next one.
 * Columns of a key that has matched none tell rows apart all the same, and are no features.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_PLACED_H
#define COLONNADE_DAEMON_PLACED_H

#include "common/daemon/aligned.h"
#include "common/data/places.h"
#include "common/data/table.h"

struct placed_section {
    struct idlist_form form; /* columns: of the source that is read */
    uint32_t first, there;   /* of `order` */
};

/* Kept where it was opened: places.owner points to it. */
struct placed {
    struct aligned file;
    struct places places;
    struct placed_section section[ALIGNED_SECTIONS_MAX];
    uint8_t *rows;       /* file.n times ALIGN_ROW_BYTES, by place */
    uint32_t *order;     /* `there` places by section, in the order of rows */
    uint32_t there;      /* of file.n: this side does not have the others (absent.h) */
    uint32_t *times;     /* by place: rows of the source so far that are this, or (the first of
                          * an id) of its id */
    struct buf spelling; /* of the present row */
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
/* Rows are called by the column of ids, which there has to be, where this side has several keys:
 * align.key has names, or the alignment was made by columns of more than one kind.  What a row is
 * called must not hang on which key has found it: the ledger counts by that. */
void placed_by_id(struct placed *p, const char *align_key);
/* The next place, from {0} on, of a row that this side spells so, in any section by the form of
 * that one; PLACES_NONE: there are no more. */
struct placed_at {
    uint32_t section, occurrence;
};
uint32_t placed_next(const struct placed *p, const char *spelling, size_t n, struct placed_at *at);
/* Is it one of that row, by the form of its section? */
bool placed_spells(const struct placed *p, uint32_t place, const char *spelling, size_t n);

/* For an alignment that adds rows to this one: in[i] is 1 where row i of the list is in it, or is
 * left out as the second of an id that is, else 0.  On a p that was opened for nothing else.
 * STATUS_CONFIG: it was made by a key that the list lacks; *err, which others may be told, does not
 * say of which columns: the log does. */
enum status placed_open_added(struct placed *p, const char *state, const char *name,
                              struct error *err) MUST_USE;
enum status placed_mark(struct placed *p, const struct idlist *l, uint8_t *in,
                        struct error *err) MUST_USE;

/* How many rows an alignment and a table have in common, whichever they are. */
struct placed_count {
    uint32_t rows;      /* of the alignment */
    size_t there, left; /* of these, in the table; and rows of the table that are not in it */
    size_t gone;        /* that this side had when it was made; 0 where a side may lack rows */
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
    bool by_order;         /* rows are to be kept back by the order of ids */
    bool may_lack;         /* a party's: of labelled rows it may lack some */
    const char *align_key; /* a party's (placed_by_id); NULL: its rows are not in a ledger */
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
