/* labels.h -- several labels of each row: columns of 0, 1 or nothing, which is not known.
 *
 * The training rows decide which columns there are, the test rows must have them too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_LABELS_H
#define COLONNADE_DATA_LABELS_H

#include "common/data/places.h"
#include "common/data/schema.h"
#include "common/data/table.h"

/* Which columns: those named, in that order, or, of n 0, all but the ids and the group. */
struct labels_want {
    const char *const *column;
    size_t n;
    const char *group; /* columns that are no labels; NULL: none */
    const char *time;
    const struct places *places; /* which rows are taken; NULL: all */
};

struct labels {
    struct schema schema; /* of the columns */
};

/* The label file, t->x being 0, 1 or NAN.  STATUS_DATA: fewer than two columns or over
 * PLAN_CLASSES_MAX, a name that cannot be shown, a value that is neither; nothing in a cell is
 * shown. */
enum status labels_read(struct labels *l, struct table *t, const char *path,
                        const struct labels_want *want, struct error *err) MUST_USE;
/* What each label is called, a line for each; *out is the caller's (mem_free). */
enum status labels_print(const struct labels *l, char **out) MUST_USE;
void labels_deinit(struct labels *l); /* safe on a zeroed struct */

#endif
