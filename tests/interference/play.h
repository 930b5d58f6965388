/* play.h -- both runs of a pair, and what is said of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_PLAY_H
#define COLONNADE_TESTS_INTERFERENCE_PLAY_H

#include "tests/interference/pair.h"
#include "tests/interference/trace.h"

struct play {
    struct trace run[2];
    size_t at;        /* the first event that differs; SIZE_MAX: none */
    char broken[320]; /* an invariant of the simulation that did not hold in one of them */
    bool released;    /* records were in what somebody sent */
    bool refused;     /* nothing of records was sent, and somebody has failed */
};

void play_init(struct play *y);
void play_deinit(struct play *y);
/* False: they differ, or an invariant broke. */
bool play_pair(struct play *y, const struct pair *p);
/* Why, behind the pair itself; `all`: every event of both. */
void play_print(const struct play *y, const struct pair *p, bool all, FILE *to);

#endif
