/* round.c -- ROUND: one broadcast ends a training step and opens the next round; every member
 * uploads once.
 *
 * The happy path: open -> M uploads -> work (combine, head) -> the next broadcast: one round trip a
 * round; under coded share.c stands between.  A round completes with all its members' contributions
 * or is void; a void round's batch runs next, in a new generation, with fresh samples and masks.
 * In clear under `drop` (the papers' Ignore) it completes with those that came in time.  Late or
 * repeated uploads of an older generation are counted and forgotten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/config/aggregation.h"
#include "common/wire/limits.h"

#include <stdio.h>

enum { SPOILED_IN_A_ROW_MAX = 3 };

uint64_t server_round_values(const struct server_session *s)
{
    if (wire_purpose_deals(s->round.purpose))
        return s->round.coded;
    if (server_deals(s))
        return (uint64_t)s->round.coded * s->plan.protocol.fedvs.segments * s->plan.model.embedding;
    return server_real_values(s);
}

uint64_t server_real_values(const struct server_session *s)
{
    return (uint64_t)s->round.rows * s->plan.model.embedding;
}

bool server_choose_round(struct server_session *s)
{
    s->round.sweep = 0;
    if (server_next_deal(s) || server_next_evaluation(s))
        return true;
    if (s->trainer.steps_done == s->trainer.agenda.steps || s->trainer.target_reached)
        return false;
    s->round.purpose = PURPOSE_TRAIN;
    s->round.place = s->trainer.steps_done;
    s->round.row =
        schedule_batch(&s->trainer.schedule,
                       agenda_batch(&s->trainer.agenda, s->trainer.steps_done), &s->round.rows);
    s->round.coded = s->trainer.schedule.coded_n;
    return true;
}

/* --- broadcasts --- */

/* But for the gradient, which may differ from member to member. */
struct wire_broadcast server_broadcast_of(const struct server_session *s, bool opens)
{
    struct wire_broadcast b = {
        .generation = s->fed.generation, .opens = opens, .round = s->round.number};

    if (s->trainer.close.fresh) {
        b.closes = true;
        b.close_step = s->trainer.close.step;
        b.gradient = (struct wire_bytes){(const uint8_t *)s->trainer.head.blob,
                                         s->trainer.close.words * sizeof *s->trainer.head.blob};
        b.absent = (struct wire_bytes){s->trainer.close.absent, s->trainer.close.absent_n};
    }
    if (opens) {
        b.purpose = s->round.purpose;
        b.place = s->round.place;
        b.sweep = s->round.sweep;
    }
    return b;
}

void server_send_broadcast(struct server_session *s, struct actions *a,
                           const struct wire_broadcast *b)
{
    if (!s->trainer.head.apart || !b->closes) {
        server_send_members(s, a, WIRE_BROADCAST)->msg.broadcast = *b;
        return;
    }
    for (uint32_t m = 0; m < s->fed.members_n; m++) {
        struct action *send;

        if (s->fed.peer[s->fed.members[m]].member < 0)
            continue;
        send = server_send_one(s, a, s->fed.members[m], WIRE_BROADCAST);
        send->msg.broadcast = *b;
        send->msg.broadcast.gradient.data =
            (const uint8_t *)(s->trainer.head.blob + m * s->trainer.close.words);
    }
}

void server_flush_close(struct server_session *s, struct actions *a)
{
    struct wire_broadcast b = server_broadcast_of(s, false);

    if (s->trainer.close.fresh)
        server_send_broadcast(s, a, &b);
    s->trainer.close.fresh = false;
}

static enum phase phase_of_round(const struct server_session *s)
{
    return s->round.shares != NULL ? PHASE_SHARE : PHASE_ROUND;
}

/* A set that has shrunk cannot open a round under masks: it is keyed anew.  In clear it can. */
static bool set_is_whole(const struct server_session *s)
{
    return s->fed.left == 0 || (aggregation_of(&s->plan)->plaintext && !server_waits(s));
}

static void begin_sum(struct server_session *s)
{
    secagg_begin_padded(s->round.sum.secagg, server_round_values(s), server_real_values(s));
    if (!plan_compresses(&s->plan))
        return;
    dither_make(s->round.sum.dither, &s->trainer.digest, &s->plan, s->round.purpose, s->round.place,
                s->round.sweep);
    secagg_dither(s->round.sum.secagg, s->round.sum.dither);
}

