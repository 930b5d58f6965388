/* answers.h -- the table of answers that a job of contributions leaves (server/contributed.h), and
 * the labels of its rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_CONTRIBUTION_ANSWERS_H
#define COLONNADE_TOOLS_CONTRIBUTION_ANSWERS_H

#include "common/daemon/package.h"
#include "common/flow/contribution.h"
#include "common/metrics/score.h"
#include "deploy/tools/report/pool.h"

/* A question, and what was answered: rows x columns. */
struct answered {
    const char *asked;
    struct contribution_ask what;
    const float *prob;
};

struct answers_table {
    struct pool pool;
    enum score_kind kind;
    uint32_t parties, columns, targets; /* columns: scores of a row */
    const char *name[PLAN_PARTIES_MAX]; /* of the parties */
    size_t rows, n;
    struct answered *of; /* the first one of everybody, the last one of nobody */
    const char **id;     /* of the rows */
    const float *target; /* rows x targets: a class, a value, or 0, 1 and NAN for labels */
};

/* The model says what labels are called; NULL: classes are numbers.  STATUS_DATA with the place. */
enum status answers_table_read(struct answers_table *t, const char *answers, const char *labels,
                               const struct package *model, struct error *err) MUST_USE;

#endif
