/* session.c -- life, dispatch and endings of a server session.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/session.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"
#include "server/core.h"

#include <stdio.h>
#include <string.h>

/* --- small services for the phases --- */

const char *server_name(const struct server_session *s, uint32_t peer)
{
    return s->setup.roster->party[peer].name;
}

void server_arm(struct server_session *s, struct actions *a, uint64_t after_ms)
{
    (void)s;
    actions_add(a, ACTION_ARM)->after_ms = after_ms;
}

/* A sum in clear ends a training round without the late, but a test needs all of its rows. */
static bool hurries(const struct server_session *s)
{
    if (!server_does_without(s) || s->plan.protocol.straggler != STRAGGLER_DROP)
        return false;
    return s->fed.sm.phase != PHASE_ROUND || s->round.purpose == PURPOSE_TRAIN ||
           !s->round.sum.shape.partial;
}

/* Under `wait` each phase has its whole limit; a deadline is for all phases that share a clock. */
void server_arm_phase(struct server_session *s, struct actions *a)
{
    uint64_t passed_ms, all_ms = phase_limit_ms(s->fed.sm.phase, hurries(s), &s->plan);

    if (!phase_row(s->fed.sm.phase)->goes_on)
        s->fed.clock_us = s->fed.now_us;
    passed_ms = hurries(s) ? (s->fed.now_us - s->fed.clock_us) / 1000 : 0;
    server_arm(s, a, passed_ms < all_ms ? all_ms - passed_ms : 1);
}

uint8_t *server_audience(struct server_session *s)
{
    CHECK(s->fed.sends < SERVER_SENDS_MAX);
    return s->fed.audience[s->fed.sends++];
}

struct action *server_send_members(struct server_session *s, struct actions *a, enum wire_kind kind)
{
    struct action *send = actions_add(a, ACTION_SEND);
    uint8_t *to = server_audience(s);
    size_t n = 0;

    for (uint32_t m = 0; m < s->fed.members_n; m++) {
        if (s->fed.peer[s->fed.members[m]].member >= 0)
            to[n++] = s->fed.members[m];
    }
    send->msg.kind = kind;
    send->to = to;
    send->to_n = n;
    return send;
}

struct action *server_send_one(struct server_session *s, struct actions *a, uint32_t peer,
                               enum wire_kind kind)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = kind;
    send->to = &s->fed.members[s->fed.peer[peer].member];
    send->to_n = 1;
    return send;
}

bool server_waits(const struct server_session *s)
{
    return s->plan.protocol.straggler == STRAGGLER_WAIT;
}

bool server_does_without(const struct server_session *s)
{
    return !server_waits(s) && s->fed.started;
}

void server_next_question(struct server_session *s)
{
    for (uint32_t m = 0; m < s->fed.members_n; m++)
        s->fed.peer[s->fed.members[m]].answered = false;
    s->fed.answers = 0;
}

bool server_all_answered(const struct server_session *s)
{
    for (uint32_t m = 0; m < s->fed.members_n; m++) {
        if (s->fed.peer[s->fed.members[m]].member >= 0 && !s->fed.peer[s->fed.members[m]].answered)
            return false;
    }
    return true;
}

bool server_answered(struct server_session *s, uint32_t peer)
{
    s->fed.peer[peer].answered = true;
    s->fed.answers++;
    return server_all_answered(s);
}

void server_drop(struct server_session *s, struct actions *a, uint32_t peer, enum status why)
{
    struct action *drop;

    s->fed.error.status = why;
    if (status_kind(why) == STATUS_KIND_LOCAL) { /* no fault of a peer */
        server_fail(s, a);
        return;
    }
    log_warn("%s", s->fed.error.text);
    drop = actions_add(a, ACTION_DROP);
    drop->peer = peer;
    drop->error = &s->fed.error;
    server_lost(s, a, peer);
}

void server_missing(const struct server_session *s, char *out, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < s->setup.roster->n && used < n; i++) {
        bool asked = s->fed.sm.phase == PHASE_GATHER || s->fed.peer[i].member >= 0;
        if (asked && !s->fed.peer[i].answered) {
            int w = snprintf(out + used, n - used, "%s%s", used == 0 ? "" : ", ",
                             server_name(s, (uint32_t)i));
            used += w > 0 ? (size_t)w : 0;
        }
    }
}

/* --- events --- */

