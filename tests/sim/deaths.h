/* deaths.h -- whoever dies, and whenever: the run goes on from its disks to the models of an
 * undisturbed one.
 *
 * All laws that are seen to be broken end the test with what died when.  `words` name the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_DEATHS_H
#define COLONNADE_TESTS_SIM_DEATHS_H

#include "tests/sim/sim.h"

enum { DEATHS_PARTIES_MAX = 5 };

struct deaths_models {
    char of[DEATHS_PARTIES_MAX + 1][65]; /* the head, and the parties' bottoms */
};

/* A run without a death. */
struct deaths_calm {
    struct deaths_models models;
    uint64_t length_us;
    uint32_t sent[DEATHS_PARTIES_MAX + 1][WIRE_KINDS];
};

/* All models; ends the test unless every side has ended well. */
struct deaths_models deaths_models(struct sim *s, uint32_t parties, const char *when);
struct deaths_calm deaths_calm(const struct sim_options *o);

/* Each process dies in place of each of its messages.  Unseeded runs have to end well, no more. */
void deaths_at_every_message(const struct sim_options *o, const char *words);
/* The server, and one party for all, die at every half millisecond: the upload has gone out, the
 * checkpoint is not yet written. */
void deaths_whenever(const struct sim_options *o, const char *words);

#endif
