/* statistics.h -- what stands in for missing values, edges of bins, means and deviations, out of
 * noised sums over a column: `statistics: dp` of a schema (docs/privacy.md).
 *
 * Of a column that needs it a row gives, where it has a value, the whole numbers
 *
 *     moments   U, V and floor(V^2 / U): V, from -U to U, is where in the column's range it lies
 *     counts    U in one number of each level of a tree, whose leaves are STATISTICS_CELLS equal
 *               parts of the range, and each other node STATISTICS_BRANCHES below it
 *
 * and zeros where it has none.  Sums over the rows get discrete Gaussian noise in every number, so
 * nothing but whole numbers was ever added.  The range is the schema's clip, which is no row's.
 * Replacing a row moves moments by at most 2 U and counts by sqrt(2 STATISTICS_LEVELS) U (l2); k
 * rows that change together, k times as far.  A quantile of counts is read off the tree once each
 * node agrees with those below it (Hay, Rastogi, Miklau and Suciu 2010, section 4.1): a sum over
 * many leaves then has the noise of few nodes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_STATISTICS_H
#define COLONNADE_PRIVACY_STATISTICS_H

#include "common/crypto/rng.h"
#include "common/data/schema.h"
#include "common/privacy/account.h"

enum {
    STATISTICS_UNIT = 4096,
    STATISTICS_MOMENTS = 3,
    STATISTICS_BRANCHES = 4,
    STATISTICS_LEVELS = 4,
    STATISTICS_CELLS = 256,
    STATISTICS_COUNTS = 4 + 16 + 64 + 256 /* level by level, the leaves last */
};
enum statistics_kind { STATISTICS_OF_MOMENTS, STATISTICS_OF_COUNTS };
enum { STATISTICS_KINDS = 2 };

struct statistics {
    size_t columns;  /* of the schema */
    uint8_t *wanted; /* by column: a bit for each kind */
    size_t queries;  /* bits in all; 0: nothing is left to draw */
    size_t numbers;
    int64_t *number; /* in the order of columns, moments before counts; zero at first */
    /* Of the noise in a number of each kind; 0: none yet. */
    double sigma[STATISTICS_KINDS];
};

/* What s leaves open, and, where the features are to be standardised, what that takes.
 * STATUS_CONFIG names the column that has no range, or levels that no noise can give. */
enum status statistics_init(struct statistics *out, const struct schema *s, bool scaled,
                            struct error *err) MUST_USE;
void statistics_deinit(struct statistics *st); /* safe on a zeroed struct */

/* The largest zero-concentrated budget whose `numbers` draws cost a record no more than s says. */
double statistics_rho(const struct statistics *st, const struct schema *s);
/* Spends rho on all of them, the same on each query, for neighbours that differ in `together` rows:
 * the noise's deviations.  STATUS_CONFIG: more noise than can be drawn. */
enum status statistics_spend(struct statistics *st, double rho, uint32_t together,
                             struct error *err) MUST_USE;
/* Of the rows of t, as intake.h read them for s, the sums themselves: secret. */
void statistics_sum(struct statistics *st, const struct schema *s, const struct table *t);
/* And noise on them. */
enum status statistics_draw(struct statistics *st, struct rng *r, struct error *err) MUST_USE;
/* What is charged: once for each record (or person). */
struct account_entry statistics_entry(const struct statistics *st, double rho, bool persons);

/* What was open is so no longer; how many features a column makes is as s says, whatever was drawn.
 * `rows`: that were summed. */
enum status statistics_settle(const struct statistics *st, struct schema *s, size_t rows) MUST_USE;
/* Of the features of s once it is settled; levels, bins and indicators keep their values, parts of
 * times are standardised by their range. */
enum status statistics_scale(const struct statistics *st, const struct schema *s, size_t rows,
                             struct scale *out) MUST_USE;

#endif
