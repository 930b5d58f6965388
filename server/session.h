/* session.h -- the server's side of a run, without I/O: events in, actions out.
 *
 * A session is a federation and the job that it plays, one after another (parts.h).  It never sees
 * a single party's embedding under masks, only sums.  The same code runs under libuv (loop.c) and
 * on the virtual clock of tests/sim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SESSION_H
#define COLONNADE_SERVER_SESSION_H

#include "common/flow/action.h"
#include "common/flow/event.h"
#include "server/setup.h"

struct server_job;
struct server_session;
struct server_terms;

/* With a first run of training; setup->plan NULL: with no job, of the roster alone. */
enum status server_session_new(struct server_session **out, const struct server_setup *setup,
                               struct error *err) MUST_USE;
/* Without a job, or after an ACTION_FINISH: a run of training, of the same roster, or another job,
 * whose state stays the caller's.  EVENT_START begins it.  What the session knew of the run before
 * is gone, so it has been written down by then; when a run could not be made (no memory), another
 * job may only be played by another session. */
enum status server_session_train(struct server_session *s, const struct server_setup *setup,
                                 struct error *err) MUST_USE;
/* Either kind of job, as setup says; when it could not be made there is none, and another may be
 * played. */
enum status server_session_next(struct server_session *s, const struct server_setup *setup,
                                struct error *err) MUST_USE;
/* No job, and nothing of the last one, which is over or was never begun. */
void server_session_rest(struct server_session *s);
void server_session_play(struct server_session *s, const struct server_terms *terms,
                         const struct server_job *job, void *state);
void server_session_free(struct server_session *s); /* NULL is fine */

/* What a later process needs to go on from here, and back.  A new session of the same plan only:
 * STATUS_DATA when the bytes do not fit it.  The head's weights are in there: seal it. */
enum status server_session_save(const struct server_session *s, struct buf *out) MUST_USE;
enum status server_session_restore(struct server_session *s, const uint8_t *bytes,
                                   size_t n) MUST_USE;
/* Once restored: a record that was appended after what was restored, in order.  STATUS_DATA when it
 * does not fit the agenda. */
enum status server_session_replay(struct server_session *s, const struct journal_record *r,
                                  struct error *err) MUST_USE;
/* Is it what the run has done?  Not after work that failed half way: the last checkpoint and the
 * journal are, then. */
bool server_session_sound(const struct server_session *s);
bool server_session_opened(const struct server_session *s); /* a round was opened, ever */
const uint8_t *server_session_plan_digest(const struct server_session *s); /* WIRE_DIGEST_BYTES */

void server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                         struct actions *out);
/* The work an ACTION_WORK asked for, and what it wants written then (APPEND, TURN); may run on
 * another thread while no step runs. */
void server_session_work(struct server_session *s, struct actions *out);

struct server_predict;
/* NULL: it trains. */
struct server_predict *server_session_predictions(const struct server_session *s);
struct server_align;
/* NULL: it aligns nothing. */
const struct server_align *server_session_alignment(const struct server_session *s);
const struct server_report *server_session_report(struct server_session *s);
/* fedvs, once all hellos of a generation are in: what they amount to. */
const struct fedvs_terms *server_session_terms(const struct server_session *s);
double server_session_reach(const struct server_session *s); /* fedvs_reach(), by any process */
/* Scores of the test rows, row by row (server_tested of server/train/evaluate.h). */
enum status server_session_tested(const struct server_session *s,
                                  struct server_tested *out) MUST_USE;
const struct nn_net *server_session_head(const struct server_session *s);
const struct nn_head *server_session_top(const struct server_session *s);
/* Largest frame a member may send in this job, and the server. */
void server_session_frames(const struct server_session *s, size_t *up, size_t *down);
struct spans *server_session_spans(struct server_session *s);

#endif
