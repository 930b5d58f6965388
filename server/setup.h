/* setup.h -- what a session is given, and what it tells of itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SETUP_H
#define COLONNADE_SERVER_SETUP_H

#include "common/config/plan.h"
#include "common/crypto/cert_name.h"
#include "common/daemon/journal.h"
#include "common/data/table.h"
#include "common/data/validate.h"
#include "common/flow/action.h"
#include "common/flow/agenda.h"
#include "common/flow/alignment.h"
#include "common/flow/event.h"
#include "common/flow/ids.h"
#include "common/flow/phase.h"
#include "common/flow/roster.h"
#include "common/metrics/calibrate.h"
#include "common/metrics/score.h"
#include "common/metrics/spans.h"
#include "common/nn/loss.h"
#include "common/nn/net.h"
#include "common/secagg/fedvs_terms.h"
#include "server/generation.h"
#include "server/train/transcript.h"

/* What the journal of released sums and gradients (common/daemon/journal) has, for a process that
 * comes later; first NULL: there is none.  To be written to, and read at length, it takes actions
 * (APPEND, TURN, RECALL, FORGET).  Called from step alone. */
struct server_store {
    void *owner;
    bool (*trail)(void *owner, uint64_t applied, uint8_t trail[WIRE_DIGEST_BYTES]);
    uint64_t (*first)(void *owner); /* oldest step it has the gradient of */
};

/* Somebody who is told what the server sees and says (transcript.h), by all six; ask NULL: nobody.
 * Called from step and work; what does not succeed ends the run. */
struct server_watch {
    void *owner;
    enum status (*ask)(void *owner, const struct transcript_ask *a, struct error *err);
    enum status (*upload)(void *owner, const struct transcript_upload *u, struct error *err);
    enum status (*sum)(void *owner, const struct transcript_sum *m, struct error *err);
    enum status (*again)(void *owner, const struct transcript_again *g, struct error *err);
    enum status (*arrival)(void *owner, const struct transcript_arrival *r, struct error *err);
    enum status (*end)(void *owner, const struct transcript_end *e, struct error *err);
};

struct package;
struct placed;
struct contribution;

/* Where the rows of an open job come from, and where their scores go; take NULL: the rows are known
 * beforehand.  Called from step alone. */
struct server_feed {
    void *owner;
    /* The next round's: of so many at most, how many; 0: nobody asks for any.  *ids, with a line
     * end behind each, stay as they are until they are scored or dropped. */
    uint32_t (*take)(void *owner, uint32_t most, struct wire_bytes *ids);
    /* That round came to nothing: does anybody still wait for it?  No: it is dropped. */
    bool (*again)(void *owner);
    /* Row by row, in the order of the ids; who is missing, by roster index. */
    void (*scored)(void *owner, const float *scores, const bool *missing);
    bool (*closes)(void *owner); /* others wait for the job's end */
};

/* Rows to be predicted, by a head's package.  Written by asked.c, what is of an open job by
 * serve/serve.c. */
struct server_question {
    const struct package *model;
    const char *ids;    /* of all rows, a line end behind each */
    const uint32_t *at; /* rows + 1: where each begins, and where the last one ends */
    uint32_t rows;      /* of an open job: at most, and the two above are NULL */
    struct server_feed feed;
    uint32_t idle_ms;              /* an open job ends when nobody has asked for so long */
    bool absent[WIRE_MEMBERS_MAX]; /* by roster index: uploads a constant */
    char by[CERT_NAME_MAX + 1];    /* for whom; a name (cert_name.h) */
    /* So many answer where the others stay away for so long; fewer than all under noise alone. */
    uint32_t min_parties, wait_ms;
    const struct contribution *asks; /* of a job of contributions, instead of these; else NULL */
    const struct placed *placed;     /* ids are places of this alignment; NULL: they are ids */
};

/* Ids that are aligned with the parties'. */
struct server_aligned {
    const struct alignment *about;
    uint32_t ids_max, all_max;
    struct alignment_list list; /* about->ids of them in the first pass */
};

/* Whose rows are predicted, and what they are in truth; test NULL: there is none. */
struct server_labels {
    const struct table *train, *test;
    const float *train_target, *test_target;
    const struct validate *validate; /* which test rows are to choose by; NULL: none is */
};

/* What the head begins as. */
struct server_start {
    struct program *program; /* of model.head_program; NULL: there is none */
    const uint8_t *weights;  /* of model.load; NULL: they are drawn */
    size_t weights_n;
    bool seeded; /* --insecure-seed */
    uint64_t seed;
};

