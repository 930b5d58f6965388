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
#include "common/data/scale.h"
#include "common/data/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_kind {
    SCHEMA_AUTO,     /* not known yet: what its first cell is */
    SCHEMA_NUMBER,   /* one feature */
    SCHEMA_CATEGORY, /* a feature for each level, or one: its number, for a table of vectors */
    SCHEMA_ORDERED,  /* one feature: the number of the level, in the order given */
    SCHEMA_TIME,     /* one feature: days since 2000-01-01 */
    SCHEMA_IGNORED,  /* none */
    SCHEMA_LABEL,    /* none: the server's */
};

extern const char
    *const schema_kinds[]; /* their words, NULL behind the last; none for AUTO is read */

/* What stands in for a missing number. */
enum schema_missing {
    MISSING_MEAN,
    MISSING_MEDIAN,
    MISSING_CONSTANT,
    MISSING_REFUSED,
    MISSING_OWN /* nothing: of bins, none of them, and the indicator says so */
};

extern const char *const schema_missings[];

enum {
    SCHEMA_BINS_MAX = 64,
    SCHEMA_LEVELS_KEPT = 256, /* features of one column at most, unless it says otherwise */
    SCHEMA_LEVEL_ROWS = 2     /* rows that a level needs for a feature of its own, likewise */
};

/* Of categories that are embedded: columns of a schema, values of a vector, and of all vectors. */
enum {
    SCHEMA_EMBEDDED_MAX = 64,
    SCHEMA_VECTOR_MAX = 64,
    SCHEMA_VECTORS_MAX = 1 << 24,
};

/* Of a budget: beyond these it says nothing. */
#define SCHEMA_EPSILON_MAX 20.0
#define SCHEMA_DELTA_MAX 1e-3

/* What of a time becomes a feature, in this order; without a word of it the days alone. */
extern const char *const schema_parts[]; /* words, NULL behind the last */

struct schema_column {
    char name[TABLE_NAME_MAX];
    enum schema_kind kind;
    enum schema_missing missing;
    float fill;        /* of MISSING_CONSTANT; of the others once it is known */
    bool filled;       /* it is known */
    bool indicator;    /* one more feature: 1 where the cell was missing */
    bool clipped, log; /* numbers are cut off at low and high, and become sign(x) ln(1 + |x|) */
    float low, high;
    uint32_t bins; /* features of a number or time: 1 where it is between two edges; 0: none */
    bool cut;      /* the edges are known: of bins - 1, each where one begins */
    float *edge;
    uint32_t parts;                /* of a time: a bit for each of schema_parts; 0: its days */
    uint32_t min_rows, max_levels; /* of levels that the rows decide; 0: SCHEMA_LEVEL_... */
    struct levels levels;          /* of SCHEMA_CATEGORY and SCHEMA_ORDERED */
    bool open;                     /* the rows that are read add levels to it */
    size_t free_text; /* rows whose text is too long for a level, or came after LEVELS_MAX */
    uint32_t kept;    /* so many features, of the levels that `place` sends there */
    uint32_t *place;  /* by level: its feature, or LEVELS_NONE: it counts as `other` */
    bool other;       /* one more feature: 1 where the level is none of those kept */
    /* Instead of these features one, whole: 1 + the place that the 1 would have among them, and 0
     * where there would be none.  The bottom's first layer makes a vector of it. */
    bool embedded;
    uint32_t vector; /* how long; 0: the number of levels decides, once it is known */
};

struct schema {
    size_t n;
    struct schema_column *column; /* of the source, but for the id and the group */
    bool written;          /* by a person (schema_text.h): the rows decide only what is open */
    bool given;            /* and what is written was made without these records */
    bool dp;               /* and what is open is drawn with noise (common/privacy/statistics.h) */
    double epsilon, delta; /* dp: all that this may cost */
    char id[TABLE_NAME_MAX]; /* the column of ids, where a schema says so; "": `id` */
};

void schema_deinit(struct schema *s); /* safe on a zeroed struct */

/* Does text n bytes long stand for nothing: empty, ?, NA, N/A, NaN, null and the like? */
bool schema_is_missing(const char *text, size_t n);

/* Room for n columns, all of them zero: numbers of no kind yet. */
enum status schema_init(struct schema *s, size_t n) MUST_USE;
/* The levels that are known get the features 0, 1, ... in their order. */
enum status schema_place_all(struct schema_column *c) MUST_USE;

/* Is something left that the training rows decide, a number that stands in for others aside? */
bool schema_is_open(const struct schema_column *c);
/* How many features the column makes. */
size_t schema_width(const struct schema_column *c);
/* Of a category: the features that it makes, or would make if it were not embedded. */
size_t schema_levels(const struct schema_column *c);
/* Is it a category that is embedded, and not left out? */
bool schema_is_embedded(const struct schema_column *c);
/* Levels that are known give an embedded column's vectors their length, unless it is known, too:
 * the least whole number that is no less than 2 levels^(1/4). */
void schema_settle_vector(struct schema_column *c);
/* STATUS_CONFIG: more is embedded than there may be. */
enum status schema_check_vectors(const struct schema *s, struct error *err) MUST_USE;
/* Do both embed the same columns, by the same levels in vectors of the same length? */
bool schema_embeds_as(const struct schema *a, const struct schema *b);

/* Of a number or time that is there: cut off, and its logarithm where the column says so. */
float schema_transform(const struct schema_column *c, float x);
/* Is it a feature as it is, or several: no level and no bin, nor a column that is none? */
bool schema_is_value(const struct schema_column *c);

/* Features that are 0 or 1 by what they mean keep their values: only numbers and times are
 * standardised. */
void schema_spare_levels(const struct schema *s, struct scale *scale);
/* Does it keep the features that are numbers of levels? */
bool schema_is_spared(const struct schema *s, const struct scale *scale);

/* t, as intake.h read it for s, becomes features: standing in for what is missing, a feature for
 * each level.  *unseen counts cells with a level that the schema does not know, *filled those that
 * were missing where it expects none. */
enum status schema_apply(const struct schema *s, struct table *t, size_t *unseen, size_t *filled,
                         struct error *err) MUST_USE;

#endif
