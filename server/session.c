/* session.c -- life, dispatch and endings of a server session.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/session.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
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

struct action *server_send_members(struct server_session *s, struct actions *a, enum wire_kind kind)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = kind;
    send->to = s->members;
    send->to_n = s->members_n;
    return send;
}

void server_drop(struct server_session *s, struct actions *a, uint32_t peer, enum status why)
{
    struct action *drop = actions_add(a, ACTION_DROP);

    s->error.status = why;
    log_warn("%s", s->error.text);
    drop->peer = peer;
    drop->error = &s->error;
    server_lost(s, a, peer);
}

void server_missing(const struct server_session *s, char *out, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < s->setup.roster->n && used < n; i++) {
        bool asked = s->sm.phase == PHASE_GATHER || s->peer[i].member >= 0;
        if (asked && !s->peer[i].answered) {
            int w = snprintf(out + used, n - used, "%s%s", used == 0 ? "" : ", ",
                             server_name(s, (uint32_t)i));
            used += w > 0 ? (size_t)w : 0;
        }
    }
}

static void tell_everybody(struct server_session *s, struct actions *a, enum wire_outcome outcome)
{
    size_t n = 0;
    struct action *send = actions_add(a, ACTION_SEND);
    enum status_kind kind = outcome == OUTCOME_FAILED || outcome == OUTCOME_BUDGET
                                ? status_kind(s->error.status)
                                : STATUS_KIND_NONE;

    for (size_t i = 0; i < s->setup.roster->n; i++) {
        if (s->peer[i].present)
            s->everybody[n++] = (uint8_t)i;
    }
    send->msg.kind = WIRE_FINISH;
    send->msg.finish.outcome = outcome;
    send->msg.finish.kind = kind;
    snprintf(send->msg.finish.text, sizeof send->msg.finish.text, "%.*s", WIRE_TEXT_MAX,
             kind == STATUS_KIND_NONE ? "" : s->error.text);
    send->to = s->everybody;
    send->to_n = n;
}

void server_finish(struct server_session *s, struct actions *a, enum wire_outcome outcome)
{
    struct action *finish;

    if (outcome != OUTCOME_FAILED && outcome != OUTCOME_BUDGET)
        s->error = (struct error){0};
    sm_move(&s->sm, PHASE_OVER, s->generation);
    actions_add(a, ACTION_DISARM);
    tell_everybody(s, a, outcome);
    finish = actions_add(a, ACTION_FINISH);
    finish->outcome = outcome;
    finish->error = &s->error;
}

void server_fail(struct server_session *s, struct actions *a)
{
    server_finish(s, a, s->error.status == STATUS_BUDGET ? OUTCOME_BUDGET : OUTCOME_FAILED);
}

/* --- events --- */

/* s->error is the fault of `peer`: it costs that party under `drop`, and the run where the run
 * needs it. */
void server_blame(struct server_session *s, struct actions *a, uint32_t peer)
{
    if (s->plan.protocol.straggler == STRAGGLER_DROP && s->started)
        server_drop(s, a, peer, s->error.status);
    else
        server_fail(s, a);
}

/* A party will not go on.  Its own fault costs it alone under `drop`; the run needs it under
 * `wait`. */
static void refused(struct server_session *s, struct actions *a, uint32_t peer,
                    const struct wire_refuse *r)
{
    static const enum status as[] = {
        [STATUS_KIND_CONFIG] = STATUS_DATA, [STATUS_KIND_PEER] = STATUS_PROTOCOL,
        [STATUS_KIND_NET] = STATUS_NET,     [STATUS_KIND_POLICY] = STATUS_POLICY,
        [STATUS_KIND_LOCAL] = STATUS_NET,
    };
    enum status why = as[r->kind];

    if (why == STATUS_POLICY && s->steps_done > 0)
        why = STATUS_BUDGET;
    error_set(&s->error, why, "%s refuses: %s", server_name(s, peer), r->text);
    server_blame(s, a, peer);
}

