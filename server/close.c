/* close.c -- checkpoints, CLOSE and the endings.
 *
 * The happy path: the last broadcast -> every member keeps its final model and says so -> the
 * server keeps that the run is complete -> finish.  So whichever process is killed, and whenever,
 * nobody is left without the last gradient: until all are done the server comes back to CLOSE, and
 * from then on nobody needs anybody.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/check.h"
#include "common/base/log.h"

#include <stdio.h>
#include <string.h>

/* --- checkpoints --- */

/* What was saved in the work just done, or of a complete run, goes to the driver. */
void server_keep(struct server_session *s, struct actions *a)
{
    CHECK(!s->keep.under_way);
    s->keep.under_way = true;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){s->keep.bytes.data, s->keep.bytes.len};
}

/* Steps that somebody may still ask for: a party goes back at most to the checkpoint before its
 * last, or without any misses the last gradient.  Under drop nobody does. */
static void forget_what_nobody_needs(struct server_session *s)
{
    uint64_t floor = s->keep.durable_step;

    for (size_t i = 0; server_waits(s) && i < s->setup.roster->n; i++) {
        const struct server_peer *p = &s->fed.peer[i];
        /* Of who has not joined this process nobody knows what it needs. */
        uint64_t needs = s->report.joined[i] == 0                 ? 0
                         : p->keeps || s->trainer.steps_done == 0 ? p->kept[1]
                                                                  : s->trainer.steps_done - 1;
        floor = needs < floor ? needs : floor;
    }
    if (s->trainer.steps_done > WIRE_BEHIND_MAX && floor < s->trainer.steps_done - WIRE_BEHIND_MAX)
        floor = s->trainer.steps_done - WIRE_BEHIND_MAX; /* no peer fills this side's disk */
    if (floor > s->keep.durable_step)
        floor = s->keep.durable_step;
    if (s->setup.store.append != NULL)
        s->setup.store.forget(s->setup.store.owner, floor);
}

void server_keep_done(struct server_session *s, struct actions *a, const struct error *result)
{
    s->keep.under_way = false;
    if (result->status != STATUS_OK) {
        s->fed.error = *result;
        server_fail(s, a);
        return;
    }
    s->keep.durable_step = s->keep.step;
    forget_what_nobody_needs(s);
    if (s->fed.sm.phase == PHASE_CLOSE && (s->trainer.complete || server_all_answered(s)))
        server_all_closed(s, a);
}

void server_kept(struct server_session *s, struct actions *a, uint32_t peer,
                 const struct wire_kept *k)
{
    struct server_peer *p = &s->fed.peer[peer];

    if (k->step > p->kept[0]) {
        p->kept[1] = p->kept[0];
        p->kept[0] = k->step;
        forget_what_nobody_needs(s);
    }
    if (s->fed.sm.phase == PHASE_CLOSE && k->final && p->member >= 0 && !p->answered &&
        server_answered(s, peer))
        server_all_closed(s, a);
}

/* --- CLOSE --- */

void server_close_run(struct server_session *s, struct actions *a)
{
    struct wire_broadcast b = server_broadcast_of(s, false);

    b.last = true;
    sm_move(&s->fed.sm, PHASE_CLOSE, s->fed.generation);
    server_next_question(s);
    server_send_broadcast(s, a, &b);
    s->trainer.close.fresh = false;
    server_arm_phase(s, a);
}

/* First that all are done is made durable, then it is said. */
void server_all_closed(struct server_session *s, struct actions *a)
{
    if (s->keep.under_way) {
        server_arm(s, a, s->plan.protocol.patience_ms);
        return; /* an older checkpoint is on its way: comes back here */
    }
    if (!s->trainer.complete && s->setup.checkpoint_rounds > 0) {
        s->trainer.complete = true;
        s->keep.bytes.len = 0;
        s->keep.step = s->trainer.steps_done;
        if (server_session_save(s, &s->keep.bytes) != STATUS_OK) {
            error_set(&s->fed.error, STATUS_MEMORY, "no memory for a checkpoint");
            server_fail(s, a);
            return;
        }
        actions_add(a, ACTION_DISARM);
        server_keep(s, a);
        return;
    }
    if (!server_stored_begin(s, a))
        server_finish(s, a, s->trainer.target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED);
}

/* --- endings --- */

static void tell(struct server_session *s, struct actions *a, enum wire_outcome outcome,
                 const uint8_t *to, size_t n)
{
    struct action *send = actions_add(a, ACTION_SEND);
    enum status_kind kind = outcome == OUTCOME_FAILED || outcome == OUTCOME_BUDGET
                                ? status_kind(s->fed.error.status)
                                : STATUS_KIND_NONE;

    send->msg.kind = WIRE_FINISH;
    send->msg.finish.outcome = outcome;
    send->msg.finish.kind = kind;
    snprintf(send->msg.finish.text, sizeof send->msg.finish.text, "%.*s", WIRE_TEXT_MAX,
             kind == STATUS_KIND_NONE ? "" : s->fed.error.text);
    send->to = to;
    send->to_n = n;
}

void server_say_over(struct server_session *s, struct actions *a, enum wire_outcome outcome)
{
    uint8_t *to = server_audience(s);
    size_t n = 0;

    for (size_t i = 0; i < s->setup.roster->n; i++) {
        if (s->fed.peer[i].present)
            to[n++] = (uint8_t)i;
    }
    sm_move(&s->fed.sm, PHASE_OVER, s->fed.generation);
    actions_add(a, ACTION_DISARM);
    tell(s, a, outcome, to, n);
}

void server_say_over_to(struct server_session *s, struct actions *a, uint32_t peer)
{
    uint8_t *to = server_audience(s);

    to[0] = (uint8_t)peer;
    tell(s, a, OUTCOME_COMPLETED, to, 1);
}

void server_finish(struct server_session *s, struct actions *a, enum wire_outcome outcome)
{
    struct action *finish;

    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_BUDGET)
        s->fed.error = (struct error){0};
    if (s->fed.sm.phase != PHASE_OVER)
        server_say_over(s, a, outcome);
    server_watch_end(s, outcome);
    finish = actions_add(a, ACTION_FINISH);
    finish->outcome = outcome;
    finish->error = &s->fed.error;
}

void server_fail(struct server_session *s, struct actions *a)
{
    server_finish(s, a, s->fed.error.status == STATUS_BUDGET ? OUTCOME_BUDGET : OUTCOME_FAILED);
}
