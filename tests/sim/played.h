/* played.h -- runs that are played one after another by three parties that stand, and what each of
 * them ends with when nothing else was ever played and nobody was disturbed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PLAYED_H
#define COLONNADE_TESTS_SIM_PLAYED_H

#include "tests/sim/standing.h"

#define HOUR_US 3600000000ull

enum { PARTIES = 3, RUNS = 4, DROPS = RUNS - 1, MODELS = PARTIES + 1, PREDICTED = 6 };

extern struct played_run {
    const char *sets[4];
    struct standing_job job;
    char model[MODELS][65]; /* SHA-256 in hex of the server's, then of the parties' */
    uint64_t length_us;
} played_runs[RUNS];

/* One that everybody plays, and one that everybody refuses. */
extern const struct standing_job played_probe, played_refused;

/* Setup of a group of tests: each run in a federation of its own. */
int played_alone(void **state);

/* seed 0: frames and work take no time that differs. */
struct sim *played_federation(uint64_t seed);
/* It is freed; what broke an invariant has failed the test. */
void played_leave(struct sim *s);
/* To its end, for up to two hours; who was stopped meanwhile is started again. */
void played_job(struct sim *s, const struct standing_job *job);
void played_start_stopped(struct sim *s);

const struct sim_end *played_end_of(const struct sim *s, int who);
/* Who has started anew since has none: "". */
void played_models(struct sim *s, char out[MODELS][65]);
void played_expect_models(struct sim *s, const struct played_run *r);
/* Whoever is there is in no job, and waits for the next. */
void played_expect_idle(struct sim *s);

#endif
