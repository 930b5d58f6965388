/* round.c -- ROUND: one broadcast ends a training step and opens the next round; every member
 * uploads once.
 *
 * The happy path: open -> M uploads -> work (combine, head) -> the next broadcast: one round trip a
 * round. A round completes with all its members' contributions or is void; a void round's batch
 * runs next, in a new generation, with fresh samples and masks.  Late or repeated uploads of an
 * older generation are counted and forgotten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/check.h"
#include "common/base/log.h"

#include <math.h>
#include <string.h>

enum { INTEGRITY_FAILURES_MAX = 3 };

static uint64_t round_values(const struct server_session *s)
{
    return (uint64_t)s->round.rows * s->plan.model.embedding;
}

/* What comes next; false when the agenda is done. */
static bool choose_round(struct server_session *s)
{
    s->round.sweep = 0;
    if (server_next_evaluation(s))
        return true;
    if (s->steps_done == s->agenda.steps || s->target_reached)
        return false;
    s->round.purpose = PURPOSE_TRAIN;
    s->round.place = s->steps_done;
    s->round.row = schedule_batch(&s->schedule, s->steps_done, &s->round.rows);
    return true;
}

/* The broadcast, but for the gradient, which under `concat` differs from member to member. */
static struct wire_broadcast broadcast_of(const struct server_session *s, bool opens)
{
    struct wire_broadcast b = {
        .generation = s->generation, .opens = opens, .round = s->round.number};

    if (s->close.fresh) {
        b.closes = true;
        b.close_step = s->close.step;
        b.gradient =
            (struct wire_bytes){(const uint8_t *)s->head.gradient, s->close.floats * sizeof(float)};
    }
    if (opens) {
        b.purpose = s->round.purpose;
        b.place = s->round.place;
        b.sweep = s->round.sweep;
    }
    return b;
}

static void send_broadcast(struct server_session *s, struct actions *a, bool opens)
{
    struct wire_broadcast b = broadcast_of(s, opens);

    if (!s->head.concat || !b.closes) {
        server_send_members(s, a, WIRE_BROADCAST)->msg.broadcast = b;
        return;
    }
    for (uint32_t m = 0; m < s->members_n; m++) {
        struct action *send = actions_add(a, ACTION_SEND);
        send->msg.kind = WIRE_BROADCAST;
        send->msg.broadcast = b;
        send->msg.broadcast.gradient.data =
            (const uint8_t *)(s->head.gradient + m * s->close.floats);
        send->to = &s->members[m];
        send->to_n = 1;
    }
}

void server_open_round(struct server_session *s, uint64_t now_us, struct actions *a)
{
    bool drop = s->plan.protocol.straggler == STRAGGLER_DROP;

    if (!choose_round(s)) {
        if (s->close.fresh)
            send_broadcast(s, a, false);
        server_finish(s, a, s->target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED);
        return;
    }
    s->round.number++;
    s->round.opened_us = s->round.last_answer_us = now_us;
    for (uint32_t m = 0; m < s->members_n; m++)
        s->peer[s->members[m]].answered = false;
    s->answers = 0;
    secagg_begin(s->sum, round_values(s));
    send_broadcast(s, a, true);
    s->close.fresh = false;
    server_arm(s, a, drop ? s->plan.protocol.deadline_ms : s->plan.protocol.patience_ms);
}

static bool upload_fits(struct server_session *s, uint32_t peer, const struct wire_upload *u)
{
    const char *name = server_name(s, peer);
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    size_t payload = secagg_payload_bytes(agg, &s->shape, round_values(s));

    if (u->round != s->round.number || u->purpose != s->round.purpose)
        error_set(&s->error, STATUS_PROTOCOL,
                  "%s: upload for round %llu (%s) while round %llu (%s) is open", name,
                  (unsigned long long)u->round, wire_purpose_name(u->purpose),
                  (unsigned long long)s->round.number, wire_purpose_name(s->round.purpose));
    else if (s->peer[peer].answered)
        error_set(&s->error, STATUS_PROTOCOL, "%s: second upload for round %llu", name,
                  (unsigned long long)u->round);
    else if (u->payload.n != payload || u->check.n != s->check_bytes)
        error_set(&s->error, STATUS_PROTOCOL,
                  "%s: upload of %zu + %zu bytes where %zu + %zu were due", name, u->payload.n,
                  u->check.n, payload, s->check_bytes);
    else
        return true;
    return false;
}

static void note_arrival(struct server_session *s, uint64_t now_us, uint32_t peer, bool last)
{
    if (last) {
        s->report.slowest_rounds[peer]++;
        s->report.wait_us[peer] += now_us - s->round.last_answer_us;
    }
    s->round.last_answer_us = now_us;
}

