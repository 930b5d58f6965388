/* dispatch.c -- events to those whose they are, and what follows of their verdicts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "server/away.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"

/* --- what follows --- */

/* The job is over; the federation is where it was before, ready for another.  Whether the process
 * goes on is the driver's to say. */
static void finish(struct server_federation *f, struct actions *a, enum wire_outcome outcome)
{
    struct action *finish;

    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_BUDGET)
        f->error = (struct error){0};
    if (f->sm.phase != PHASE_OVER)
        server_say_over(f, a, outcome);
    if (f->play.job->ended != NULL)
        f->play.job->ended(f->play.state, outcome);
    if (f->sm.phase != PHASE_GATHER)
        sm_move(&f->sm, PHASE_GATHER, f->set.generation);
    server_compare_forget(f);
    f->play.idle = true;
    finish = actions_add(a, ACTION_FINISH);
    finish->outcome = outcome;
    finish->error = f->error;
}

/* It may come and be sent away as often as it likes. */
static void say_dropped(struct server_federation *f, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];

    p->comes.about = server_name(f, peer);
    if (log_few_more(&p->comes, f->now_us))
        log_warn("%s", f->error.text);
}

static struct server_next drop(struct server_federation *f, struct actions *a, uint32_t peer)
{
    if (status_kind(f->error.status) == STATUS_KIND_LOCAL) /* no fault of a peer */
        return next_of(NEXT_FAIL);
    say_dropped(f, peer);
    server_drop(f, a, peer);
    return server_lost(f, a, peer);
}

/* Each verdict may lead to another: a party that is dropped changes the set, and that a phase. */
static void carry_out(struct server_federation *f, struct actions *a, struct server_next next)
{
    for (;;) {
        switch (next.kind) {
        case NEXT_WAIT: return;
        case NEXT_FAIL:
            finish(f, a, f->error.status == STATUS_BUDGET ? OUTCOME_BUDGET : OUTCOME_FAILED);
            return;
        case NEXT_FINISH: finish(f, a, next.outcome); return;
        case NEXT_DROP: next = drop(f, a, next.peer); break;
        case NEXT_BLAME: next.kind = server_does_without(f) ? NEXT_DROP : NEXT_FAIL; break;
        case NEXT_SET: next = server_set_changed(f, a); break;
        case NEXT_LATE: CHECK(!"the business of who asked");
        }
    }
}

/* --- messages --- */

/* A party will not go on. */
static struct server_next refused(struct server_federation *f, struct actions *a, uint32_t peer,
                                  const struct wire_refuse *r)
{
    static const enum status as[] = {
        [STATUS_KIND_CONFIG] = STATUS_DATA, [STATUS_KIND_PEER] = STATUS_PROTOCOL,
        [STATUS_KIND_NET] = STATUS_NET,     [STATUS_KIND_POLICY] = STATUS_POLICY,
        [STATUS_KIND_LOCAL] = STATUS_NET,
    };
    enum status why = as[r->kind];

    if (why == STATUS_POLICY && f->play.job->state(f->play.state) != JOB_FRESH)
        why = STATUS_BUDGET;
    error_set(&f->error, why, "%s refuses: %s", server_name(f, peer), r->text);
    if (r->larger && server_does_without(f))
        return server_too_small(f, peer, r);
    if (r->accused > 0 && server_does_without(f))
        return server_accused(f, a, peer, r);
    return next_of_peer(NEXT_BLAME, peer);
}

/* Generation a message speaks of; the current one where it names none. */
static uint64_t generation_of(const struct server_federation *f, const struct wire_msg *m)
{
    if (m->kind == WIRE_HELLO)
        return m->hello.generation;
    if (m->kind == WIRE_BEHIND)
        return m->behind.generation;
    if (m->kind == WIRE_CONFIRM)
        return m->confirm.generation;
    if (m->kind == WIRE_SHARE)
        return m->share.generation;
    if (m->kind == WIRE_UPLOAD)
        return m->upload.generation;
    if (m->kind == WIRE_BATCH)
        return m->batch.generation;
    return f->set.generation;
}

/* Answers are given once; an upload says itself which round it answers. */
static bool in_turn(const struct server_federation *f, const struct server_peer *p,
                    const struct wire_msg *m)
{
    if (p->member < 0 || m->kind == WIRE_JOIN || !phase_expects(f->sm.phase, true, m->kind))
        return false;
    return m->kind == WIRE_UPLOAD || !p->answered;
}

