/* expect.h -- what tests of simulated runs ask again and again.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_EXPECT_H
#define COLONNADE_TESTS_SIM_EXPECT_H

#include "tests/sim/sim.h"

/* The server and every party have ended as completed, without an error. */
void expect_completed(const struct sim *s);
/* How often this stands in the transcript. */
size_t expect_count(const struct sim *s, const char *line);
/* Runs from event to event until this has been said so many times, 5 virtual seconds at most. */
void expect_until(struct sim *s, const char *line, size_t times);
/* For a rule's alter, where an upload is packed elements of a prime field: always another one of
 * the field.  Clears a bit, which makes one element smaller; of nothing but zeros one becomes a
 * power of two below the prime.  A flip would leave the field now and then: from p - 1 to p. */
void expect_other_upload(struct wire_msg *m, void *owner);

#endif
