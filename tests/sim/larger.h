/* larger.h -- what tests of sets that are refused for a larger one share.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LARGER_H
#define COLONNADE_TESTS_SIM_LARGER_H

#include "tests/sim/sim.h"

#define HOUR_US 3600000000ull

/* `drop`, of parties that are content among three, two of whom may hide nothing. */
struct sim_options larger_options(uint32_t parties);
void larger_completed_but(struct sim *s, uint32_t dead);

/* What a party was about to say becomes a wish for a larger set than that of a generation: for
 * sim_rule's alter. */
struct larger_wish {
    uint64_t generation;
};
void larger_wish(struct wire_msg *m, void *owner);

#endif
