/* worth.h -- what each party, and each column that was mixed up, adds to the score of a model.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_CONTRIBUTION_WORTH_H
#define COLONNADE_TOOLS_CONTRIBUTION_WORTH_H

#include "deploy/tools/contribution/answers.h"

/* A set's value: its score (more is better: one that falls counts below 0), or minus its loss. */
enum worth_measure { WORTH_SCORE, WORTH_LOSS };
enum { WORTH_MEASURES = 2 };

/* What is added, and the standard error of that: over rows, and over orders where not all sets were
 * asked for. */
struct worth_part {
    double value[WORTH_MEASURES], error[WORTH_MEASURES];
};

struct worth {
    enum score_metric metric;
    uint32_t orders; /* 0: of all sets */
    double all[WORTH_MEASURES], nobody[WORTH_MEASURES];
    size_t columns;
    struct worth_part *alone, *shapley; /* by party; alone: all, less all but this one */
    struct worth_part *column;          /* of the questions that mix one up, in their order */
};

/* Memory is the table's.  `resamples` of the rows; STATUS_DATA: too few answers, or rows that have
 * no score. */
enum status worth_of(struct worth *w, struct answers_table *t, uint32_t resamples,
                     struct error *err) MUST_USE;

#endif
