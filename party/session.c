/* session.c -- life, dispatch and endings of a party session.
 *
 * Agreeing on a set is the federation's, what is then played is a job's: this file hands each event
 * to one or both, and does what they say follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/session.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/crypto/secret.h"
#include "common/daemon/package.h"
#include "common/flow/job.h"
#include "party/core.h"
#include "party/meeting.h"
#include "party/standing.h"
#include "party/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void arm(struct party_session *p, struct actions *a)
{
    uint64_t of_job = p->job->patience_ms(p->state);

    actions_add(a, ACTION_ARM)->after_ms = of_job > 0 ? of_job : PARTY_FIRST_PATIENCE_MS;
}

/* --- endings --- */

static void forget_keys(struct party_session *p)
{
    p->job->lost(p->state);
    party_forget_keys(&p->fed);
}

/* The job is over, the federation ready for another; whether the process ends says the driver. */
static void finish(struct party_session *p, struct actions *a, enum wire_outcome outcome)
{
    struct action *act;

    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_BUDGET)
        p->error = (struct error){0};
    if (p->sm.phase != PHASE_GATHER)
        sm_move(&p->sm, PHASE_GATHER, p->fed.set.generation);
    forget_keys(p);
    if (!p->ended)
        p->job->end(p->state, a);
    p->ended = true;
    p->standing.said = p->gave_up = false;
    actions_add(a, ACTION_DISARM);
    act = actions_add(a, ACTION_FINISH);
    act->outcome = outcome;
    act->error = p->error;
}

static void say_why(const struct party_session *p, struct actions *a)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_REFUSE;
    send->msg.refuse.kind = status_kind(p->error.status);
    send->msg.refuse.accused = p->accused;
    send->msg.refuse.generation = p->accused > 0 || p->larger ? p->fed.set.generation : 0;
    send->msg.refuse.larger = p->larger;
    words_for_server(send->msg.refuse.text, &p->error, p->setup.config->state);
}

/* The server is told why, but not of what failed on this machine: how much memory or disk a bottom
 * takes may hang on the records.  Then this side is gone, as if it had died, for as long as a job
 * waits for somebody. */
static void refuse(struct party_session *p, struct actions *a)
{
    bool spent = p->error.status == STATUS_BUDGET && party_session_report(p)->progress.applied > 0;

    if (status_kind(p->error.status) == STATUS_KIND_LOCAL)
        actions_add(a, ACTION_LEAVE)->after_ms = PARTY_FIRST_PATIENCE_MS;
    else
        say_why(p, a);
    finish(p, a, spent ? OUTCOME_BUDGET : OUTCOME_FAILED);
}

/* Where parties are done without, nobody whose share does not open, or whose ids are other ones,
 * must end this one. */
static void accuse(struct party_session *p, struct actions *a)
{
    say_why(p, a);
    log_warn("%s; waiting for a generation without it", p->error.text);
    forget_keys(p);
    p->error = (struct error){0};
    p->accused = 0;
    p->gave_up = true;
    arm(p, a);
}

static void accuse_or_refuse(struct party_session *p, struct actions *a)
{
    const bool goes_on = p->job->does_without != NULL && p->job->does_without(p->state);

    if (p->accused > 0 && goes_on)
        accuse(p, a);
    else
        refuse(p, a);
}

/* Of a set that is too small, or too dear in being so: whoever is late must not end this party, so
 * it is as if it had been left out of that set.  What it says hangs on the set, the plan, the
 * roster, the policy, on how much was charged and, through the price, on how many rows of one
 * person (data.group) a batch has at most; on no other value of a record. */
static void sit_out(struct party_session *p, struct actions *a)
{
    say_why(p, a);
    log_warn("%s; sitting out until there is a larger set", p->error.text);
    p->error = (struct error){0};
    p->larger = false;
    if (p->sm.phase != PHASE_GATHER)
        sm_move(&p->sm, PHASE_GATHER, p->fed.set.generation);
    arm(p, a);
}

static void refuse_if(struct party_session *p, struct actions *a, enum status s)
{
    p->error.status = s;
    if (!p->setup.answers.silent) {
        refuse(p, a);
        return;
    }
    p->setup.answers.silent = false;
    actions_add(a, ACTION_LEAVE)->after_ms = p->setup.answers.model->plan.protocol.patience_ms;
    finish(p, a, OUTCOME_FAILED);
}

/* --- agreeing on a set --- */

