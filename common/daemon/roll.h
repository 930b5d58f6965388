/* roll.h -- which rows of a side's list a job of alignment compares, pass by pass, and what has
 * come of it.
 *
 * A job tries keys in order, each in a pass of its own (alignment.h).  The first pass lists every
 * row; the next ones as many as are not in common yet, which is a number that everybody knows.  So
 * a row without an id by the key of a pass, or that is left out as the second of its id, stays in
 * the list as padding: 32 random bytes, whose point is nobody's.  How many those are, and which,
 * shows to nobody.  A member that lies on the way back may say that such an entry is in common: the
 * first row of the pass that is not takes its place, since a row that is missing from the result
 * would be refused aloud later; only where there is none, it is missing.
 *
 * Of duplicates `first`: the first row of an id among those that a pass lists takes part in it;
 * once it is in common, so are the others, which take part in no more.  `all`: the k-th of those
 * that a pass lists is the k-th of the others.  So a row is found again by its place in the table
 * and the sections alone (placed.h).
 *
 * A job that extends another alignment lists the rows that are not in that one.  Of labelled rows
 * it lists them, too, as padding: their number is how many of a party's rows have labels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_ROLL_H
#define COLONNADE_DAEMON_ROLL_H

#include "common/daemon/placed.h"
#include "common/flow/alignment.h"

struct roll {
    const struct idlist *ids;
    struct placed old; /* not opened: nothing is extended */
    struct alignment about;
    uint32_t key[ALIGNMENT_KEYS_MAX]; /* of ids, in the job's order */
    uint8_t *state;                   /* by row of ids: roll.c */
    bool labels;
    uint32_t listed;             /* by the first pass */
    uint32_t *entry, n;          /* n entries of the present pass: rows of ids */
    uint8_t *rows;               /* n times ALIGN_ROW_BYTES; secret */
    uint32_t *occurrence, *lead; /* by entry: of its id, and the first entry of that */
    uint32_t *order;             /* room */
    struct aligned_section section[ALIGNMENT_KEYS_MAX]; /* that have matched something; those of
                                                         * the other keys are added when it is kept
                                                         */
    uint32_t sections_n;
    struct buf lines; /* of these */
    struct rng rng;   /* of padding */
};

/* ids stays the caller's; labels: this side's are the labelled rows, of which none is padding.
 * STATUS_CONFIG: this side does not have these keys, or not the alignment that is extended, or
 * another one of that name: nobody has been told anything yet, and *err may be: it names no path.
 */
enum status roll_open(struct roll *r, const struct idlist *ids, const char *state,
                      const struct alignment *about, bool labels, struct error *err) MUST_USE;
void roll_close(struct roll *r); /* wipes; safe on a zeroed struct */

/* r->rows and r->n are those of that pass, from 0; again from 0 where a job is played anew. */
enum status roll_pass(struct roll *r, uint32_t pass, struct error *err) MUST_USE;
/* What has come of it: `common` rows, the places of its entries among them or ALIGN_NOWHERE. */
enum status roll_take(struct roll *r, uint32_t pass, uint32_t common, const uint32_t *places,
                      struct error *err) MUST_USE;
/* Rows of the result, those of the extended alignment among them. */
uint32_t roll_rows(const struct roll *r);
enum status roll_keep(const struct roll *r, const char *state, const uint8_t *transcript,
                      struct error *err) MUST_USE;

/* The columns of each key, for people: `# ...` lines. */
enum status roll_print(const struct idlist *ids, struct buf *out) MUST_USE;

#endif