/* s->fed.error is the fault of `peer`: it costs that party under `drop` and `async`, and the run
 * where the run needs it. */
void server_blame(struct server_session *s, struct actions *a, uint32_t peer)
{
    if (server_does_without(s))
        server_drop(s, a, peer, s->fed.error.status);
    else
        server_fail(s, a);
}

/* A party will not go on.  Its own fault costs it alone under `drop` and `async`; the run needs it
 * under `wait`. */
static void refused(struct server_session *s, struct actions *a, uint32_t peer,
                    const struct wire_refuse *r)
{
    static const enum status as[] = {
        [STATUS_KIND_CONFIG] = STATUS_DATA, [STATUS_KIND_PEER] = STATUS_PROTOCOL,
        [STATUS_KIND_NET] = STATUS_NET,     [STATUS_KIND_POLICY] = STATUS_POLICY,
        [STATUS_KIND_LOCAL] = STATUS_NET,
    };
    enum status why = as[r->kind];

    if (why == STATUS_POLICY && s->trainer.steps_done > 0)
        why = STATUS_BUDGET;
    error_set(&s->fed.error, why, "%s refuses: %s", server_name(s, peer), r->text);
    server_blame(s, a, peer);
}

/* Generation a message speaks of; the current one where it names none. */
static uint64_t generation_of(const struct server_session *s, const struct wire_msg *m)
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
    return s->fed.generation;
}

/* Answers are given once; an upload says itself which round it answers. */
static bool in_turn(const struct server_session *s, const struct server_peer *p,
                    const struct wire_msg *m)
{
    if (p->member < 0 || m->kind == WIRE_JOIN || !phase_expects(s->fed.sm.phase, true, m->kind))
        return false;
    return m->kind == WIRE_UPLOAD || !p->answered;
}

static void take(struct server_session *s, struct actions *a, const struct event *e)
{
    const struct wire_msg *m = e->msg;

    switch (m->kind) {
    case WIRE_REFUSE: refused(s, a, e->peer, &m->refuse); break;
    case WIRE_KEPT: server_kept(s, a, e->peer, &m->kept); break;
    case WIRE_BEHIND: server_behind(s, a, e->peer, &m->behind); break;
    case WIRE_HELLO: server_hello(s, a, e->peer, &m->hello); break;
    case WIRE_CONFIRM: server_confirm(s, a, e->peer, &m->confirm); break;
    case WIRE_SHARE: server_share(s, a, e->peer, &m->share); break;
    case WIRE_UPLOAD: server_upload(s, a, e->peer, &m->upload); break;
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_OFFER:
    case WIRE_REPLAY:
    case WIRE_HELLOS:
    case WIRE_CONFIRMS:
    case WIRE_BROADCAST:
    case WIRE_RELAY:
    case WIRE_FINISH:
    case WIRE_KINDS: CHECK(!"in_turn lets no such message through");
    }
}

/* An upload of a generation that is over: nothing is made of it, but it was seen. */
static void overtaken(struct server_session *s, struct actions *a, uint32_t peer,
                      const struct wire_upload *u)
{
    if (s->fed.peer[peer].owes)
        server_count_late(s, peer, u);
    s->fed.peer[peer].owes = false;
    if (server_watch_upload(s, peer, u, true) != STATUS_OK)
        server_fail(s, a);
}

