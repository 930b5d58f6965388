/* schema_fit.h -- what a party's own training rows decide about its schema.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEMA_FIT_H
#define COLONNADE_DATA_SCHEMA_FIT_H

#include "common/data/schema.h"
#include "common/data/validate.h"

/* t: the training rows as intake.h read them for s, of which those decide that `left` leaves
 * (validate_choose; NULL: all, and it may be those of them that are trained on).  Levels
 * get their features, the most frequent ones, in the order of their texts; missing numbers get what
 * stands in for them, and an indicator when there are any.  A column of text that differs nearly
 * everywhere says nothing of a row: it is ignored, and the log says so.  Rows that intake.h has
 * read and that are not among these decide nothing: s becomes what it would be of a file without
 * them, but that levels of theirs alone stay in it, with a count of 0, as what no training row has
 * (and use up LEVELS_MAX), and that intake.h takes a column's kind from the file's first value. */
enum status schema_fit(struct schema *s, const struct table *t, const struct validate *left,
                       struct error *err) MUST_USE;
/* The same of labelled rows, of which there may be few, or none: where that leaves no feature at
 * all, which would be refused, and tell, the first column that is one becomes a feature that is 1
 * whatever stands there. */
enum status schema_fit_some(struct schema *s, const struct table *t, const struct validate *left,
                            struct error *err) MUST_USE;

#endif