/* Generation a message speaks of; the current one where it names none. */
static uint64_t generation_of(const struct server_session *s, const struct wire_msg *m)
{
    if (m->kind == WIRE_HELLO)
        return m->hello.generation;
    if (m->kind == WIRE_CONFIRM)
        return m->confirm.generation;
    if (m->kind == WIRE_UPLOAD)
        return m->upload.generation;
    return s->generation;
}

static void message(struct server_session *s, uint64_t now_us, struct actions *a,
                    const struct event *e)
{
    const struct server_peer *p = &s->peer[e->peer];
    uint64_t generation = generation_of(s, e->msg);

    if (!p->present)
        return;
    /* Overtaken by a new generation, or by the end of this one: late, not wrong. */
    if (generation < s->generation || (generation == s->generation && s->sm.phase == PHASE_GATHER &&
                                       e->msg->kind != WIRE_REFUSE)) {
        s->report.stale_messages++;
        return;
    }
    if (e->msg->kind != WIRE_REFUSE &&
        (generation > s->generation || e->msg->kind == WIRE_JOIN || p->member < 0 ||
         !phase_expects(s->sm.phase, true, e->msg->kind) ||
         (e->msg->kind != WIRE_UPLOAD && p->answered))) {
        error_set(&s->error, STATUS_PROTOCOL, "%s: %s in phase %s", server_name(s, e->peer),
                  wire_kind_name(e->msg->kind), phase_row(s->sm.phase)->name);
        server_drop(s, a, e->peer, STATUS_PROTOCOL);
        return;
    }
    if (e->msg->kind == WIRE_REFUSE) {
        refused(s, a, e->peer, &e->msg->refuse);
    } else if (e->msg->kind == WIRE_HELLO) {
        server_hello(s, a, e->peer, &e->msg->hello);
    } else if (e->msg->kind == WIRE_CONFIRM) {
        server_confirm(s, a, e->peer, &e->msg->confirm);
        if (s->sm.phase == PHASE_ROUND)
            server_open_round(s, now_us, a);
    } else {
        server_upload(s, now_us, a, e->peer, &e->msg->upload);
    }
}

static void out_of_time(struct server_session *s, struct actions *a)
{
    char missing[256];

    server_missing(s, missing, sizeof missing);
    if (s->plan.protocol.straggler == STRAGGLER_DROP && s->started && s->sm.phase != PHASE_GATHER) {
        log_warn("going on without %s: no answer in phase %s", missing,
                 phase_row(s->sm.phase)->name);
        if (s->sm.phase == PHASE_ROUND)
            server_round_void(s);
        for (uint32_t m = 0; m < s->members_n; m++) {
            struct server_peer *p = &s->peer[s->members[m]];
            if (p->answered)
                continue;
            p->excluded = true;
            p->barred = ++p->losses >= SERVER_LOSSES_MAX;
        }
        server_set_changed(s, a);
        return;
    }
    error_set(&s->error, STATUS_PATIENCE, "out of patience in phase %s after %u ms, waiting for %s",
              phase_row(s->sm.phase)->name, s->plan.protocol.patience_ms, missing);
    server_fail(s, a);
}

void server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                         struct actions *out)
{
    if (s->sm.phase == PHASE_OVER)
        return;
    switch (e->kind) {
    case EVENT_START: server_arm(s, out, s->plan.protocol.patience_ms); break;
    case EVENT_JOINED: server_joined(s, out, e); break;
    case EVENT_LOST: server_lost(s, out, e->peer); break;
    case EVENT_MESSAGE: message(s, now_us, out, e); break;
    case EVENT_TIMER: out_of_time(s, out); break;
    case EVENT_DONE: server_round_done(s, now_us, out); break;
    case EVENT_STOP: server_finish(s, out, OUTCOME_STOPPED); break;
    case EVENT_CHARGED: CHECK(!"the server keeps no ledger");
    }
}

/* --- life --- */