/* Everything stays the caller's and must outlive the session. */
struct server_setup {
    const struct server_question *asked; /* a job of predictions; NULL: training, or ... */
    const struct server_aligned *aligns; /* ... where there is this, a job of alignment */
    const struct plan *plan;             /* shape filled in; NULL: no run */
    const struct roster *roster;
    struct server_labels labels;
    struct server_start start;
    uint64_t (*clock_us)(void); /* for spans inside work; tests give a constant */
    struct server_store store;
    struct server_watch watch;
    uint32_t checkpoint_rounds; /* training rounds between two ACTION_KEEP; 0: never any */
    struct ids_counts counts;
    uint32_t id_mismatches;        /* that are counted of one party, at most; 0: no limit */
    struct generation_floor floor; /* of a new session: it outlives jobs */
};

struct server_reached {
    bool yes;
    double epoch, value;
    uint64_t round;
};

/* What was worse than it might have been: every degradation is counted and shown.  Written by the
 * files of server/train that see it: work.c, plain.c, share.c, stream.c, round.c and behind.c. */
struct server_degraded {
    uint64_t missing;    /* members that a training round closed without */
    uint64_t late;       /* uploads that their training round did not wait for */
    uint64_t absent;     /* drop: parties that a training round had no part for */
    uint64_t stale;      /* async: embeddings used that are older than the arrival */
    uint64_t unseen;     /* async: embeddings that were not there yet */
    uint64_t unverified; /* coded: decodes without a surplus upload to check them by */
    uint64_t faulty;     /* coded: uploads found to be wrong */
    uint64_t replayed;   /* gradients sent again to who had missed them */
};

/* Whose part of that it was, in this process; by roster index, as all that follows. */
struct server_whose {
    uint64_t missing[WIRE_MEMBERS_MAX], late[WIRE_MEMBERS_MAX], absent[WIRE_MEMBERS_MAX];
};

/* Whose answer was the last to come: how often, and for how long after all others. */
struct server_waited {
    uint64_t times[WIRE_MEMBERS_MAX], us[WIRE_MEMBERS_MAX];
};

/* What an evaluation has found, of each split. */
struct server_scored {
    struct score train, validate, test;
    struct calibration calibrated; /* by the validation rows */
};

/* The evaluation whose model is kept. */
struct server_best_of {
    bool yes;
    uint64_t step; /* of the run, or of the head alone; 0: none yet */
    double epoch, value;
    uint64_t round;
    struct server_scored scored;
};

/* How good the model is, by the last evaluation; last_loss: of the last training round.  Written by
 * evaluate.c, best.c, work.c and, out of a checkpoint, resume.c. */
struct server_measured {
    uint64_t sweeps;
    double last_loss;
    struct server_scored scored;
    struct server_reached reached;
    struct server_best_of best; /* under patience */
    bool settled;               /* the run is over, and the model is the best one's */
};

/* Who is there: session.c says it when it is asked, as the federation stands then. */
struct server_presence {
    enum phase phase;
    uint64_t generation, stale_messages;
    uint32_t members_n;
    int waiting_for;           /* a member whose answer is missing; -1: nobody */
    uint64_t waiting_since_us; /* when it was asked */
    uint64_t lost[WIRE_MEMBERS_MAX], joined[WIRE_MEMBERS_MAX];
};

/* What the driver shows and writes down.  The first block is written by session.c when it is asked
 * (epochs by evaluate.c, too), the second by training as it goes: init.c, work.c, plain.c, share.c,
 * stream.c, job.c and resume.c. */
struct server_report {
    struct server_presence presence;
    uint64_t steps;
    double epochs;
    const uint8_t *trail; /* after `steps` (common/flow/trail.h) */

    struct agenda agenda;
    uint64_t rounds /* of training */, void_rounds, integrity_failures;
    uint32_t missing_now; /* parties of the roster that the last training round closed without */
    struct server_degraded degraded;
    struct server_whose whose;
    struct server_waited uploads, shares;
    struct server_measured measured;
};

/* What the last sweep over test rows has come to: row i of the label file has the `outputs` scores
 * from prob + at[i] outputs on. */
struct server_tested {
    enum nn_loss loss;
    uint32_t outputs;
    const float *prob;
    uint32_t *at; /* to mem_free; of a row that was kept back: nothing */
};

#endif
