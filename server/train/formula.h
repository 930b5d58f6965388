/* formula.h -- what a training round costs by the formulas of the papers, for summary.json beside
 * what was sent.  docs/operating.md has them all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_FORMULA_H
#define COLONNADE_SERVER_TRAIN_FORMULA_H

#include "common/config/plan.h"
#include "common/secagg/fedvs_terms.h"

#include <stdint.h>

/* Bytes of one round, all members together: to the server, and from it. */
struct server_formula {
    double up, down;
};

/* A round of `rows` rows among `members`; under sequential a turn.  `terms`: of fedvs. */
void server_formula(struct server_formula *f, const struct plan *p, uint32_t members, uint32_t rows,
                    const struct fedvs_terms *terms);

#endif
