/* schema.h -- what each column of a table is, and how it becomes numbers.
 *
 * A schema is a party's own: found in or fitted on its training rows (schema_fit.h), or written by
 * hand (schema_text.h), and then applied to every table of the same columns.  Until it is applied,
 * a table holds what intake.h has read: numbers as they are, NAN for what is missing, the number of
 * its level for text: LEVELS_MAX for one that is no level, levels.n for one that the schema does
 * not know.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEMA_H
#define COLONNADE_DATA_SCHEMA_H

#include "common/data/levels.h"
#include "common/data/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_kind {
    SCHEMA_AUTO,     /* not known yet: what its first cell is */
    SCHEMA_NUMBER,   /* one feature */
    SCHEMA_CATEGORY, /* a feature for each level */
    SCHEMA_ORDERED,  /* one feature: the number of the level, in the order given */
    SCHEMA_TIME,     /* one feature: days since 2000-01-01 */
    SCHEMA_IGNORED,  /* none */
};

/* What stands in for a missing number. */
enum schema_missing { MISSING_MEAN, MISSING_MEDIAN, MISSING_CONSTANT, MISSING_REFUSED };

struct schema_column {
    char name[TABLE_NAME_MAX];
    enum schema_kind kind;
    enum schema_missing missing;
    float fill;           /* of MISSING_CONSTANT; of the others once it is fitted */
    bool indicator;       /* one more feature: 1 where the cell was missing */
    struct levels levels; /* of SCHEMA_CATEGORY and SCHEMA_ORDERED */
    size_t free_text;     /* rows whose text is too long for a level, or came after LEVELS_MAX */
    uint32_t kept;        /* so many features, of the levels that `place` sends there */
    uint32_t *place;      /* by level: its feature, or LEVELS_NONE: it counts as `other` */
    bool other;           /* one more feature: 1 where the level is none of those kept */
};

struct schema {
    size_t n;
    struct schema_column *column; /* of the source, but for the id and the group */
    bool fitted;                  /* the rows have decided something: levels, what is filled in */
};

void schema_deinit(struct schema *s); /* safe on a zeroed struct */

/* Does text n bytes long stand for nothing: empty, ?, NA, N/A, NaN, null and the like? */
bool schema_is_missing(const char *text, size_t n);

/* How many features the column makes. */
size_t schema_width(const struct schema_column *c);

/* t, as intake.h read it for s, becomes features: standing in for what is missing, a feature for
 * each level.  *unseen counts cells with a level that the schema does not know, *filled those that
 * were missing where it expects none. */
enum status schema_apply(const struct schema *s, struct table *t, size_t *unseen, size_t *filled,
                         struct error *err) MUST_USE;

#endif
