/* epsilon.h -- what a run had spent at each of its evaluations.
 *
 * The parties' ledgers say it at the end alone (summary.json).  In between releases grow with the
 * rounds and the evaluations, by the same formulas (common/privacy/account.h); the last
 * evaluation's figure is the summary's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_GRID_EPSILON_H
#define COLONNADE_TOOLS_GRID_EPSILON_H

#include "common/privacy/account.h"

#include <jansson.h>
#include <stdbool.h>

struct epsilon {
    bool known;
    struct account_entry entry; /* all of the run */
    double delta, epochs;       /* at the last evaluation */
    double train, evaluate;     /* released vectors */
    double evaluations;
    double turns; /* of a batch: M under sequential, otherwise 1 */
    bool evaluates_train;
};

/* From DIR/server/resolved.yaml and the merged summary; the last line of the metrics, and how many
 * there are.  Not known is no error. */
void epsilon_open(struct epsilon *e, const char *dir, const json_t *summary, const json_t *last,
                  size_t evaluations);
/* At evaluation k, from 1, after `epoch` epochs: one sample's through all releases of the run, as
 * the claims say; or (own) through those of its own embedding alone, as the papers count. */
double epsilon_at(const struct epsilon *e, double epoch, size_t k, bool own);

#endif