static void say_hello(struct party_session *p, struct actions *a)
{
    struct wire_hello h = {0};
    struct action *send;
    enum status s;

    p->job->say(p->state, &h);
    s = party_make_hello(&p->fed, &h);
    if (s != STATUS_OK) {
        refuse(p, a);
        return;
    }
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_HELLO;
    send->msg.hello = p->fed.show_hello;
    arm(p, a);
}

static void follow(struct party_session *p, struct actions *a, enum party_next next)
{
    switch (next) {
    case PARTY_WAIT: break;
    case PARTY_READY: say_hello(p, a); break;
    case PARTY_REFUSE: refuse(p, a); break;
    case PARTY_ACCUSE:
        p->accused = p->job->accused(p->state);
        accuse_or_refuse(p, a);
        break;
    case PARTY_FAIL: finish(p, a, OUTCOME_FAILED); break;
    case PARTY_DONE: finish(p, a, OUTCOME_COMPLETED); break;
    }
}

static const struct party_job *job_of_kind(const struct party_session *p, const struct wire_job *j)
{
    const struct party_job *const *known = p->setup.jobs;

    while (*known != NULL && !job_is(j, (*known)->kind))
        known++;
    return *known;
}

/* --- an offer --- */

/* It ends that job, for all; what this party is ready for is as it was. */
static void refuse_unseen(struct actions *a, const struct wire_job *j)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_REFUSE;
    send->msg.refuse.kind = STATUS_KIND_CONFIG;
    snprintf(send->msg.refuse.text, sizeof send->msg.refuse.text,
             "a job of kind %s, of which this party knows nothing", j->kind);
}

static enum status take_offer(struct party_session *p, struct actions *a,
                              const struct wire_offer *o, const struct party_job *job, bool met)
{
    enum status s = met ? party_meeting_make(p, o, job) : STATUS_OK;

    party_standing_say(p, a, o);
    if (s == STATUS_OK)
        s = party_check_offer(&p->fed, o, party_session_report(p)->progress.furthest);
    if (s != STATUS_OK)
        return s;
    forget_keys(p);
    s = party_take_members(&p->fed, o);
    if (s != STATUS_OK)
        return s;
    s = job->offer(p->state, a, o);
    p->larger = s != STATUS_OK && job->wants_more != NULL && job->wants_more(p->state);
    return s;
}

/* met: it is of a job that was new here, and what this party has of it is read. */
static void answer_offer(struct party_session *p, struct actions *a, const struct wire_offer *o,
                         bool met)
{
    const struct party_job *job = job_of_kind(p, &o->job);
    enum status s = take_offer(p, a, o, job, met);

    if (s != STATUS_OK && !p->larger) {
        refuse_if(p, a, s);
        return;
    }
    p->gave_up = false;
    p->taken = true;
    party_take_offer(&p->fed, o, job->digest(p->state));
    if (s != STATUS_OK) {
        sit_out(p, a);
        return;
    }
    sm_move(&p->sm, PHASE_AGREE, p->fed.set.generation);
    follow(p, a, job->ready(p->state, a));
}

static void meet(struct party_session *p, struct actions *a, const struct wire_offer *o)
{
    if (party_meeting_begin(p, o))
        actions_add(a, ACTION_WORK)->flops = INFINITY; /* nobody knows how long it takes */
    else
        answer_offer(p, a, o, true);
}

static void met(struct party_session *p, struct actions *a)
{
    p->meeting.under_way = false;
    answer_offer(p, a, &p->meeting.offer, true);
}

static void offer(struct party_session *p, struct actions *a, const struct wire_offer *o)
{
    const struct party_job *job = job_of_kind(p, &o->job);

    if (job == NULL) {
        if (!p->standing.said)
            party_standing_note(p, false);
        party_standing_say(p, a, o);
        refuse_unseen(a, &o->job);
        return;
    }
    if (job == p->job && !p->ended) {
        answer_offer(p, a, o, false);
        return;
    }
    if (p->ended || !p->taken) {
        meet(p, a, o);
        return;
    }
    p->meeting.read =
        error_set(&p->error, STATUS_PROTOCOL,
                  "the server offers a job of kind %s in the middle of one of kind %s", o->job.kind,
                  p->job->kind);
    answer_offer(p, a, o, true);
}

/* Sizes, keys and masks of a set. */
static enum status begin(struct party_session *p)
{
    struct secagg_pair pairs[WIRE_MEMBERS_MAX];
    enum status s;