void server_open_round(struct server_session *s, struct actions *a)
{
    struct wire_broadcast b;

    if (!set_is_whole(s)) {
        server_flush_close(s, a);
        server_set_changed(s, a);
        return;
    }
    if (!server_choose_round(s)) {
        server_close_run(s, a);
        return;
    }
    if (s->round.stream != NULL && s->round.purpose == PURPOSE_TRAIN) {
        server_stream_open(s, a);
        return;
    }
    s->round.number++;
    s->round.opened_us = s->round.last_answer_us = s->fed.now_us;
    server_next_question(s);
    if (!wire_purpose_deals(s->round.purpose))
        begin_sum(s);
    if (s->round.shares != NULL)
        server_shares_open(s);
    if (s->fed.sm.phase != phase_of_round(s))
        sm_move(&s->fed.sm, phase_of_round(s), s->fed.generation);
    if (server_watch_ask(s, -1) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    b = server_broadcast_of(s, true);
    server_send_broadcast(s, a, &b);
    s->trainer.close.fresh = false;
    server_arm_phase(s, a);
}

/* --- uploads --- */

/* Of a round that did not wait for it. */
static bool late(const struct server_session *s, uint32_t peer, const struct wire_upload *u)
{
    return (s->round.shares != NULL || s->round.sum.shape.partial) &&
           u->round > s->fed.peer[peer].uploaded &&
           (u->round < s->round.number ||
            (u->round == s->round.number && s->fed.sm.phase == PHASE_CLOSE));
}

static bool upload_fits(struct server_session *s, uint32_t peer, const struct wire_upload *u)
{
    const char *name = server_name(s, peer);
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    size_t payload = secagg_payload_bytes(agg, &s->round.sum.shape, server_round_values(s));

    if (u->round != s->round.number || u->purpose != s->round.purpose ||
        s->fed.sm.phase == PHASE_SHARE || s->fed.sm.phase == PHASE_CLOSE)
        error_set(&s->fed.error, STATUS_PROTOCOL,
                  "%s: upload for round %llu (%s) while round %llu (%s) is open", name,
                  (unsigned long long)u->round, wire_purpose_name(u->purpose),
                  (unsigned long long)s->round.number, wire_purpose_name(s->round.purpose));
    else if (s->fed.peer[peer].answered)
        error_set(&s->fed.error, STATUS_PROTOCOL, "%s: second upload for round %llu", name,
                  (unsigned long long)u->round);
    else if (u->payload.n != payload || u->check.n != s->round.sum.check_bytes)
        error_set(&s->fed.error, STATUS_PROTOCOL,
                  "%s: upload of %zu + %zu bytes where %zu + %zu were due", name, u->payload.n,
                  u->check.n, payload, s->round.sum.check_bytes);
    else
        return true;
    return false;
}

void server_note_arrival(struct server_session *s, uint32_t peer, bool last)
{
    if (last) {
        s->report.slowest_rounds[peer]++;
        s->report.wait_us[peer] += s->fed.now_us - s->round.last_answer_us;
    }
    s->round.last_answer_us = s->fed.now_us;
}

void server_upload(struct server_session *s, struct actions *a, uint32_t peer,
                   const struct wire_upload *u)
{
    struct server_peer *p = &s->fed.peer[peer];
    bool all, decodes, counts;
    enum status st;

    if (s->fed.sm.phase == PHASE_STREAM) {
        server_stream_upload(s, a, peer, u);
        return;
    }
    if (late(s, peer, u)) {
        server_late_upload(s, a, peer, u);
        return;
    }
    if (!upload_fits(s, peer, u)) {
        server_drop(s, a, peer, STATUS_PROTOCOL);
        return;
    }
    st = secagg_add(s->round.sum.secagg, (uint32_t)p->member, u->payload.data, u->check.data,
                    &s->fed.error);
    if (st != STATUS_OK) {
        error_wrap(&s->fed.error, "%s: upload", server_name(s, peer));
        server_drop(s, a, peer, st);
        return;
    }
    if (server_watch_upload(s, peer, u, false) != STATUS_OK) {
        server_fail(s, a);
        return;
    }
    p->uploaded = u->round;
    all = server_answered(s, peer);
    counts = phase_row(s->fed.sm.phase)->quorum[0] == QUORUM_DECODES;
    decodes = counts && s->fed.answers == secagg_quorum(s->round.sum.secagg);
    server_note_arrival(s, peer, counts ? decodes : all);
    if (all)
        server_sum_up(s, a);
    else if (decodes) /* what else has come by now is a surplus to check it by */
        server_arm(s, a, 0);
}

void server_settle(struct server_session *s, struct actions *a)
{
    if (s->fed.sm.phase == PHASE_STREAM) {
        server_stream_lost(s, a);
        return;
    }
    if (!server_all_answered(s))
        return;
    if (s->fed.sm.phase == PHASE_CLOSE)
        server_all_closed(s, a);
    else if (s->fed.sm.phase == PHASE_SHARE)
        server_relay(s, a);
    else if (s->fed.answers > 0)
        server_sum_up(s, a);
    else
        server_set_changed(s, a); /* nobody is left */
}

void server_sum_up(struct server_session *s, struct actions *a)
{
    uint32_t every = s->setup.checkpoint_rounds;
    struct action *work;

    spans_add(&s->spans, SPAN_WAIT, s->fed.now_us - s->round.opened_us);
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops =
        nn_net_flops(&s->trainer.head.top.net.spec, s->round.rows) *
            s->plan.protocol.local_iterations +
        2.0 * (double)server_round_values(s) * (server_deals(s) ? 8.0 * s->fed.members_n : 1.0);
    if (every > 0 && (s->trainer.steps_done + 1) % every == 0)
        work->flops += SERVER_SLOW_FLOPS; /* it will wait for the disk */
}

/* --- after the work --- */

/* Nobody can tell whose upload it was: it is one of these. */
static void name_members(const struct server_session *s, char *out, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (uint32_t m = 0; m < s->fed.members_n && used < n; m++) {
        int w = snprintf(out + used, n - used, "%s%s", m == 0 ? "" : ", ",
                         server_name(s, s->fed.members[m]));
        used += w > 0 ? (size_t)w : 0;
    }
}

/* The sum was not what it should be.  Everybody pays for its repetition, so a member that spoils
 * some of them, even if never many in a row, must not have that for as long as it likes. */
static void integrity_failed(struct server_session *s, struct actions *a)
{
    char members[256];

    s->report.integrity_failures++;
    s->round.sum.spoiled++;
    s->round.sum.spoiled_in_a_row++;
    log_warn("round %llu: %s", (unsigned long long)s->round.number, s->fed.error.text);
    s->report.void_rounds++;
    if (s->round.sum.spoiled_in_a_row >= SPOILED_IN_A_ROW_MAX ||
        s->round.sum.spoiled > WIRE_SPOILED_MAX + s->report.rounds / WIRE_SPOILED_ONE_IN) {
        name_members(s, members, sizeof members);
        error_wrap(&s->fed.error, "%u rounds in vain, %u of them in a row, by one of %s or more",
                   s->round.sum.spoiled, s->round.sum.spoiled_in_a_row, members);
        server_fail(s, a);
        return;
    }
    server_set_changed(s, a);
}

static void note_verdict(struct server_session *s)
{
    const uint8_t *faulty;
    size_t n;
    enum secagg_verdict v = secagg_verdict(s->round.sum.secagg, &faulty, &n);

    s->round.sum.combined_round = s->round.number;
    if (v == SECAGG_UNVERIFIED && s->report.degraded.unverified++ == 0)
        log_info("round %llu: unverified: only the %u uploads that decoding needs had come; said "
                 "once, counted from now on",
                 (unsigned long long)s->round.number, secagg_quorum(s->round.sum.secagg));
    if (v != SECAGG_LOCATED)
        return;
    s->report.integrity_failures++;
    s->report.degraded.faulty += n;
    for (size_t i = 0; i < n; i++)
        log_warn("round %llu: the upload of %s, or a share that it was dealt, is wrong; decoded "
                 "without it",
                 (unsigned long long)s->round.number, server_name(s, s->fed.members[faulty[i]]));
}

void server_round_done(struct server_session *s, struct actions *a)
{
    if (s->work_status != STATUS_OK) {
        if (s->work_status == STATUS_INTEGRITY)
            integrity_failed(s, a);
        else
            server_fail(s, a);
        return;
    }
    if (s->fed.sm.phase == PHASE_STREAM) {
        server_stream_done(s, a);
        return;
    }
    s->round.sum.spoiled_in_a_row = 0;
    note_verdict(s);
    for (uint32_t m = 0; m < s->fed.members_n; m++) {
        struct server_peer *p = &s->fed.peer[s->fed.members[m]];
        if (p->member < 0)
            continue;
        if (p->answered || s->fed.sm.phase != PHASE_ROUND) /* in clear it may have done without */
            p->losses = 0;
        if (server_waits(s))
            p->applied = s->trainer.steps_done; /* once the next broadcast is there */
    }
    if (s->keep.due && !s->keep.under_way)
        server_keep(s, a);
    s->keep.due = false;
    if (s->swept)
        actions_add(a, ACTION_REPORT);
    s->swept = false;
    if (s->round.purpose == PURPOSE_TRAIN && !server_waits(s) &&
        s->trainer.steps_done % agenda_epoch_steps(&s->trainer.agenda) == 0)
        server_readmit(s, a);
    if (s->fed.sm.phase == phase_of_round(s) || s->fed.sm.phase == PHASE_SUM)
        server_open_round(s, a);
}

/* An epoch has ended: whoever was excluded, or came back meanwhile, may join a new generation now,
 * if the set it makes is large enough for it. */
void server_readmit(struct server_session *s, struct actions *a)
{
    bool who[WIRE_MEMBERS_MAX];

    if (!server_may_come_in(s, who))
        return;
    for (size_t i = 0; i < s->setup.roster->n; i++)
        s->fed.peer[i].excluded &= !who[i];
    server_flush_close(s, a);
    server_set_changed(s, a);
}