/* Every answer of who is behind is progress, but nobody may be brought up for ever. */
static struct server_next progress(struct server_federation *f, struct actions *a,
                                   struct server_next next)
{
    if (next.kind == NEXT_WAIT && f->now_us < f->agree.until_us)
        server_arm(a, f->terms.patience_ms);
    return next;
}

static struct server_next take(struct server_federation *f, struct actions *a,
                               const struct event *e)
{
    switch (e->msg->kind) {
    case WIRE_REFUSE: return refused(f, a, e->peer, &e->msg->refuse);
    case WIRE_HELLO: return server_hello(f, a, e->peer, &e->msg->hello);
    case WIRE_BEHIND:
        return progress(f, a, f->play.job->message(f->play.state, a, e->peer, e->msg));
    case WIRE_CONFIRM: return server_confirm(f, a, e->peer, &e->msg->confirm);
    case WIRE_KEPT:
    case WIRE_SHARE:
    case WIRE_BATCH:
    case WIRE_UPLOAD: return f->play.job->message(f->play.state, a, e->peer, e->msg);
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_OFFER:
    case WIRE_REPLAY:
    case WIRE_HELLOS:
    case WIRE_CONFIRMS:
    case WIRE_BROADCAST:
    case WIRE_RELAY:
    case WIRE_FINISH:
    case WIRE_KINDS: break;
    }
    CHECK(!"in_turn lets no such message through");
    return next_of(NEXT_WAIT);
}

/* Overtaken by a new generation, or by the end of this one: late, not wrong. */
static struct server_next overtaken(struct server_federation *f, const struct event *e)
{
    f->counts.stale_messages++;
    if (f->play.job->overtaken == NULL ||
        f->play.job->overtaken(f->play.state, e->peer, e->msg) == STATUS_OK)
        return next_of(NEXT_WAIT);
    return next_of(NEXT_FAIL);
}

/* Of a party that has not said where it is in this job: all but what names a generation of it. */
static bool may_be_earlier(const struct server_federation *f, const struct wire_msg *m)
{
    return m->kind == WIRE_KEPT || m->kind == WIRE_REFUSE || f->sm.phase == PHASE_GATHER ||
           generation_of(f, m) < f->set.generation;
}

static struct server_next message(struct server_federation *f, struct actions *a,
                                  const struct event *e)
{
    struct server_peer *p = &f->peer[e->peer];
    uint64_t generation = generation_of(f, e->msg);

    if (!p->present)
        return next_of(NEXT_WAIT);
    if (e->msg->kind == WIRE_JOIN && (!p->spoken || p->spoke_again > 0))
        return server_speaks_again(f, e->peer, &e->msg->join);
    if (!p->spoken && may_be_earlier(f, e->msg))
        return next_of(NEXT_WAIT); /* of a job before this one */
    if (f->play.job->arrival != NULL &&
        f->play.job->arrival(f->play.state, e->peer, e->msg) != STATUS_OK)
        return next_of(NEXT_FAIL);
    if (e->msg->kind == WIRE_REFUSE || e->msg->kind == WIRE_KEPT)
        return take(f, a, e);
    if (generation < f->set.generation ||
        (generation == f->set.generation && f->sm.phase == PHASE_GATHER))
        return overtaken(f, e);
    if (p->barred && p->member < 0) { /* it has not heard yet that it was left behind for good */
        server_say_barred(f, e->peer);
        return next_of_peer(NEXT_DROP, e->peer);
    }
    if (generation > f->set.generation || !p->spoken || !in_turn(f, p, e->msg)) {
        error_set(&f->error, STATUS_PROTOCOL, "%s: %s in phase %s", server_name(f, e->peer),
                  wire_kind_name(e->msg->kind), phase_row(f->sm.phase)->name);
        return next_of_peer(NEXT_DROP, e->peer);
    }
    return take(f, a, e);
}

/* --- time --- */

/* Under drop and async the late are left behind. */
static struct server_next leave_behind(struct server_federation *f, const char *missing)
{
    const bool in_job = phase_plays(f->sm.phase);

