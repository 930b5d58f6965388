/* true_sum.h -- the sum that the server ought to have decoded, from the parties' own embeddings.
 *
 * Looks into the sessions: a party's last embeddings and its place in the schedule are enough to
 * draw its noise again, since that follows from the seed.  Unseeded, only encodings without noise
 * can be watched; under async nothing is summed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_TRUE_SUM_H
#define COLONNADE_TESTS_SIM_TRUE_SUM_H

#include "tests/sim/sim.h"

struct true_sum;

struct true_sum *true_sum_new(const struct sim *s);
void true_sum_free(struct true_sum *t); /* NULL is fine */
void true_sum_protected(struct true_sum *t, const struct sim *s, uint32_t party);
/* Of the round that the server has just worked on; why[128]. */
bool true_sum_holds(struct true_sum *t, const struct sim *s, char *why);

#endif
