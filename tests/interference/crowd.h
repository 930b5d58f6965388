/* crowd.h -- many pairs, each in a process that may die of it; how many were of which kind.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_CROWD_H
#define COLONNADE_TESTS_INTERFERENCE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct crowd {
    uint64_t first, pairs; /* seeds first, first + 1, ...; at most so many pairs */
    double seconds;        /* and no longer; 0: as long as it takes */
    unsigned show;         /* differences that are printed in full */
};

/* Plays them and prints what was found: the differences, the table of kinds, and
 * "N pairs, D differences".  The number of differences, crashes among them, of pairs that were too
 * long to be compared whole, and one more where too few reached a release. */
uint64_t crowd_play(const struct crowd *c, uint64_t *pairs);

#endif