static void message(struct server_session *s, struct actions *a, const struct event *e)
{
    struct server_peer *p = &s->fed.peer[e->peer];
    uint64_t generation = generation_of(s, e->msg);

    if (!p->present)
        return;
    if (server_watch_arrival(s, e->peer, e->msg) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    if (e->msg->kind == WIRE_REFUSE || e->msg->kind == WIRE_KEPT) {
        take(s, a, e);
        return;
    }
    /* Overtaken by a new generation, or by the end of this one: late, not wrong. */
    if (generation < s->fed.generation ||
        (generation == s->fed.generation && s->fed.sm.phase == PHASE_GATHER)) {
        s->report.stale_messages++;
        if (e->msg->kind == WIRE_UPLOAD)
            overtaken(s, a, e->peer, &e->msg->upload);
        return;
    }
    if (generation > s->fed.generation || !in_turn(s, p, e->msg)) {
        error_set(&s->fed.error, STATUS_PROTOCOL, "%s: %s in phase %s", server_name(s, e->peer),
                  wire_kind_name(e->msg->kind), phase_row(s->fed.sm.phase)->name);
        server_drop(s, a, e->peer, STATUS_PROTOCOL);
        return;
    }
    take(s, a, e);
}

/* Until the next epoch begins; or for good, when it has been late or lost too often in a row. */
void server_sits_out(struct server_session *s, uint32_t peer)
{
    struct server_peer *p = &s->fed.peer[peer];

    p->excluded = true;
    p->barred = ++p->losses >= SERVER_LOSSES_MAX;
    if (p->barred)
        log_warn("%s was late or lost %d times in a row without a whole round; it is shut out",
                 server_name(s, peer), SERVER_LOSSES_MAX);
}

/* Under drop and async the late are left behind; a sum in clear does without them. */
static void leave_behind(struct server_session *s, struct actions *a, const char *missing)
{
    if (s->round.sum.shape.partial && s->fed.sm.phase == PHASE_ROUND &&
        s->round.purpose == PURPOSE_TRAIN && s->fed.answers > 0) {
        server_sum_up(s, a);
        return;
    }
    if (s->fed.sm.phase == PHASE_STREAM) {
        server_stream_late(s, a);
        return;
    }
    log_warn("going on without %s: no answer in phase %s", missing,
             phase_row(s->fed.sm.phase)->name);
    if (s->fed.sm.phase == PHASE_CLOSE) {
        server_all_closed(s, a);
        return;
    }
    if (phase_trains(s->fed.sm.phase))
        s->report.void_rounds++;
    for (uint32_t m = 0; m < s->fed.members_n; m++) {
        struct server_peer *p = &s->fed.peer[s->fed.members[m]];
        if (p->member < 0 || p->answered)
            continue;
        server_sits_out(s, s->fed.members[m]);
        p->owes = phase_row(s->fed.sm.phase)->member_answers == WIRE_UPLOAD;
    }
    server_set_changed(s, a);
}

static void out_of_time(struct server_session *s, struct actions *a)
{
    char missing[256];

    if (phase_row(s->fed.sm.phase)->quorum[0] == QUORUM_DECODES &&
        s->fed.answers >= secagg_quorum(s->round.sum.secagg)) {
        server_sum_up(s, a); /* what came in the same moment is in */
        return;
    }
    server_missing(s, missing, sizeof missing);
    if (server_gather_ends(s, a)) {
        if (missing[0] != 0)
            log_warn("went on without %s", missing);
        return;
    }
    if (server_does_without(s) && s->fed.sm.phase != PHASE_GATHER) {
        leave_behind(s, a, missing);
        return;
    }
    error_set(&s->fed.error, STATUS_PATIENCE,
              "out of patience in phase %s after %u ms, waiting for %s",
              phase_row(s->fed.sm.phase)->name, s->plan.protocol.patience_ms, missing);
    server_fail(s, a);
}

static void start(struct server_session *s, struct actions *a)
{
    if (s->trainer.complete && server_stored_begin(s, a))
        return;
    if (s->trainer.complete)
        server_finish(s, a, s->trainer.target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED);
    else
        server_arm(s, a, s->plan.protocol.patience_ms);
}

/* What holds after every step, whatever peers have sent: members stand where they say, and answers
 * are theirs. */
static void check_members(const struct server_session *s)
{
    uint32_t answered = 0;

    for (uint32_t i = 0; i < s->setup.roster->n; i++) {
        const struct server_peer *p = &s->fed.peer[i];
        CHECK(p->member < 0 || (p->present && s->fed.members[p->member] == i));
        answered += p->member >= 0 && p->answered;
    }
    if (s->fed.sm.phase != PHASE_GATHER && s->fed.sm.phase != PHASE_OVER)
        CHECK(answered <= s->fed.answers && s->fed.answers <= s->fed.members_n);
}

void server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                         struct actions *out)
{
    s->fed.now_us = now_us;
    s->fed.sends = 0;
    if (s->fed.sm.phase == PHASE_OVER && s->trainer.stored.alone)
        server_stored_step(s, e, out);
    if (s->fed.sm.phase == PHASE_OVER)
        return;
    switch (e->kind) {
    case EVENT_START: start(s, out); break;
    case EVENT_JOINED: server_joined(s, out, e); break;
    case EVENT_LOST: server_lost(s, out, e->peer); break;
    case EVENT_MESSAGE: message(s, out, e); break;
    case EVENT_TIMER: out_of_time(s, out); break;
    case EVENT_DONE: server_round_done(s, out); break;
    case EVENT_KEPT: server_keep_done(s, out, e->error); break;
    case EVENT_UNSENT:
        error_set(&s->fed.error, STATUS_MEMORY, "no memory for a message");
        server_fail(s, out);
        break;
    case EVENT_STOP: server_finish(s, out, OUTCOME_STOPPED); break;
    case EVENT_CHARGED: CHECK(!"the server keeps no ledger");
    }
    check_members(s);
}