static enum status init_protocol(struct server_session *s, struct error *err)
{
    const struct plan *p = &s->plan;
    uint32_t rows = wire_evaluate_rows(p);
    enum status st;

    s->shape = (struct secagg_shape){
        .concat = p->model.fusion == FUSION_CONCAT,
        .parties = p->shape.parties,
        .values_max = rows * p->model.embedding,
    };
    st = encode_init(&s->shape.encode, p, p->shape.parties);
    if (st != STATUS_OK)
        return error_set(err, st, "encoding: %s", status_words(st));
    s->check_bytes = secagg_check_bytes(p->protocol.aggregation, &s->shape);
    s->payload_max = secagg_payload_bytes(p->protocol.aggregation, &s->shape, s->shape.values_max);
    s->hellos = mem_alloc(p->shape.parties, sizeof *s->hellos);
    s->confirms = mem_alloc(p->shape.parties, sizeof *s->confirms);
    s->show_hellos = mem_alloc(p->shape.parties, sizeof *s->show_hellos);
    s->show_confirms = mem_alloc(p->shape.parties, sizeof *s->show_confirms);
    if (s->hellos == NULL || s->confirms == NULL || s->show_hellos == NULL ||
        s->show_confirms == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for %u parties", p->shape.parties);
    return STATUS_OK;
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
        st = server_head_init(&s->head, p, wire_evaluate_rows(p), &init);
    rng_deinit(&init);
    return st;
}

static enum status init_scores(struct server_session *s)
{
    const struct plan *p = &s->plan;
    enum status st = score_board_init(&s->running, p->shape.train_rows, s->head.outputs);

    if (st == STATUS_OK && p->shape.test_rows > 0)
        st = score_board_init(&s->test_board, p->shape.test_rows, s->head.outputs);
    if (st == STATUS_OK && p->training.evaluate_train)
        st = score_board_init(&s->train_board, p->shape.train_rows, s->head.outputs);
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
        s->peer[i].member = -1;
    agenda_make(&s->agenda, &s->plan);
    s->report.agenda = s->agenda;
    buf_init(&s->plan_text, PLAN_TEXT_MAX);
    st = plan_print(&s->plan, &s->plan_text);
    if (st == STATUS_OK)
        st = schedule_init(&s->schedule, s->plan.training.seed, s->plan.shape.train_rows,
                           s->plan.training.batch);
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
    digest_sha256(s->plan_digest, s->plan_text.data, s->plan_text.len);
    *out = s;
    return STATUS_OK;
}

void server_session_free(struct server_session *s)
{
    if (s == NULL)
        return;
    secagg_server_free(s->sum);
    server_head_deinit(&s->head);
    schedule_deinit(&s->schedule);
    score_board_deinit(&s->running);
    score_board_deinit(&s->test_board);
    score_board_deinit(&s->train_board);
    buf_deinit(&s->plan_text);
    mem_free(s->hellos);
    mem_free(s->confirms);
    mem_free(s->show_hellos);
    mem_free(s->show_confirms);
    mem_free(s);
}

/* --- what the driver may see --- */

const struct server_report *server_session_report(struct server_session *s)
{
    struct server_report *r = &s->report;

    r->phase = s->sm.phase;
    r->generation = s->generation;
    r->steps = s->steps_done;
    r->epochs = (double)s->steps_done / s->agenda.rounds_per_epoch;
    r->members_n = s->members_n;
    r->waiting_for = -1;
    r->waiting_since_us = s->round.opened_us;
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        if ((s->sm.phase == PHASE_GATHER || s->peer[i].member >= 0) && !s->peer[i].answered)
            r->waiting_for = (int)i;
    }
    return r;
}

const struct nn_net *server_session_head(const struct server_session *s)
{
    return &s->head.net;
}

size_t server_session_up_max(const struct server_session *s)
{
    return wire_up_max(s->payload_max, s->check_bytes);
}

struct spans *server_session_spans(struct server_session *s)
{
    return &s->spans;
}
