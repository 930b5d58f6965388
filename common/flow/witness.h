/* witness.h -- whose word it takes to say that a ledger was put back (clause 2.9, threats B4).
 *
 * Each confirmation says how far its speaker has seen everybody's ledger come.  Where the set has
 * to stay whole (`wait`) one member that has seen more than there is suffices: it could end the job
 * in any other way, too.  Where parties are done without, up to T may lie: one more has to say so,
 * or all others of the roster where there are no more; in a set of fewer nobody is stopped, since
 * liars can make a set small.  Server and parties count the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_WITNESS_H
#define COLONNADE_FLOW_WITNESS_H

#include "common/config/plan.h"
#include "common/wire/message.h"

/* How many of the others, of a roster of roster_n; colluders: T, 1 at least. */
uint32_t witness_needed(enum plan_straggler straggler, uint32_t colluders, uint32_t roster_n);
/* who: the members, of n that have confirmed, that have seen more than `number` of the ledger of
 * member m.  How many these are. */
uint32_t witness_count(bool who[WIRE_MEMBERS_MAX], const struct wire_confirm *confirm, uint32_t n,
                       uint32_t m, uint64_t number);

#endif