    log_warn("going on without %s: no answer in phase %s", missing, phase_row(f->sm.phase)->name);
    for (uint32_t m = 0; m < f->set.n; m++) {
        const uint32_t peer = f->set.member[m];

        if (f->peer[peer].member < 0 || f->peer[peer].answered)
            continue;
        server_sits_out(f, peer);
        if (in_job)
            server_voided(f, peer);
        else
            server_stalled(f, peer);
        if (in_job && f->play.job->left_behind != NULL)
            f->play.job->left_behind(f->play.state, peer);
    }
    return next_of(NEXT_SET);
}

/* Where a job goes on without those who are away: it may be slow, or hang, which nobody can tell
 * from here. */
static struct server_next drop_the_silent(struct server_federation *f, struct actions *a)
{
    struct server_next next = next_of(NEXT_WAIT);

    for (uint32_t m = 0; m < f->set.n && next.kind != NEXT_FAIL; m++) {
        const uint32_t peer = f->set.member[m];

        if (f->peer[peer].member < 0 || f->peer[peer].answered)
            continue;
        error_set(&f->error, STATUS_PATIENCE, "%s: no answer in phase %s for %u ms",
                  server_name(f, peer), phase_row(f->sm.phase)->name, f->terms.patience_ms);
        next = drop(f, a, peer);
    }
    return next;
}

static struct server_next out_of_time(struct server_federation *f, struct actions *a)
{
    const bool may_leave = server_does_without(f) && f->sm.phase != PHASE_GATHER;
    struct server_next next = next_of(NEXT_LATE);
    char missing[256];

    server_missing(f, missing, sizeof missing);
    if (server_gather_ends(f, a, &next)) {
        if (missing[0] != 0 && f->sm.phase != PHASE_GATHER)
            log_warn("went on without %s", missing);
        return next;
    }
    if (f->play.job->rests != NULL && f->play.job->rests(f->play.state))
        return f->play.job->timer(f->play.state, a, NULL);
    if (server_goes_without(f) && f->sm.phase != PHASE_GATHER)
        return drop_the_silent(f, a);
    if (phase_plays(f->sm.phase))
        next = f->play.job->timer(f->play.state, a, may_leave ? missing : NULL);
    if (next.kind != NEXT_LATE)
        return next;
    if (may_leave)
        return leave_behind(f, missing);
    error_set(&f->error, STATUS_PATIENCE, "out of patience in phase %s after %u ms, waiting for %s",
              phase_row(f->sm.phase)->name, f->terms.patience_ms, missing);
    return next_of(NEXT_FAIL);
}

/* --- events --- */

static struct server_next start(struct server_federation *f, struct actions *a)
{
    struct server_next next = next_of(NEXT_WAIT);
    bool over = false;
    uint32_t peer;

    if (f->play.job->start != NULL)
        next = f->play.job->start(f->play.state, a, &over);
    if (over || next.kind != NEXT_WAIT)
        return next;
    while (!server_hear_held(f, &peer))
        carry_out(f, a, next_of_peer(NEXT_DROP, peer));
    return f->play.idle ? next : server_gather(f, a);
}

static struct server_next unsent(struct server_federation *f)
{
    error_set(&f->error, STATUS_MEMORY, "no memory for a message");
    return next_of(NEXT_FAIL);
}

static struct server_next kept(struct server_federation *f, struct actions *a,
                               const struct error *result)
{
    return f->play.job->kept != NULL ? f->play.job->kept(f->play.state, a, result)
                                     : next_of(NEXT_WAIT);
}

static struct server_next asked(struct server_federation *f, struct actions *a)
{
    return f->play.job->asked != NULL ? f->play.job->asked(f->play.state, a) : next_of(NEXT_WAIT);
}

static struct server_next step(struct server_federation *f, const struct event *e,
                               struct actions *a)
{
    switch (e->kind) {
    case EVENT_START: return start(f, a);
    case EVENT_JOINED: return server_joined(f, a, e);
    case EVENT_LOST: return server_lost(f, a, e->peer);
    case EVENT_MESSAGE: return message(f, a, e);
    case EVENT_TIMER: return out_of_time(f, a);
    case EVENT_DONE: return f->play.job->done(f->play.state, a, e->error);
    case EVENT_RECALLED: return progress(f, a, f->play.job->recalled(f->play.state, a, e->error));
    case EVENT_KEPT: return kept(f, a, e->error);
    case EVENT_UNSENT: return unsent(f);
    case EVENT_ASKED: return asked(f, a);
    case EVENT_CANCEL:
    case EVENT_STOP: return next_finish(OUTCOME_STOPPED);
    case EVENT_CHARGED: CHECK(!"the server keeps no ledger");
    }
    return next_of(NEXT_WAIT);
}