    memset(pairs, 0, sizeof pairs);
    s = party_pair_keys(&p->fed, pairs);
    if (s == STATUS_OK)
        s = p->job->begin(p->state, pairs);
    secret_wipe(pairs, sizeof pairs);
    return s;
}

static void hellos(struct party_session *p, struct actions *a, const struct wire_hellos *hs)
{
    enum status s = party_take_hellos(&p->fed, hs);
    struct action *send;

    if (s == STATUS_OK)
        s = begin(p);
    if (s == STATUS_OK) {
        p->job->confirm(p->state, &p->fed.own_confirm);
        s = party_make_confirm(&p->fed, &p->accused);
    }
    if (s != STATUS_OK) {
        accuse_or_refuse(p, a);
        return;
    }
    p->standing.said = p->standing.agreed = true;
    sm_move(&p->sm, PHASE_CONFIRM, p->fed.set.generation);
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_CONFIRM;
    send->msg.confirm = p->fed.show_confirm;
    arm(p, a);
}

static void confirms(struct party_session *p, struct actions *a, const struct wire_confirms *cs)
{
    if (party_check_confirms(&p->fed, cs) != STATUS_OK ||
        p->job->check(p->state, cs) != STATUS_OK) {
        refuse(p, a);
        return;
    }
    if (party_compare_check(&p->fed, cs, &p->accused) != STATUS_OK) {
        accuse_or_refuse(p, a);
        return;
    }
    log_info("generation %llu: %u parties hold one view", (unsigned long long)p->fed.set.generation,
             p->fed.set.members_n);
    p->job->start(p->state);
    arm(p, a);
}

/* --- events --- */

static void connected(struct party_session *p, struct actions *a)
{
    party_standing_joins(p, a);
    p->fed.connected = true;
    arm(p, a);
}

static void disconnected(struct party_session *p, struct actions *a, const struct error *why)
{
    p->fed.connected = p->gave_up = false;
    forget_keys(p);
    if (!p->ended && why->status != STATUS_OK && status_kind(why->status) != STATUS_KIND_NET) {
        p->error = *why;
        finish(p, a, OUTCOME_FAILED); /* trying again would end the same way */
        return;
    }
    /* The server may come back to this job, or with another: what is kept takes it up again. */
    if (!p->ended && p->setup.recall != NULL) {
        finish(p, a, OUTCOME_STOPPED);
        return;
    }
    if (p->sm.phase != PHASE_GATHER)
        sm_move(&p->sm, PHASE_GATHER, p->fed.set.generation);
    arm(p, a);
}

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

static void finished(struct party_session *p, struct actions *a, const struct wire_finish *f)
{
    enum status s = status_of(f->kind);
    bool well = f->outcome != OUTCOME_FAILED && f->outcome != OUTCOME_BUDGET;
    bool complete = f->outcome == OUTCOME_COMPLETED || f->outcome == OUTCOME_TARGET;

    if (complete && p->job->dismissed(p->state, f) == PARTY_FAIL) {
        finish(p, a, OUTCOME_FAILED);
        return;
    }
    p->dismissed = complete;
    if (!well)
        error_set(&p->error, s == STATUS_OK ? STATUS_PROTOCOL : s, "the server ends the run: %s",
                  f->text);
    finish(p, a, f->outcome);
}