void server_upload(struct server_session *s, uint64_t now_us, struct actions *a, uint32_t peer,
                   const struct wire_upload *u)
{
    uint32_t member = (uint32_t)s->peer[peer].member;
    struct action *work;
    enum status st;

    if (!upload_fits(s, peer, u)) {
        server_drop(s, a, peer, STATUS_PROTOCOL);
        return;
    }
    st = secagg_add(s->sum, member, u->payload.data, u->check.data, &s->error);
    if (st != STATUS_OK) {
        error_wrap(&s->error, "%s: upload", server_name(s, peer));
        server_drop(s, a, peer, st);
        return;
    }
    s->peer[peer].answered = true;
    note_arrival(s, now_us, peer, ++s->answers == s->members_n);
    if (s->answers < s->members_n)
        return;
    spans_add(&s->spans, SPAN_WAIT, now_us - s->round.opened_us);
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops =
        nn_net_flops(&s->head.net.spec, s->round.rows) * s->plan.protocol.local_iterations +
        2.0 * (double)round_values(s);
}

/* --- the work between the last upload and the next broadcast --- */

static void take_targets(struct server_session *s)
{
    const float *all =
        s->round.purpose == PURPOSE_EVALUATE_TEST ? s->setup.test_target : s->setup.train_target;

    for (uint32_t r = 0; r < s->round.rows; r++)
        s->head.target[r] = all[s->round.row != NULL ? s->round.row[r] : s->round.place + r];
}

/* A loss or gradient that is not finite would look like a broken server to every party. */
static bool learns(const struct server_session *s, double loss)
{
    size_t floats = round_values(s) * (s->head.concat ? s->members_n : 1);

    if (s->round.purpose != PURPOSE_TRAIN)
        return true;
    for (size_t i = 0; i < floats; i++) {
        if (!isfinite(s->head.gradient[i]))
            return false;
    }
    return isfinite(loss);
}

void server_session_work(struct server_session *s)
{
    uint64_t start = s->setup.clock_us(), combined;
    double loss;

    s->work_status = secagg_combine(s->sum, s->head.fused, s->plan.model.embedding, &s->error);
    combined = s->setup.clock_us();
    spans_add(&s->spans, SPAN_COMBINE, combined - start);
    if (s->work_status != STATUS_OK)
        return;
    take_targets(s);
    if (s->round.purpose == PURPOSE_TRAIN)
        loss = server_head_train(&s->head, &s->plan, s->round.place, s->round.rows);
    else
        loss = server_head_evaluate(&s->head, s->round.rows);
    if (!learns(s, loss)) {
        s->work_status = error_set(&s->error, STATUS_DATA,
                                   "training diverged in step %llu: try a smaller learning_rate",
                                   (unsigned long long)s->round.place);
        return;
    }
    server_score_batch(s, loss);
    spans_add(&s->spans, SPAN_HEAD, s->setup.clock_us() - combined);
}

void server_round_done(struct server_session *s, uint64_t now_us, struct actions *a)
{
    if (s->work_status == STATUS_DATA) {
        server_fail(s, a);
        return;
    }
    if (s->work_status != STATUS_OK) {
        s->report.integrity_failures++;
        s->integrity_in_a_row++;
        log_warn("round %llu: %s", (unsigned long long)s->round.number, s->error.text);
        server_round_void(s);
        if (s->integrity_in_a_row >= INTEGRITY_FAILURES_MAX) {
            error_wrap(&s->error, "%d rounds in vain", INTEGRITY_FAILURES_MAX);
            server_fail(s, a);
            return;
        }
        server_set_changed(s, a);
        return;
    }
    s->integrity_in_a_row = 0;
    for (uint32_t m = 0; m < s->members_n; m++)
        s->peer[s->members[m]].losses = 0;
    if (s->round.purpose == PURPOSE_TRAIN) {
        s->report.rounds++;
        s->close = (struct server_close){true, true, s->steps_done, round_values(s)};
        s->steps_done++;
        if (s->steps_done % s->agenda.rounds_per_epoch == 0 &&
            s->plan.protocol.straggler == STRAGGLER_DROP)
            server_round_late(s, a);
    } else if (s->swept) {
        server_sweep_done(s, a);
    }
    if (s->sm.phase == PHASE_ROUND)
        server_open_round(s, now_us, a);
}

void server_round_void(struct server_session *s)
{
    s->report.void_rounds++;
}

/* An epoch has ended: whoever was excluded, or came back meanwhile, may
 * join a new generation now. */
void server_round_late(struct server_session *s, struct actions *a)
{
    bool somebody = false;

    for (size_t i = 0; i < s->setup.roster->n; i++) {
        somebody |= s->peer[i].present && s->peer[i].excluded && !s->peer[i].barred;
        s->peer[i].excluded = false;
    }
    if (somebody)
        server_offer(s, a);
}
