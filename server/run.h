/* run.h -- the server's run, but for the network: session, journal, checkpoints and results, opened
 * together and brought to an end in the order that loses nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_RUN_H
#define COLONNADE_SERVER_RUN_H

#include "common/crypto/sign.h"
#include "common/daemon/guesses.h"
#include "common/daemon/journal.h"
#include "server/generation.h"
#include "server/results.h"
#include "server/session.h"

/* Written by run.c; what it is of by loop.c, or stand.c where there is one after another. */
struct server_run {
    const struct server_inputs *in;
    const struct server_inputs *whole; /* of a server that stands: `in` between two jobs */
    const struct server_options *options;
    struct server_session *session;
    struct journal *journal;       /* NULL: no state_key, or a policy that needs none */
    struct transcript *transcript; /* NULL: none is wanted */
    struct server_results results;
    struct sign_key key; /* signs what is counted under state */
    struct guesses guesses;
    struct generation_file generation;
    struct actions written; /* by the session's work */
    enum wire_outcome outcome;
    struct error error;
    bool written_down; /* all that its end leaves: nothing is needed any more to go on with it */
    int lock;          /* of the state directory */
};

/* r->in and r->options are filled in: what lasts for all jobs.  The run ends with
 * server_run_deinit, whatever the answer. */
enum status server_run_open(struct server_run *r, struct error *err) MUST_USE;
/* Goes on where the folder of its files says. */
enum status server_run_begin(struct server_run *r, struct error *err) MUST_USE;
/* Files of the end; the run's own failure, if any, is the answer. */
enum status server_run_end(struct server_run *r, struct error *err) MUST_USE;
/* After that, and once nobody would begin it again: what it would go on from is removed, where it
 * is over. */
enum status server_run_forget(struct server_run *r, struct error *err) MUST_USE;
/* A server that stands has no job at first.  It fills in r->in for one, with the roster of its own,
 * and begins it; when it has ended it, or it could not begin, it is without again. */
enum status server_run_stand(struct server_run *r, struct error *err) MUST_USE;
void server_run_rest(struct server_run *r);
void server_run_deinit(struct server_run *r); /* safe on a zeroed struct */

/* A message of the session went to its connections, since `start`: a round that it opens is noted.
 */
void server_run_sent(struct server_run *r, const struct action *a, uint64_t start);
/* REPORT of the session. */
void server_run_report(struct server_run *r);

/* WORK and RECALL of the session; may run on a worker thread while nothing is told to it.
 * What its work wants in the journal is there when this returns. */
enum status server_run_work(struct server_run *r, const struct action *a,
                            struct error *err) MUST_USE;
/* Writes what the session wants kept; may run on a worker thread while the session goes on. */
enum status server_run_keep(const struct server_run *r, const struct wire_bytes *kept,
                            struct error *err) MUST_USE;

#endif