static void message(struct party_session *p, struct actions *a, const struct wire_msg *m)
{
    /* On its way when the server heard of it. */
    if (p->gave_up && (m->kind == WIRE_BROADCAST || m->kind == WIRE_RELAY || m->kind == WIRE_BATCH))
        return;
    if (p->ended && m->kind == WIRE_REFUSE)
        log_warn("the server refuses: %s", m->refuse.text); /* its connection is all it ends */
    if (p->ended && m->kind != WIRE_OFFER)
        return; /* of a job that is over here */
    if (!phase_expects(p->sm.phase, false, m->kind)) {
        error_set(&p->error, STATUS_PROTOCOL, "the server sent %s in phase %s",
                  wire_kind_name(m->kind), phase_row(p->sm.phase)->name);
        refuse(p, a);
        return;
    }
    switch (m->kind) {
    case WIRE_OFFER: offer(p, a, &m->offer); break;
    case WIRE_HELLOS: hellos(p, a, &m->hellos); break;
    case WIRE_CONFIRMS: confirms(p, a, &m->confirms); break;
    case WIRE_FINISH: finished(p, a, &m->finish); break;
    case WIRE_REFUSE:
        error_set(&p->error, status_of(m->refuse.kind), "the server refuses: %s", m->refuse.text);
        finish(p, a, OUTCOME_FAILED);
        break;
    case WIRE_REPLAY:
    case WIRE_BROADCAST:
    case WIRE_BATCH:
    case WIRE_RELAY: follow(p, a, p->job->message(p->state, a, m)); break;
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
    enum party_next next = p->ended ? PARTY_WAIT : p->job->timer(p->state, p->fed.connected);

    if (next == PARTY_WAIT) {
        arm(p, a);
        return;
    }
    if (next == PARTY_FAIL)
        error_set(&p->error, STATUS_PATIENCE, "nothing from the server for too long in phase %s",
                  phase_row(p->sm.phase)->name);
    follow(p, a, next);
}

void party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                        struct actions *out)
{
    (void)now_us;
    switch (e->kind) {
    case EVENT_START: arm(p, out); break;
    case EVENT_JOINED: connected(p, out); break;
    case EVENT_LOST: disconnected(p, out, e->error); break;
    case EVENT_MESSAGE: message(p, out, e->msg); break;
    case EVENT_TIMER: out_of_time(p, out); break;
    case EVENT_DONE:
        if (p->meeting.under_way) {
            met(p, out);
            break;
        }
        follow(p, out, p->job->done(p->state, out, e));
        break;
    case EVENT_CHARGED:
    case EVENT_KEPT: follow(p, out, p->job->done(p->state, out, e)); break;
    case EVENT_UNSENT:
        if (p->ended)
            break;
        error_set(&p->error, STATUS_MEMORY, "no memory for a message in phase %s",
                  phase_row(p->sm.phase)->name);
        refuse(p, out);
        break;
    case EVENT_STOP: finish(p, out, OUTCOME_STOPPED); break;
    case EVENT_ASKED:
    case EVENT_CANCEL:
    case EVENT_RECALLED: CHECK(!"the server's alone");
    }
}

void party_session_work(struct party_session *p)
{
    if (p->meeting.under_way)
        party_meeting_read(p);
    else
        p->job->work(p->state);
}

void party_session_interrupt(struct party_session *p)
{
    atomic_store(&p->stop, true);
}

/* --- life --- */

static enum status begin_life(struct party_session *p)
{
    enum status s = party_federation_init(&p->fed, &p->setup, &p->error);

    p->host = (struct party_host){
        .setup = &p->setup,
        .set = &p->fed.set,
        .stop = &p->stop,
        .sm = &p->sm,
        .error = &p->error,
        .spans = &p->spans,
    };
    if (s != STATUS_OK)
        return error_set(&p->error, s, "no memory for a session");
    p->standing.said = p->standing.agreed = true; /* the first join says it */
    s = party_meeting_new_job(p, p->setup.jobs[0]);
    p->ended = p->setup.recall != NULL;
    return s;
}

enum status party_session_new(struct party_session **out, const struct party_setup *setup,
                              struct error *err)
{
    struct party_session *p = secret_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a session");
    p->setup = *setup;
    buf_init(&p->meeting.bytes, WIRE_SETUP_MAX);
    s = begin_life(p);
    if (s == STATUS_OK) {
        *out = p;
        return STATUS_OK;
    }
    if (err != NULL)
        *err = p->error;
    party_session_free(p);
    return s;
}

void party_session_free(struct party_session *p)
{
    if (p == NULL)
        return;
    party_meeting_free_job(p);
    buf_deinit(&p->meeting.bytes);
    party_federation_deinit(&p->fed);
    secret_free(p, 1, sizeof *p);
}

enum status party_session_save(const struct party_session *p, struct buf *out)
{
    return p->job->save(p->state, out);
}

const struct party_report *party_session_report(struct party_session *p)
{
    struct party_report *r = &p->report;

    *r = (struct party_report){
        .phase = p->sm.phase,
        .generation = p->fed.set.generation,
        .dismissed = p->dismissed,
        .unmet = p->unmet,
        .down_max = WIRE_SETUP_MAX,
    };
    p->job->report(p->state, r);
    return r;
}

const struct nn_net *party_session_bottom(const struct party_session *p)
{
    struct party_report r = {0};

    p->job->report(p->state, &r);
    return r.bottom;
}

struct spans *party_session_spans(struct party_session *p)
{
    return &p->spans;
}
