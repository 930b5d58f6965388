/* run.h -- one party's run, but for the network: session, ledger, checkpoints and results, opened
 * together and brought to an end in the order that loses nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_RUN_H
#define COLONNADE_PARTY_RUN_H

#include "common/crypto/rng.h"
#include "common/daemon/guesses.h"
#include "common/daemon/roll.h"
#include "party/asked.h"
#include "party/books.h"
#include "party/holdings.h"
#include "party/results.h"
#include "party/session.h"

struct party_run {
    const struct party_inputs *in;
    const struct party_options *options;
    char folder[CONFIG_PATH_MAX]; /* of this run's files: the state, or one in it */
    bool playing;                 /* a job that was offered is not over */
    struct party_package kept;    /* the last model that this process kept */
    struct asked asked;           /* of a party that stands, to its last job of predictions */
    struct books books;
    struct roll roll;               /* of an alignment */
    struct buf saved, saved_before; /* what earlier processes kept of this run */
    bool fresh;                     /* the offered job: they kept nothing of it */
    bool paid,
        marked; /* the ledger was charged for the run that is played: ever; in this job first */
    struct holdings holdings;
    struct guesses guesses;
    struct party_session *session;
    struct party_results results;
    struct rng chance;   /* delays and jitter: nothing secret */
    double delay_mean_s; /* of inject.delay */
    enum wire_outcome outcome;
    struct error error;
    int lock; /* of the state directory */
};

/* r->in and r->options are filled in.  A party that stands is in no job then.  The run ends with
 * party_run_deinit, whatever the answer. */
enum status party_run_begin(struct party_run *r, struct error *err) MUST_USE;
/* Files of the end; the run's own failure, if any, is the answer. */
enum status party_run_end(struct party_run *r, struct error *err) MUST_USE;
/* The server is about to hear that this party's model is final: from then on it needs nobody, and
 * its word that the run is over may never come.  A party that stands keeps the model now, and has
 * it in use with the end. */
void party_run_final(struct party_run *r);
/* Something is said: if that is of a step, the server had lost the end, and what was kept is no
 * longer the model of the run. */
void party_run_trains_on(struct party_run *r);
/* Files of the end of one job of a party that stands, whose way to end is a line in the log. */
void party_run_job_ended(struct party_run *r);
void party_run_deinit(struct party_run *r); /* safe on a zeroed struct */

/* What the session asks of its ledger; may run on a worker thread. */
enum status party_run_charge(struct party_run *r, const struct action_charge *c,
                             struct error *err) MUST_USE;
/* Writes what the session wants kept; may run on a worker thread while the session goes on. */
enum status party_run_keep(const struct party_run *r, const struct wire_bytes *kept,
                           struct error *err) MUST_USE;
/* Milliseconds that inject.delay holds this message up; 0: none. */
uint64_t party_run_delay_ms(struct party_run *r, const struct wire_msg *m);

#endif
