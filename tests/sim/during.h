/* during.h -- what happens in the middle of a piece of work, or while a checkpoint is written.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_DURING_H
#define COLONNADE_TESTS_SIM_DURING_H

#include "tests/sim/world.h"

/* `who` begins it.  When it will have ended; 0: at once.  A checkpoint has a time of its own. */
uint64_t during_begins(struct sim *s, int who, const struct action *a);
void during_ends(struct sim *s, int who, enum action_kind work);
/* Which rule is due first, and when; SIZE_MAX: none is. */
size_t during_next(const struct sim *s, uint64_t *at_us);
void during_happens(struct sim *s, size_t which);

#endif
