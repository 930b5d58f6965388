/* setup.h -- what a party's session is given, and what it tells of itself.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_SETUP_H
#define COLONNADE_PARTY_SETUP_H

#include "common/config/config.h"
#include "common/crypto/sign.h"
#include "common/data/schema.h"
#include "common/data/table.h"
#include "common/flow/action.h"
#include "common/flow/agenda.h"
#include "common/flow/alignment.h"
#include "common/flow/event.h"
#include "common/flow/ids.h"
#include "common/flow/phase.h"
#include "common/flow/roster.h"
#include "common/metrics/spans.h"
#include "common/nn/net.h"
#include "party/persons.h"
#include "common/program/program.h"

enum {
    PARTY_FIRST_PATIENCE_MS = 120000, /* before a plan is known */
    PARTY_STALLED_MAX = 64,           /* generations without a step forward */
    PARTY_GO_BACK_MAX = 16,           /* returns of one process to earlier steps */
    PARTY_CHARGE_ROUNDS = 128,        /* rounds reserved in the ledger at once, at most */
};

struct party_job;
struct package;

/* What predictions are made with; rows NULL: none are. */
struct party_answers {
    const struct package *model;
    const struct table *rows;      /* prepared as the model wants them */
    const struct persons *persons; /* whose they are; NULL: each is its own */
    bool silent; /* the rows cannot be read: nobody is told, this side looks absent */
};

/* What earlier processes, or this one, have kept of this party's part in a job: the last checkpoint
 * and the one before; last NULL: nothing. */
struct party_saved {
    const uint8_t *last, *before;
    size_t last_n, before_n;
    bool unpaid; /* nothing was charged for it so far, for all that is known */
};

/* Memory for the shares of everybody's data (fedvs), which may be more than the machine has and
 * should outlive the process.  map NULL: the session takes it from the heap. */
struct party_holdings {
    void *owner;
    /* *bytes of it, 0 for what an earlier process left (none: *bytes stays 0); it stays the
     * owner's, and what was mapped before is no more. */
    enum status (*map)(void *owner, uint8_t **memory, size_t *bytes, struct error *err);
    enum status (*sync)(void *owner,
                        struct error *err); /* to the disk; NULL: it does not outlive */
};

/* Its rows; test: no rows when there are none. */
struct party_data {
    const struct table *train, *test;
    const struct table *labels;    /* of the training rows, in their order; NULL: none here */
    const struct persons *persons; /* whose rows they are; NULL: each is its own */
    const struct schema *schema;   /* what made their columns; NULL: nothing did */
};

/* What its model begins with, and what is drawn for it. */
struct party_start {
    const uint8_t *weights; /* of model.load; NULL: they are drawn */
    size_t weights_n;
    struct program *program; /* of model.program; NULL: there is none */
    bool seeded;             /* --insecure-seed */
    uint64_t seed;
    /* The own package of the run that a plan goes on from: `out` is initialised; by the setup's
     * owner.  NULL: there are none. */
    enum status (*from)(void *owner, const struct plan *plan, struct package *out,
                        struct error *err);
};

/* What the ledger says when it is asked. */
struct party_ledger {
    void *owner;
    /* What it holds already, asked when a plan is priced. */
    size_t (*spent)(void *owner, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
    /* Has it an account for a mechanism, or room for one? */
    bool (*takes)(void *owner, const struct account_entry *mechanism);
    /* Does the policy answer so many rows, after all that was asked for, and in vain? */
    enum status (*may_answer)(void *owner, uint32_t rows, struct error *err);
    uint64_t (*sequence)(void *owner); /* its last number */
    /* The highest number of the ledger of another one of the roster that this party has ever seen,
     * asked once, at the start. */
    uint64_t (*seen)(void *owner, uint32_t party);
    /* A training begins by rows that may not all be here, within limits of one record: those
     * without room for so many releases are left out of it, in `lacks` of the tables, too. */
    enum status (*spare)(void *owner, const struct plan *plan, const struct account_entry *planned,
                         struct error *err);
    uint64_t records; /* in it, those of train and test among them */
};

/* The ids that it aligns with the others' (common/daemon/idlist.h). */
struct party_ids_listed {
    bool any; /* false: it takes part in no alignment */
    struct alignment_list list;
    /* What is played next, and how many ids this side lists for it.  On any thread, as is keep.
     * STATUS_CONFIG: it has not got the keys, or not what is extended. */
    enum status (*open)(void *owner, const struct alignment *about, uint32_t *n, struct error *err);
    /* What all passes have come to, durably. */
    enum status (*keep)(void *owner, const uint8_t transcript[WIRE_DIGEST_BYTES],
                        struct error *err);
};

/* Everything stays the caller's and must outlive the session.  Written by run.c, and `saved`, which
 * is of one job, by meeting.c, and of what is `answers` one word by session.c. */
struct party_setup {
    /* The kinds of jobs that it plays, NULL behind the last.  `saved` is of one of the first kind,
     * which this party says that it goes on with, before it knows what will be offered. */
    const struct party_job *const *jobs;
    const struct config_party *config;
    const struct roster *roster;
    uint32_t self; /* index in the roster */
    const struct sign_key *key;
    struct party_data data;
    struct party_start start;
    struct party_saved saved;
    /* What there is of the job of this digest: asked when one is offered that another has gone
     * before, and of the first as well, where this is set; `saved` is nothing then.  NULL: of jobs
     * to come nothing is kept.  It fills in what of the setup is one job's: the tables of data,
     * saved, answers and the ledger's records; that has to stay until the next is asked for. */
    enum status (*recall)(void *owner, const struct wire_job *job,
                          const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                          struct error *err);
    void *owner;
    struct party_ledger ledger;
    uint64_t (*clock_us)(void); /* for spans inside work; tests give a constant */
    uint32_t checkpoint_rounds; /* training steps between two ACTION_KEEP; 0: never any */
    struct party_holdings holdings;
    struct party_answers answers;
    struct party_ids_listed listed;
    struct ids_counts counts;
};

/* How far the job has come. */
struct party_progress {
    uint64_t rounds, applied, clipped;
    uint64_t furthest;  /* grows with each step that is a step forward */
    uint32_t last_rows; /* of the last upload */
    /* Something was trained or released, or all data dealt, by this process or one before it. */
    bool begun;
    bool lacking;  /* the own ledger lacks what the server's steps have taken */
    bool final;    /* the last broadcast has come: the model is final */
    bool has_part; /* it has taken part in what the model has become */
    bool left_out; /* the run is complete, without the last of this party's steps */
    uint64_t best; /* the bottom is that after so many steps, the best; 0: after `applied` */
};

/* Written by the job that is played, train.c, predict.c or align.c, but for what session.c
 * knows. */
struct party_report {
    enum phase phase;
    uint64_t generation;
    bool dismissed; /* the server itself has said that the run is over, and well */
    bool planned;   /* a plan was accepted, or is that of what was saved */
    bool keeping;   /* bytes of an ACTION_KEEP are still needed */
    bool unmet;     /* the job that is over could not be made: nothing here is of it */
    bool shared;    /* fedvs: the shares of everybody's data are all here */
    struct party_progress progress;
    struct plan plan;
    struct agenda agenda;
    struct account_entry mechanism; /* of the current generation */
    const struct nn_net *bottom;    /* NULL before a plan was accepted */
    double reach;                   /* fedvs_reach(), where there are terms */
    const uint8_t
        *trail;      /* after `applied` steps; the number of this playing where it tells nothing */
    size_t down_max; /* largest frame the server may send under the plan */
};

#endif
