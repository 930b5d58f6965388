/* life.h -- connections that break, processes that die and come back.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LIFE_H
#define COLONNADE_TESTS_SIM_LIFE_H

#include "tests/sim/world.h"

void life_break(struct sim *s, const struct sim_break *b);
void life_heard(struct sim *s, uint32_t party); /* of a cut, the end that had not */
void life_start(struct sim *s, int who);
void life_leave(struct sim *s, uint32_t party);

#endif