/* Who comes and who goes is heard of; nobody is waited for. */
static void between_jobs(struct server_federation *f, struct actions *a, const struct event *e)
{
    if (e->kind == EVENT_LOST || e->kind == EVENT_JOINED)
        CHECK(server_lost(f, a, e->peer).kind == NEXT_WAIT);
    if (e->kind == EVENT_JOINED && !server_admit(f, e->peer, &e->msg->join))
        (void)drop(f, a, e->peer);
    if (e->kind == EVENT_STOP)
        actions_add(a, ACTION_FINISH)->outcome = OUTCOME_STOPPED;
}

/* The parties have been told that the job is over.  Who leaves is no loss to it, and who comes, or
 * stays, is there for the next. */
static void job_alone(struct server_federation *f, struct actions *a, const struct event *e)
{
    const struct server_next next = f->play.job->alone(f->play.state, a, e);

    if (e->kind == EVENT_LOST || e->kind == EVENT_JOINED)
        f->peer[e->peer].present = f->peer[e->peer].answered = false;
    if (e->kind == EVENT_JOINED && next.kind == NEXT_WAIT &&
        !server_admit(f, e->peer, &e->msg->join))
        say_dropped(f, e->peer);
    carry_out(f, a, next);
}

/* What holds after every step, whatever peers have sent: members stand where they say, and answers
 * are theirs. */
static void check_members(const struct server_federation *f)
{
    uint32_t answered = 0;

    for (uint32_t i = 0; i < f->terms.roster->n; i++) {
        const struct server_peer *p = &f->peer[i];

        CHECK(p->member < 0 || (p->present && f->set.member[p->member] == i));
        answered += p->member >= 0 && p->answered;
    }
    switch (phase_row(f->sm.phase)->quorum[0]) {
    case QUORUM_MEMBERS:
    case QUORUM_DECODES: CHECK(answered <= f->set.answers && f->set.answers <= f->set.n); break;
    case QUORUM_ANY: CHECK(f->set.answers == 0); break;
    case QUORUM_ROSTER:
    case QUORUM_PRESENT:
    case QUORUM_NONE: break;
    }
}

void server_federation_step(struct server_federation *f, uint64_t now_us, const struct event *e,
                            struct actions *out)
{
    f->now_us = now_us;
    f->audience.n = 0;
    /* The same key came again: the new connection replaces the old, whose loss may end the job. */
    if (e->kind == EVENT_JOINED && !f->play.idle && f->sm.phase != PHASE_OVER)
        carry_out(f, out, server_lost(f, out, e->peer));
    if (f->play.idle) {
        between_jobs(f, out, e);
    } else if (f->sm.phase == PHASE_OVER) {
        job_alone(f, out, e);
    } else {
        carry_out(f, out, step(f, e, out));
        check_members(f);
    }
}

void server_federation_work(struct server_federation *f, struct actions *out)
{
    f->play.job->work(f->play.state, out);
}

/* --- life --- */

enum status server_federation_init(struct server_federation *f, const struct server_terms *terms,
                                   const struct server_job *job, void *state)
{
    const size_t n = terms->roster->n;
    struct server_agree *g = &f->agree;

    f->terms = *terms;
    f->play.job = job;
    f->play.state = state;
    f->play.idle = job == NULL;
    for (size_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        f->peer[i].member = -1;
    g->hellos = mem_alloc(n, sizeof *g->hellos);
    g->confirms = mem_alloc(n, sizeof *g->confirms);
    g->show_hellos = mem_alloc(n, sizeof *g->show_hellos);
    g->show_confirms = mem_alloc(n, sizeof *g->show_confirms);
    return g->hellos == NULL || g->confirms == NULL || g->show_hellos == NULL ||
                   g->show_confirms == NULL
               ? STATUS_MEMORY
               : STATUS_OK;
}

void server_federation_deinit(struct server_federation *f)
{
    server_compare_forget(f);
    mem_free(f->agree.hellos);
    mem_free(f->agree.confirms);
    mem_free(f->agree.show_hellos);
    mem_free(f->agree.show_confirms);
}
