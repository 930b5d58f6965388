/* sm.h -- where a session stands: moves are checked against the phase table and leave one trace
 * line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_SM_H
#define COLONNADE_FLOW_SM_H

#include "common/flow/phase.h"

struct sm {
    enum phase phase;
};

/* Aborts when the table does not allow the move: that is a programmer's mistake, never a peer's. */
void sm_move(struct sm *m, enum phase to, uint64_t generation);

#endif