/* --- life --- */

/* What secagg shows is written where common/compress has left room for it. */
static void check_shown(const struct server_session *s)
{
    const struct plan *p = &s->plan;
    const size_t rows[] = {1, p->training.batch};
    struct down down;

    down_of(&down, p);
    for (size_t i = 0; i < 2 && s->round.sum.shape.shown; i++)
        CHECK(down_shown_bytes(&down, rows[i]) == secagg_shown_bytes(p->protocol.aggregation,
                                                                     &s->round.sum.shape,
                                                                     rows[i] * p->model.embedding));
}

static enum status init_protocol(struct server_session *s, struct error *err)
{
    const struct plan *p = &s->plan;
    uint32_t rows = wire_evaluate_rows(p);
    enum status st;

    s->round.sum.shape = (struct secagg_shape){
        .concat = p->model.fusion == FUSION_CONCAT,
        .partial = aggregation_partial(p),
        .shown = p->protocol.local_view == VIEW_REFRESHED,
        .parties = p->shape.parties,
        .values_max = rows * p->model.embedding,
        .segments = p->protocol.coded.segments,
        .privacy = p->protocol.coded.privacy,
    };
    st = encode_init(&s->round.sum.shape.encode, p, p->shape.parties);
    if (st != STATUS_OK)
        return error_set(err, st, "encoding: %s", status_words(st));
    check_shown(s);
    s->round.sum.check_bytes = secagg_check_bytes(p->protocol.aggregation, &s->round.sum.shape);
    s->round.sum.payload_max = secagg_payload_bytes(p->protocol.aggregation, &s->round.sum.shape,
                                                    s->round.sum.shape.values_max);
    s->fed.agree.hellos = mem_alloc(p->shape.parties, sizeof *s->fed.agree.hellos);
    s->fed.agree.confirms = mem_alloc(p->shape.parties, sizeof *s->fed.agree.confirms);
    s->fed.agree.show_hellos = mem_alloc(p->shape.parties, sizeof *s->fed.agree.show_hellos);
    s->fed.agree.show_confirms = mem_alloc(p->shape.parties, sizeof *s->fed.agree.show_confirms);
    if (s->fed.agree.hellos == NULL || s->fed.agree.confirms == NULL ||
        s->fed.agree.show_hellos == NULL || s->fed.agree.show_confirms == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %u parties", p->shape.parties);
    st = server_shares_new(s);
    if (st == STATUS_OK && server_deals(s)) {
        s->trainer.sweep_row = mem_alloc(rows, sizeof *s->trainer.sweep_row);
        st = s->trainer.sweep_row == NULL ? STATUS_MEMORY : STATUS_OK;
    }
    if (st == STATUS_OK)
        st = server_stream_new(s);
    if (st == STATUS_OK)
        st = server_stored_new(s);
    if (st == STATUS_OK)
        st = server_watch_new(s);
    if (st == STATUS_OK)
        st = rng_init_system(&s->trainer.rounding);
    return st == STATUS_OK ? st : error_set(err, st, "session: %s", status_words(st));
}

static enum status init_model(struct server_session *s)
{
    const struct plan *p = &s->plan;
    uint8_t key[RNG_KEY_BYTES];
    struct rng init = {0};
    enum status st;

    if (s->setup.seeded) {
        rng_seed_key(key, s->setup.seed, 0, "init", 0);
        st = rng_init_key(&init, key);
    } else {
        st = rng_init_system(&init);
    }
    if (st == STATUS_OK)
        st = server_head_init(&s->trainer.head, p, wire_evaluate_rows(p), &init);
    rng_deinit(&init);
    return st;
}

static enum status init_scores(struct server_session *s)
{
    const struct plan *p = &s->plan;
    enum status st = score_board_init(&s->trainer.scores.running, p->shape.train_rows,
                                      s->trainer.head.top.outputs);

