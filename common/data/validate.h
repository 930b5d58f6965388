/* validate.h -- which training rows are kept back to choose a model by (data.validate, and by what:
 * data.validate_by).
 *
 *   id      by its id alone, so that every side takes the same ones and nothing that stands in a
 * row decides it: with u the first 8 bytes, little-endian, of SHA-256("vfl/validate/1" || 0 || id),
 * it is when floor(u / 2^11) < share 2^53 group   by its group alone, so that rows of one person
 * stay together: the same of SHA-256("vfl/validate/group/1" || 0 || name of the group) order   the
 * last floor(share n) of the n training rows in the order of ids, for ids that grow with time
 *   time    those in the order of times, which every side has in a column, and of ids where these
 * are the same
 *
 * Rows kept back join the test rows, in the order of ids: what is evaluated is one table, and only
 * the server needs to know whose row is which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_VALIDATE_H
#define COLONNADE_DATA_VALIDATE_H

#include "common/config/plan.h"
#include "common/data/group.h"
#include "common/data/table.h"

/* Where each row comes from: below `train` a row of the training table as it was, else row
 * `train` + i of the test table's i. */
struct validate {
    size_t train;   /* training rows, as they were */
    size_t left;    /* of these, what is trained on */
    size_t held;    /* rows of the test table, as it has become */
    uint32_t *from; /* left, then held */
};

/* How rows are chosen. */
struct validate_rule {
    double share;
    enum plan_validate_by by;
    const struct group *group; /* of the training rows first; by VALIDATE_GROUP only */
    const uint32_t *place;     /* of the training rows (group_places); by VALIDATE_TIME only */
    bool may_lack; /* labelled rows, some of which are not here: none may be left, or kept back */
};

bool validate_keeps_back(const char *id, double share); /* by id */
/* The same rule under other words than "vfl/validate/1": of names that are chosen by it, one is
 * chosen by others as often as any. */
bool validate_chosen(const char *label, const char *name, double share);

/* Chooses among the rows of train alone, which it leaves as they are: of v what is left counts.
 * STATUS_DATA as below. */
enum status validate_choose(struct validate *v, const struct table *train,
                            const struct validate_rule *rule, struct error *err) MUST_USE;

/* Cuts train and adds to test, which has no rows, or the same columns.  STATUS_DATA: none would be
 * kept back, or none would be left; or an id of the test rows is in the training rows, too, so that
 * the test would be no test of what was chosen.  Ids that are numbers in two files are of other
 * rows in each: row 7 of an IDX test file becomes `test-7` (on every side, since all do).  On
 * failure train is as it was, and test has its rows. */
enum status validate_split(struct validate *v, struct table *train, struct table *test,
                           const struct validate_rule *rule, struct error *err) MUST_USE;
/* What the file that a row is from calls it, which is what it is charged as: images of both files
 * have one number each, as they have where no rows are kept back. */
const char *validate_own_id(const struct table *t, size_t row);
/* How many rows of the two tables can be charged as one record. */
struct validate_repeats {
    bool shared; /* some record has a row in each, or may have, where rows are lacking */
    bool twice;  /* some record has two in the test table: an image that was kept back, and one that
                    is tested and has its number */
};
struct validate_repeats validate_repeats(const struct table *train, const struct table *test);
/* Rows that are trained on, of a table of one column whose rows were the training table's. */
enum status validate_cut(const struct validate *v, struct table *t, struct error *err) MUST_USE;
/* Is row i of the test table one that was kept back? */
static inline bool validate_row(const struct validate *v, size_t i)
{
    return v->from != NULL && v->from[v->left + i] < v->train;
}
void validate_deinit(struct validate *v); /* safe on a zeroed struct */

#endif
