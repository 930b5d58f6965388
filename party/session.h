/* session.h -- a party's side of a run, without I/O: events in, actions out.
 *
 * The session owns the bottom model, the generation's keys and this party's view of the run.  It
 * trusts nothing the server says: hellos are checked against its own roster, the plan against its
 * own policy, every round against the agenda of the plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_SESSION_H
#define COLONNADE_PARTY_SESSION_H

#include "party/setup.h"

struct party_session;

enum status party_session_new(struct party_session **out, const struct party_setup *setup,
                              struct error *err) MUST_USE;
void party_session_free(struct party_session *p); /* wipes keys; NULL is fine */

/* What a later process needs to go on from here (empty before the first upload).  The bottom's
 * weights are in there: seal it. */
enum status party_session_save(const struct party_session *p, struct buf *out) MUST_USE;
void party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                        struct actions *out);
void party_session_work(struct party_session *p);
/* The one call that another thread may make while the work is under way, or this one: EVENT_STOP is
 * to come.  The work leaves the step that it is in after the local iteration that it is in, and the
 * session is as it was before that step: it has not applied the gradient, and sends nothing more.
 */
void party_session_interrupt(struct party_session *p);

const struct party_report *party_session_report(struct party_session *p);
/* The bottom; NULL before a plan was accepted. */
const struct nn_net *party_session_bottom(const struct party_session *p);
struct spans *party_session_spans(struct party_session *p);

#endif
