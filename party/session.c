/* session.c -- life, dispatch and endings of a party session.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/session.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "party/core.h"

#include <stdio.h>
#include <string.h>

/* The server gives up on others after its patience and then says so: this side waits longer than
 * that. */
void party_arm(struct party_session *p, struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms =
        p->learner.planned ? 2 * (uint64_t)p->learner.plan.protocol.patience_ms + 10000
                           : PARTY_FIRST_PATIENCE_MS;
}

void party_finish(struct party_session *p, struct actions *a, enum wire_outcome outcome)
{
    struct action *finish;

    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_BUDGET)
        p->error = (struct error){0};
    sm_move(&p->sm, PHASE_OVER, p->fed.set.generation);
    party_forget_keys(p);
    if (p->round.weights_cut > 0)
        log_warn("%llu times a weight was beyond protocol.fedvs.w_max and cut off",
                 (unsigned long long)p->round.weights_cut);
    if (p->learner.planned)
        party_settle_up(p, a);
    actions_add(a, ACTION_DISARM);
    finish = actions_add(a, ACTION_FINISH);
    finish->outcome = outcome;
    finish->error = &p->error;
}

/* What failed on this machine, and where its files lie, is in the own log and no matter of the
 * server's. */
static bool own_alone(const struct party_session *p)
{
    char folder[CONFIG_PATH_MAX + 1];

    snprintf(folder, sizeof folder, "%s/", p->setup.config->state);
    return status_kind(p->error.status) == STATUS_KIND_LOCAL ||
           strstr(p->error.text, folder) != NULL;
}

void party_refuse(struct party_session *p, struct actions *a)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_REFUSE;
    send->msg.refuse.kind = status_kind(p->error.status);
    snprintf(send->msg.refuse.text, sizeof send->msg.refuse.text, "%.*s", WIRE_TEXT_MAX,
             own_alone(p) ? status_words(p->error.status) : p->error.text);
    party_finish(p, a,
                 p->error.status == STATUS_BUDGET && p->learner.applied > 0 ? OUTCOME_BUDGET
                                                                            : OUTCOME_FAILED);
}

enum status party_violation(struct party_session *p, const char *what, uint64_t number)
{
    return error_set(&p->error, STATUS_PROTOCOL, "the server: %s (%llu)", what,
                     (unsigned long long)number);
}

/* --- events --- */

static enum status status_of(enum status_kind kind)
{
    switch (kind) {
    case STATUS_KIND_NONE: return STATUS_OK;
    case STATUS_KIND_CONFIG: return STATUS_DATA;
    case STATUS_KIND_PEER: return STATUS_PROTOCOL;
    case STATUS_KIND_POLICY: return STATUS_POLICY;
    case STATUS_KIND_NET:
    case STATUS_KIND_LOCAL: return STATUS_PATIENCE;
    }
    return STATUS_PROTOCOL;
}

/* The run is complete, and this party never came to its end.  Under wait that is so only when its
 * state was put back after it had said that its final model is durable. */
static bool left_short(struct party_session *p, const struct wire_finish *f)
{
    bool complete = f->outcome == OUTCOME_COMPLETED || f->outcome == OUTCOME_TARGET;

    if (!complete || !p->learner.planned || p->learner.final)
        return false;
    log_warn("the server ended after %llu of %llu steps", (unsigned long long)p->learner.applied,
             (unsigned long long)p->learner.agenda.steps);
    if (p->learner.plan.protocol.straggler != STRAGGLER_WAIT)
        return false;
    error_set(
        &p->error, STATUS_DATA,
        "the run is complete, this party only at %llu of %llu steps: its state was lost or put "
        "back",
        (unsigned long long)p->learner.applied, (unsigned long long)p->learner.agenda.steps);
    return true;
}