    if (st == STATUS_OK && p->shape.test_rows > 0)
        st = score_board_init(&s->trainer.scores.test, p->shape.test_rows,
                              s->trainer.head.top.outputs);
    if (st == STATUS_OK && p->training.evaluate_train)
        st = score_board_init(&s->trainer.scores.train, p->shape.train_rows,
                              s->trainer.head.top.outputs);
    return st;
}

enum status server_session_new(struct server_session **out, const struct server_setup *setup,
                               struct error *err)
{
    struct server_session *s = mem_alloc(1, sizeof *s);
    enum status st;

    if (s == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a session");
    s->setup = *setup;
    s->plan = *setup->plan;
    for (size_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        s->fed.peer[i].member = -1;
    agenda_make(&s->trainer.agenda, &s->plan);
    s->report.agenda = s->trainer.agenda;
    buf_init(&s->plan_text, PLAN_TEXT_MAX);
    buf_init(&s->keep.bytes, SERVER_KEEP_MAX);
    buf_init(&s->keep.replay, WIRE_PAYLOAD_MAX);
    st = plan_print(&s->plan, &s->plan_text);
    if (st == STATUS_OK)
        st = schedule_init(&s->trainer.schedule, s->plan.training.seed, s->plan.shape.train_rows,
                           s->plan.training.batch, s->plan.protocol.fedvs.segments);
    if (st == STATUS_OK)
        st = init_model(s);
    if (st == STATUS_OK)
        st = init_scores(s);
    if (st != STATUS_OK)
        error_set(err, st, "session: %s", status_words(st));
    else
        st = init_protocol(s, err);
    if (st != STATUS_OK) {
        server_session_free(s);
        return st;
    }
    job_digest(s->plan_digest, JOB_TRAIN, s->plan_text.data, s->plan_text.len);
    trail_begin(&s->trainer.trail, &s->trainer.digest, s->plan_digest);
    *out = s;
    return STATUS_OK;
}

void server_session_free(struct server_session *s)
{
    if (s == NULL)
        return;
    server_compare_forget(s);
    secagg_server_free(s->round.sum.secagg);
    server_head_deinit(&s->trainer.head);
    schedule_deinit(&s->trainer.schedule);
    score_board_deinit(&s->trainer.scores.running);
    score_board_deinit(&s->trainer.scores.test);
    score_board_deinit(&s->trainer.scores.train);
    server_shares_free(s);
    server_stream_free(s);
    server_stored_free(s);
    server_watch_free(s);
    digest_deinit(&s->trainer.digest);
    rng_deinit(&s->trainer.rounding);
    buf_deinit(&s->plan_text);
    buf_deinit(&s->keep.replay);
    if (s->keep.bytes.data != NULL)
        secret_wipe(s->keep.bytes.data, s->keep.bytes.cap);
    buf_deinit(&s->keep.bytes);
    mem_free(s->trainer.sweep_row);
    mem_free(s->fed.agree.hellos);
    mem_free(s->fed.agree.confirms);
    mem_free(s->fed.agree.show_hellos);
    mem_free(s->fed.agree.show_confirms);
    mem_free(s);
}

/* --- what the driver may see --- */

const struct server_report *server_session_report(struct server_session *s)
{
    struct server_report *r = &s->report;

    r->phase = s->fed.sm.phase;
    r->generation = s->fed.generation;
    r->steps = s->trainer.steps_done;
    r->epochs = server_epochs(s);
    r->members_n = s->fed.members_n;
    r->waiting_for = -1;
    r->waiting_since_us = s->round.opened_us;
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        if ((s->fed.sm.phase == PHASE_GATHER || s->fed.peer[i].member >= 0) &&
            !s->fed.peer[i].answered)
            r->waiting_for = (int)i;
    }
    return r;
}

const struct fedvs_terms *server_session_terms(const struct server_session *s)
{
    return &s->round.sum.shape.terms;
}

const struct nn_net *server_session_head(const struct server_session *s)
{
    return &s->trainer.head.top.net;
}

size_t server_session_up_max(const struct server_session *s)
{
    size_t upload = wire_up_max(s->round.sum.payload_max, s->round.sum.check_bytes),
           share = server_session_share_max(s);

    return share > upload ? share : upload;
}

size_t server_session_down_max(const struct server_session *s)
{
    return wire_down_max(&s->plan, server_session_share_max(s));
}

struct spans *server_session_spans(struct server_session *s)
{
    return &s->spans;
}
