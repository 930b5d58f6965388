/* targets.h -- what the rows are in truth: labels read, made into numbers, and some rows kept back.
 *
 * A row's target is its class or its value, or, under multilabel, each of its labels as 0, 1 or
 * NAN, which is not known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TARGETS_H
#define COLONNADE_SERVER_TARGETS_H

#include "common/config/config.h"
#include "common/data/classes.h"
#include "common/data/group.h"
#include "common/daemon/placed.h"
#include "common/data/labels.h"
#include "common/data/table.h"
#include "common/data/validate.h"
#include "common/metrics/verdict.h"

/* Written by targets.c. */
struct server_targets {
    float *train, *test; /* of the rows of both tables, `width` each */
    uint32_t width;
    bool several;              /* labels of a row */
    struct classes classes;    /* of labels that are texts */
    struct labels labels;      /* several of each row */
    struct placed_pair placed; /* labels.alignment, and that of the test rows; by prepare.c */
    struct group group; /* labels.group: whose the rows of both files are, as they were read */
    struct validate validate; /* which of the test rows are kept back */
};

/* The label files of c into the tables and t, which is zeroed but for `placed`; then the rows to
 * choose by leave `train` for `test`.  The plan's shape.outputs and shape.validate_rows become
 * those of the labels.
 */
enum status server_targets_read(struct server_targets *t, struct config_server *c,
                                struct table *train, struct table *test,
                                struct error *err) MUST_USE;
/* Can the score by which a model is chosen, or a run stopped, be had of the rows kept back?  The
 * plan is resolved. */
enum status server_targets_check(const struct server_targets *t, const struct plan *p,
                                 struct error *err) MUST_USE;
void server_targets_deinit(struct server_targets *t); /* safe on a zeroed struct */

/* What each class, or label, is called, a line for each; NULL: by its number.  *out is the caller's
 * (mem_free). */
enum status server_targets_names(const struct server_targets *t, char **out) MUST_USE;
/* The same for people: into the log, and as what -n prints.  A name of a class is nobody's label.
 */
void server_targets_show(const struct server_targets *t);
enum status server_targets_print(const struct server_targets *t, struct buf *out) MUST_USE;

/* The labels of n rows as a verdict counts them. */
struct verdict_labels server_targets_count(const struct server_targets *t, const float *of,
                                           size_t n);

#endif
