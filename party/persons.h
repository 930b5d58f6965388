/* persons.h -- whose rows the data are (data.group), and what that makes of a plan's price.
 *
 * The schedule is public, the grouping the party's own: what is counted here stays in the party's
 * ledger, its limits and its claims.  Only a refusal for a limit can show something of it
 * (docs/privacy.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PERSONS_H
#define COLONNADE_PARTY_PERSONS_H

#include "common/config/plan.h"
#include "common/data/group.h"
#include "common/data/validate.h"
#include "common/flow/agenda.h"

struct persons {
    struct group group; /* of the training rows, then of the test rows; no rows: none is named */
    size_t train_rows;
    uint32_t *train, *test; /* by number of the group: how many rows of each table */
    uint32_t most;          /* training rows of one */
};

/* Takes the group over, whose first train_rows rows are the training table's. */
enum status persons_init(struct persons *p, struct group *g, size_t train_rows,
                         struct error *err) MUST_USE;
/* Rows that were trained on are evaluated now: the group's rows as the tables have them by now. */
enum status persons_split(struct persons *p, const struct validate *v, struct error *err) MUST_USE;
void persons_deinit(struct persons *p); /* safe on a zeroed struct */

/* Is a column named at all?  Otherwise each row is its own. */
static inline bool persons_named(const struct persons *p)
{
    return p != NULL && p->group.n > 0;
}

/* Rows of one person at most in one batch of roster entry `self`'s schedule under this plan.  Where
 * its seed is not known yet, or walking it would take long: that a batch can hold at all. */
enum status persons_together(uint32_t *out, const struct persons *p, const struct plan *plan,
                             uint32_t self, struct error *err) MUST_USE;

/* Releases of all rows of one person, and those of them in training: the largest of each, where a
 * record's are those of `r`. */
void persons_releases(const struct persons *p, const struct agenda_releases *r,
                      uint64_t *participations, uint64_t *trained);
/* Releases of all rows of one person at most, where `rows` of the test table's, whichever, are
 * released once each: those of data.predict. */
uint64_t persons_predicted(const struct persons *p, uint32_t rows);

#endif
