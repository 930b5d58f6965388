/* dice.h -- what a seed draws: numbers that are the same on every machine.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_DICE_H
#define COLONNADE_TESTS_INTERFERENCE_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

uint64_t dice_next(struct dice *d);                              /* splitmix64 */
uint64_t dice_between(struct dice *d, uint64_t lo, uint64_t hi); /* both included */
bool dice_percent(struct dice *d, unsigned percent);
double dice_real(struct dice *d); /* in [0, 1) */
/* A stream of its own: the n-th of `what`, of the same seed. */
struct dice dice_of(uint64_t seed, uint64_t what, uint64_t n);

/* One of a list of things of one type. */
#define DICE_PICK(d, list) ((list)[dice_next(d) % (sizeof(list) / sizeof *(list))])

#endif
