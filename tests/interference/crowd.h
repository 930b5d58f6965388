/* crowd.h -- many pairs, each in a process that may die of it; how many were of which kind.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_CROWD_H
#define COLONNADE_TESTS_INTERFERENCE_CROWD_H

#include "tests/interference/pair.h"

#include <stdbool.h>
#include <stdint.h>

struct crowd {
    enum pair_kind kind;
    uint64_t first, pairs; /* seeds first, first + 1, ...; at most so many pairs */
    double seconds;        /* and no longer; 0: as long as it takes */
    unsigned show;         /* differences that are printed in full */
};

/* Plays them and prints what was found: the differences, the table of kinds, and
 * "N pairs, D differences".  The number of differences, crashes among them, of pairs that were too
 * long to be compared whole, and one more where too few reached a release. */
uint64_t crowd_play(const struct crowd *c, uint64_t *pairs);

/* The program of a kind of pairs, `most` of them unless it is told otherwise:
 *
 *   [--first SEED] [--pairs N] [--seconds S] [--show N]
 *   --seed SEED            this pair again, with every event of both runs
 *
 * Ends with "N passed, N failed"; 1: a difference. */
int crowd_main(enum pair_kind kind, uint64_t most, int argc, char **argv);

#endif
