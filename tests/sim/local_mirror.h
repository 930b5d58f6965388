/* local_mirror.h -- local steps computed a second time, in double, beside the simulation: FedBCD
 * (Liu et al. 2020, Algorithm 1, equations (6), (13)) and C-VFL (Castiglia et al. 2022, Algorithms
 * 1 and 2), written from the papers.
 *
 * For plans in clear under wait, plain descent, bottoms C tanh(x W + b), and a head that is one
 * layer before a softmax of two, or none at all (identity).  The mirror takes the models as they
 * are before the first step.  From then on it hears what is said: uploads, for what noise and
 * compression made of embeddings, each held against what it has itself; the head as compressors
 * send it down.  All else it computes: steps, residuals, importances.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LOCAL_MIRROR_H
#define COLONNADE_TESTS_SIM_LOCAL_MIRROR_H

#include "common/crypto/digest.h"
#include "common/data/schedule.h"
#include "tests/sim/sim.h"

enum {
    LOCAL_PARTIES = 3,
    LOCAL_ROWS = 24,
    LOCAL_COLUMNS = 2,
    LOCAL_WIDTH = 4, /* the most */
    LOCAL_OUTPUTS = 2,
    LOCAL_INPUTS = LOCAL_PARTIES * LOCAL_WIDTH,
};

/* Theta: of one party. */
struct local_bottom {
    double w[LOCAL_COLUMNS][LOCAL_WIDTH], b[LOCAL_WIDTH];
};

struct local_head {
    double w[LOCAL_INPUTS][LOCAL_OUTPUTS], b[LOCAL_OUTPUTS];
};

typedef double local_rows[LOCAL_ROWS][LOCAL_WIDTH];
typedef double local_fused[LOCAL_ROWS][LOCAL_INPUTS];

struct local_mirror;

struct local_ear {
    struct local_mirror *mirror;
    uint32_t party;
};

struct local_mirror {
    struct sim *sim;
    uint32_t parties, width;
    bool apart; /* each party has columns of its own in a sum: concat, max */
    bool most, mean, identity, refreshed, sequential;
    struct local_ear ear[LOCAL_PARTIES];
    struct schedule schedule;
    struct digest digest;
    struct local_bottom bottom[LOCAL_PARTIES];
    struct local_head head;
    local_rows sent[LOCAL_PARTIES];     /* of the batch, as the uploads of the step say */
    local_rows exact[LOCAL_PARTIES];    /* the same before anything was done to it */
    local_rows residual[LOCAL_PARTIES]; /* by row of the table */
    local_fused others[LOCAL_PARTIES];  /* of the last step in which a party refreshed */
    double importance[LOCAL_PARTIES][LOCAL_WIDTH];
    uint64_t steps, heard[LOCAL_PARTIES];
    uint64_t again;     /* values that went out with a residual that is not 0 */
    uint64_t weighted;  /* uploads of which a last gradient chose the components (top-k) */
    uint64_t evaluated; /* compressed uploads of an evaluation */
    /* For negative twins: how the mirror is made to err on purpose. */
    enum local_slip {
        LOCAL_RIGHT,
        LOCAL_NO_RESIDUAL,
        LOCAL_NO_WEIGHTS, /* top-k goes by the values themselves */
        LOCAL_LATE_HEAD,  /* refreshes with the head as it is after its own steps */
        LOCAL_OWN_TWICE,  /* does not take its own part out */
        LOCAL_ALL_STALE,
        LOCAL_ONE_STEP,
        LOCAL_NO_PULL,
        LOCAL_CONSTANT,
        LOCAL_ALL_AT_ONCE, /* no turns */
        LOCAL_EXACT,       /* takes out its own part as it was before it was encoded */
        LOCAL_UNWEIGHTED,  /* a row of either class counts once */
    } slip;
    char wrong[256]; /* the first thing that differs; empty: nothing */
};

/* Before sim_run. */
void local_mirror_init(struct local_mirror *m, struct sim *s);
void local_mirror_deinit(struct local_mirror *m);
/* At the end. */
void local_mirror_compare(struct local_mirror *m);

#endif