static void finished(struct party_session *p, struct actions *a, const struct wire_finish *f)
{
    enum status s = status_of(f->kind);
    bool well = f->outcome != OUTCOME_FAILED && f->outcome != OUTCOME_BUDGET;

    if (left_short(p, f)) {
        party_finish(p, a, OUTCOME_FAILED);
        return;
    }
    p->report.dismissed = f->outcome == OUTCOME_COMPLETED || f->outcome == OUTCOME_TARGET;
    if (!well)
        error_set(&p->error, s == STATUS_OK ? STATUS_PROTOCOL : s, "the server ends the run: %s",
                  f->text);
    party_finish(p, a, f->outcome);
}

static void message(struct party_session *p, struct actions *a, const struct event *e)
{
    if (!phase_expects(p->sm.phase, false, e->msg->kind)) {
        error_set(&p->error, STATUS_PROTOCOL, "the server sent %s in phase %s",
                  wire_kind_name(e->msg->kind), phase_row(p->sm.phase)->name);
        party_refuse(p, a);
        return;
    }
    switch (e->msg->kind) {
    case WIRE_OFFER: party_offer(p, a, &e->msg->offer); break;
    case WIRE_REPLAY: party_replay(p, a, &e->msg->replay); break;
    case WIRE_HELLOS: party_hellos(p, a, &e->msg->hellos); break;
    case WIRE_CONFIRMS: party_confirms(p, a, &e->msg->confirms); break;
    case WIRE_BROADCAST: party_broadcast(p, a, &e->msg->broadcast); break;
    case WIRE_RELAY: party_relay(p, a, &e->msg->relay); break;
    case WIRE_FINISH: finished(p, a, &e->msg->finish); break;
    case WIRE_REFUSE:
        error_set(&p->error, status_of(e->msg->refuse.kind), "the server refuses: %s",
                  e->msg->refuse.text);
        party_finish(p, a, OUTCOME_FAILED);
        break;
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_HELLO:
    case WIRE_BEHIND:
    case WIRE_CONFIRM:
    case WIRE_SHARE:
    case WIRE_UPLOAD:
    case WIRE_KEPT:
    case WIRE_KINDS: CHECK(!"phase_expects lets no such message through");
    }
}

/* A dead connection is the network layer's to find.  On a live one the server's patience rules, as
 * long as this party is not being waited for: before an offer, or shut out until the next epoch. */
static void out_of_time(struct party_session *p, struct actions *a)
{
    if (p->learner.final && !p->keep.writing &&
        (p->sm.phase == PHASE_CLOSE || (p->sm.phase == PHASE_GATHER && !p->fed.connected))) {
        log_warn("the server is gone or silent, but this party's model is final");
        party_finish(p, a, OUTCOME_COMPLETED);
        return;
    }
    if (p->fed.connected && p->learner.planned &&
        (p->sm.phase == PHASE_GATHER || p->learner.plan.protocol.straggler != STRAGGLER_WAIT)) {
        party_arm(p, a);
        return;
    }
    error_set(&p->error, STATUS_PATIENCE, "nothing from the server for too long in phase %s",
              phase_row(p->sm.phase)->name);
    party_finish(p, a, OUTCOME_FAILED);
}

void party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                        struct actions *out)
{
    (void)now_us;
    if (p->sm.phase == PHASE_OVER)
        return;
    switch (e->kind) {
    case EVENT_START: party_arm(p, out); break;
    case EVENT_JOINED: party_connected(p, out); break;
    case EVENT_LOST: party_disconnected(p, out, e->error); break;
    case EVENT_MESSAGE: message(p, out, e); break;
    case EVENT_TIMER: out_of_time(p, out); break;
    case EVENT_DONE: party_worked(p, out); break;
    case EVENT_CHARGED: party_charged(p, out, e->error); break;
    case EVENT_KEPT: party_kept(p, out, e->error); break;
    case EVENT_UNSENT:
        error_set(&p->error, STATUS_MEMORY, "no memory for a message in phase %s",
                  phase_row(p->sm.phase)->name);
        party_refuse(p, out);
        break;
    case EVENT_STOP: party_finish(p, out, OUTCOME_STOPPED); break;
    }
}

