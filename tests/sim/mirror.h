/* mirror.h -- a run of linear models computed a second time, in double, beside the simulation.
 *
 * For plans in clear with float32 embeddings, plain descent, no hidden layers and a softmax of two.
 * The mirror takes the models as they are before the first step, then follows the broadcasts alone:
 * at each that closes a step it makes that step itself and compares the gradient.  It knows nothing
 * of sums, generations or the server's books.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_MIRROR_H
#define COLONNADE_TESTS_SIM_MIRROR_H

#include "common/data/schedule.h"
#include "tests/sim/sim.h"

enum {
    MIRROR_PARTIES = 5,
    MIRROR_ROWS = 24,
    MIRROR_COLUMNS = 2,
    MIRROR_WIDTH = 4,
    MIRROR_OUTPUTS = 2,
    MIRROR_STEPS = 64,
};

struct mirror;

struct mirror_ear {
    struct mirror *mirror;
    uint32_t party;
};

typedef double mirror_rows[MIRROR_ROWS][MIRROR_WIDTH];

struct mirror {
    struct sim *sim;
    struct mirror_ear ear[MIRROR_PARTIES];
    struct schedule schedule[MIRROR_PARTIES];
    double w[MIRROR_PARTIES][MIRROR_COLUMNS][MIRROR_WIDTH], b[MIRROR_PARTIES][MIRROR_WIDTH];
    double head_w[MIRROR_PARTIES * MIRROR_WIDTH][MIRROR_OUTPUTS], head_b[MIRROR_OUTPUTS];
    double stand_in[MIRROR_PARTIES][MIRROR_WIDTH]; /* training.party_dropout */
    mirror_rows kept[MIRROR_PARTIES], gradient[MIRROR_PARTIES];
    bool seen[MIRROR_PARTIES][MIRROR_ROWS];
    uint64_t arrivals, taken[MIRROR_PARTIES];
    /* Told by the test, under drop: bit i of absent[step] means that party i is not in that sum, of
     * away[step] that it is not in that step's set either, of deaf[step] that it never hears that
     * step's gradient. */
    uint32_t absent[MIRROR_STEPS], away[MIRROR_STEPS], deaf[MIRROR_STEPS];
    uint32_t left_out;      /* dropout: how often somebody was */
    uint64_t stale, unseen; /* async: as in server_degraded */
    char wrong[256];        /* the first thing that differs; empty: nothing */
};

/* Before sim_run.  Takes up the rules for every broadcast and first hello. */
void mirror_init(struct mirror *m, struct sim *s);
void mirror_deinit(struct mirror *m);
/* At the end: models, and the loss of the last evaluation over the test rows. */
void mirror_compare(struct mirror *m);

#endif
