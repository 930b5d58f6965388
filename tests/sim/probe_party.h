/* probe_party.h -- a party's half of the smallest job there is: a set agrees, each member sends a
 * masked row of zeros in one round, and it ends.  It trains nothing, charges nothing, keeps
 * nothing.
 *
 * Its text is the number of zeros; 0 is more than it takes part in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PROBE_PARTY_H
#define COLONNADE_TESTS_SIM_PROBE_PARTY_H

#include "party/job.h"

#define PROBE "probe"

enum { PROBE_VALUES_MAX = 64 };

extern const struct party_job probe_party_job;

/* Of n values among so many members: the same at both ends.  self: the server's is 0. */
void probe_shape(struct secagg_shape *shape, uint32_t n, uint32_t members, uint32_t self);

#endif