/* --- life --- */

enum status party_session_new(struct party_session **out, const struct party_setup *setup,
                              struct error *err)
{
    struct party_session *p = secret_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a session");
    p->setup = *setup;
    buf_init(&p->learner.plan_text, PLAN_TEXT_MAX);
    buf_init(&p->keep.last, PARTY_KEEP_MAX);
    buf_init(&p->keep.before, PARTY_KEEP_MAX);
    buf_init(&p->learner.undo, PARTY_KEEP_MAX);
    buf_init(&p->round.received, WIRE_PAYLOAD_MAX);
    party_witness_init(p);
    s = rng_init_system(&p->round.noise);
    if (s != STATUS_OK) {
        party_session_free(p);
        return error_set(err, s, "session: %s", status_words(s));
    }
    s = party_restore(p);
    if (s != STATUS_OK) {
        if (err != NULL)
            *err = p->error;
        party_session_free(p);
        return s;
    }
    *out = p;
    return STATUS_OK;
}

static void wipe(struct buf *b)
{
    if (b->data != NULL)
        secret_wipe(b->data, b->cap);
    buf_deinit(b);
}

/* What party_take_plan and all that followed have made. */
static void free_plan(struct party_session *p)
{
    schedule_deinit(&p->learner.schedule);
    party_bottom_deinit(&p->learner.bottom);
    party_sent_deinit(&p->learner.sent);
    party_refresh_deinit(&p->learner.refresh);
    buf_deinit(&p->learner.plan_text);
    wipe(&p->keep.last);
    wipe(&p->keep.before);
    wipe(&p->learner.undo);
    party_deal_deinit(p);
    if (p->round.upload.payload != NULL) /* shares that a failure left unsealed */
        secret_wipe(p->round.upload.payload, p->round.upload.payload_max);
    mem_free(p->round.upload.payload);
    mem_free(p->round.coded);
    mem_free(p->round.upload.check);
    mem_free(p->purse.rows);
    mem_free(p->fed.set.hellos);
}

void party_forget_plan(struct party_session *p)
{
    CHECK(!p->keep.writing && p->round.masks == NULL);
    free_plan(p);
    buf_init(&p->learner.plan_text, PLAN_TEXT_MAX);
    buf_init(&p->keep.last, PARTY_KEEP_MAX);
    buf_init(&p->keep.before, PARTY_KEEP_MAX);
    buf_init(&p->learner.undo, PARTY_KEEP_MAX);
    p->round.upload.payload = p->round.upload.check = NULL;
    p->round.coded = p->purse.rows = NULL;
    p->fed.set.hellos = NULL;
    p->learner.planned = p->keep.any = false;
    p->keep.last_step = p->keep.kept_step = p->keep.before_step = 0;
    party_witness_forget_steps(p);
}

void party_session_free(struct party_session *p)
{
    if (p == NULL)
        return;
    party_forget_keys(p);
    rng_deinit(&p->round.noise);
    digest_deinit(&p->learner.digest);
    free_plan(p);
    buf_deinit(&p->round.received);
    secret_free(p, 1, sizeof *p);
}

const struct party_report *party_session_report(struct party_session *p)
{
    struct party_report *r = &p->report;

    r->phase = p->sm.phase;
    r->generation = p->fed.set.generation;
    r->applied = p->learner.applied;
    r->planned = p->learner.planned;
    r->final = p->learner.final;
    r->plan = p->learner.plan;
    r->agenda = p->learner.agenda;
    r->mechanism = p->purse.mechanism;
    r->down_max = p->learner.planned ? wire_down_max(&p->learner.plan, p->round.upload.share_max)
                                     : WIRE_SETUP_MAX;
    return r;
}

const struct nn_net *party_session_bottom(const struct party_session *p)
{
    return p->learner.planned ? &p->learner.bottom.net : NULL;
}

struct spans *party_session_spans(struct party_session *p)
{
    return &p->spans;
}
