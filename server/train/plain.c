/* plain.c -- plain rounds: one broadcast ends a training step and opens the next round; every
 * member uploads once.
 *
 * The happy path: open -> M uploads -> work (combine, head) -> the next broadcast: one round trip a
 * round; under coded share.c stands between.  In clear under `drop` (the papers' Ignore) a round
 * completes with the uploads that came in time.  Late or repeated ones of an older generation are
 * counted and forgotten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/log.h"
#include "common/wire/limits.h"
#include "server/train/pace.h"

#include <stdio.h>

enum { SPOILED_IN_A_ROW_MAX = 3 };

static void note_opened(struct server_round *r, const struct server_task *task, uint64_t now_us)
{
    r->task = *task;
    r->task.number = ++r->number;
    r->opened_us = r->last_answer_us = now_us;
}

struct train_next server_ask_all(struct server_train *s, struct actions *a, enum phase phase,
                                 const struct server_task *task, bool patient)
{
    struct wire_broadcast b;

    note_opened(&s->round, task, s->fed->now_us);
    server_next_question(s->fed);
    if (!purpose_of(task->purpose)->deals)
        server_sum_begin(&s->sum, task);
    if (s->fed->sm.phase != phase)
        sm_move(&s->fed->sm, phase, s->fed->set.generation);
    if (server_watch_ask(&s->watcher, &s->round.task, s->fed->set.generation, -1, &s->fed->error) !=
        STATUS_OK)
        return train_say(NEXT_FAIL);
    b = server_broadcast_of(&s->trainer, s->fed->set.generation, s->round.number);
    b.opens = true;
    b.purpose = task->purpose;
    b.place = task->place;
    b.sweep = task->sweep;
    server_send_broadcast(s->fed, a, &s->trainer, &b);
    server_arm_phase(s->fed, a, patient);
    return train_say(NEXT_WAIT);
}

static struct train_next open_round(struct server_train *s, struct actions *a,
                                    const struct server_task *task)
{
    return server_ask_all(s, a, PHASE_ROUND, task, false);
}

/* A test needs all of its rows. */
static struct train_next open_partial(struct server_train *s, struct actions *a,
                                      const struct server_task *task)
{
    return server_ask_all(s, a, PHASE_ROUND, task, !purpose_of(task->purpose)->trains);
}

/* --- uploads --- */

static bool upload_fits(struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    const char *name = server_name(s->fed, peer);
    const size_t payload = server_sum_payload(&s->sum, s->round.task.values);

    if (u->round != s->round.number || u->purpose != s->round.task.purpose ||
        s->fed->sm.phase == PHASE_SHARE || s->fed->sm.phase == PHASE_CLOSE)
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: upload for round %llu (%s) while round %llu (%s) is open", name,
                  (unsigned long long)u->round, purpose_of(u->purpose)->name,
                  (unsigned long long)s->round.number, purpose_of(s->round.task.purpose)->name);
    else if (s->fed->peer[peer].answered)
        error_set(&s->fed->error, STATUS_PROTOCOL, "%s: second upload for round %llu", name,
                  (unsigned long long)u->round);
    else if (u->payload.n != payload || u->check.n != s->sum.check_bytes)
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: upload of %zu + %zu bytes where %zu + %zu were due", name, u->payload.n,
                  u->check.n, payload, s->sum.check_bytes);
    else
        return true;
    return false;
}

struct train_next server_add_upload(struct server_train *s, uint32_t peer,
                                    const struct wire_upload *u)
{
    enum status st;

    if (!upload_fits(s, peer, u))
        return train_drop(peer);
    st = secagg_add(s->sum.secagg, (uint32_t)s->fed->peer[peer].member, u->payload.data,
                    u->check.data, &s->fed->error);
    if (st != STATUS_OK) {
        error_wrap(&s->fed->error, "%s: upload", server_name(s->fed, peer));
        return train_drop(peer);
    }
    if (server_watch_upload(&s->watcher, s->fed, peer, u, false, &s->fed->error) != STATUS_OK)
        return train_say(NEXT_FAIL);
    s->member[peer].uploaded = u->round;
    return train_say(NEXT_WAIT);
}

void server_note_answer(struct server_round *r, uint64_t now_us, bool last,
                        struct server_waited *waited, uint32_t peer)
{
    if (last) {
        waited->times[peer]++;
        waited->us[peer] += now_us - r->last_answer_us;
    }
    r->last_answer_us = now_us;
}

static struct train_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u)
{
    struct train_next next = server_add_upload(s, peer, u);
    bool all;

    (void)a;
    if (next.said.kind != NEXT_WAIT)
        return next;
    all = server_answered(s->fed, peer);
    server_note_answer(&s->round, s->fed->now_us, all, &s->report.uploads, peer);
    return all ? train_next(TRAIN_SUM) : train_say(NEXT_WAIT);
}

/* --- without somebody --- */

static struct train_next settle(struct server_train *s, struct actions *a)
{
    (void)a;
    if (!server_all_answered(s->fed))
        return train_say(NEXT_WAIT);
    return s->fed->set.answers > 0 ? train_next(TRAIN_SUM)
                                   : train_say(NEXT_SET); /* or nobody is left */
}

static struct train_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    (void)s;
    (void)a;
    (void)may_leave;
    return train_say(NEXT_LATE);
}

static bool is_missing(const struct server_train *s, uint32_t peer)
{
    return s->fed->peer[peer].member >= 0 && !s->fed->peer[peer].answered;
}

/* Where more are late than may lie together, nobody has waited for one of them: each may be slow,
 * as often as it is. */
static void blame_the_late(struct server_train *s)
{
    const struct server_set *set = &s->fed->set;
    uint32_t late = 0;

    for (uint32_t m = 0; m < set->n; m++)
        late += is_missing(s, set->member[m]);
    for (uint32_t m = 0; m < set->n && late <= server_colluders(s->fed); m++) {
        const uint32_t peer = set->member[m];

        if (!is_missing(s, peer))
            continue;
        server_stalled(s->fed, peer);
        if (s->fed->peer[peer].barred)
            server_left_behind(s->fed, peer);
    }
}

/* A training round ends without the late. */
static struct train_next without_the_late(struct server_train *s, struct actions *a, bool may_leave)
{
    if (!may_leave || !purpose_of(s->round.task.purpose)->trains || s->fed->set.answers == 0)
        return out_of_time(s, a, may_leave);
    blame_the_late(s);
    return train_next(TRAIN_SUM);
}

/* It was counted, and nothing else comes of it. */
static struct train_next late_upload(struct server_train *s, uint32_t peer,
                                     const struct wire_upload *u)
{
    (void)s;
    (void)peer;
    (void)u;
    return train_say(NEXT_WAIT);
}

/* --- the work, and after it --- */

struct server_worked server_sum_work(struct server_train *s)
{
    struct server_worked w =
        server_work(&s->trainer, &s->sum, &s->report, &s->fed->set, &s->round.task);

    if (w.error.status == STATUS_OK)
        w.spoiled = server_watch_sum(&s->watcher, &s->trainer.head, &s->round.task,
                                     s->trainer.close.blocks, &w.error) != STATUS_OK;
    return w;
}

/* Nobody can tell whose upload it was: it is one of these. */
static void name_members(const struct server_train *s, char *out, size_t n)
{
    size_t used = 0;

    out[0] = 0;
    for (uint32_t m = 0; m < s->fed->set.n && used < n; m++) {
        int w = snprintf(out + used, n - used, "%s%s", m == 0 ? "" : ", ",
                         server_name(s->fed, s->fed->set.member[m]));
        used += w > 0 ? (size_t)w : 0;
    }
}

/* The sum was not what it should be.  Everybody pays for its repetition, so a member that spoils
 * some of them, even if never many in a row, must not have that for as long as it likes. */
static struct train_next integrity_failed(struct server_train *s)
{
    char members[256];

    s->report.integrity_failures++;
    s->sum.spoiled++;
    s->sum.spoiled_in_a_row++;
    log_warn("round %llu: %s", (unsigned long long)s->round.number, s->fed->error.text);
    s->report.void_rounds++;
    if (s->sum.spoiled_in_a_row >= SPOILED_IN_A_ROW_MAX ||
        s->sum.spoiled > WIRE_SPOILED_MAX + s->report.rounds / WIRE_SPOILED_ONE_IN) {
        name_members(s, members, sizeof members);
        error_wrap(&s->fed->error, "%u rounds in vain, %u of them in a row, by one of %s or more",
                   s->sum.spoiled, s->sum.spoiled_in_a_row, members);
        return train_say(NEXT_FAIL);
    }
    return train_say(NEXT_SET);
}

static void note_verdict(struct server_train *s)
{
    const uint8_t *faulty;
    size_t n;
    enum secagg_verdict v = secagg_verdict(s->sum.secagg, &faulty, &n);

    s->sum.combined_round = s->round.number;
    if (v == SECAGG_UNVERIFIED && s->report.degraded.unverified++ == 0)
        log_info("round %llu: unverified: only the %u uploads that decoding needs had come; said "
                 "once, counted from now on",
                 (unsigned long long)s->round.number, secagg_quorum(s->sum.secagg));
    if (v != SECAGG_LOCATED)
        return;
    s->report.integrity_failures++;
    s->report.degraded.faulty += n;
    for (size_t i = 0; i < n; i++)
        log_warn("round %llu: the upload of %s, or a share that it was dealt, is wrong; decoded "
                 "without it",
                 (unsigned long long)s->round.number,
                 server_name(s->fed, s->fed->set.member[faulty[i]]));
}

/* Whose applied steps and losses a round that has closed tells. */
static void note_members(struct server_train *s)
{
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        const uint32_t peer = s->fed->set.member[m];
        struct server_peer *p = &s->fed->peer[peer];

        if (p->member < 0)
            continue;
        if (p->answered ||
            s->fed->sm.phase != PHASE_ROUND) { /* in clear it may have done without */
            server_was_whole(s->fed, peer);
            if (purpose_of(s->round.task.purpose)->trains)
                server_was_in_time(s->fed, peer);
        }
        if (server_pace_of(s->trainer.plan)->in_step)
            s->member[peer].applied = s->trainer.steps_done; /* once the next broadcast is there */
    }
    if (purpose_of(s->round.task.purpose)->trains) {
        server_step_forward(s->fed);
        server_late_wishes_repaid(s->fed);
    }
}

/* An epoch has ended: whoever was excluded, or came back meanwhile, may join a new generation now,
 * if the set it makes is large enough for it. */
static bool others_come_in(struct server_train *s, struct actions *a)
{
    if (!purpose_of(s->round.task.purpose)->trains || !server_does_without(s->fed) ||
        s->trainer.steps_done % agenda_epoch_steps(&s->trainer.agenda) != 0)
        return false;
    if (!server_let_in(s->fed))
        return false;
    server_flush_close(s->fed, a, &s->trainer, s->round.number);
    return true;
}

struct train_next server_sum_done(struct server_train *s, struct actions *a,
                                  const struct server_worked *w)
{
    if (w->error.status == STATUS_INTEGRITY)
        return integrity_failed(s);
    if (w->error.status != STATUS_OK)
        return train_say(NEXT_FAIL);
    s->sum.spoiled_in_a_row = 0;
    note_verdict(s);
    note_members(s);
    if (w->swept)
        actions_add(a, ACTION_REPORT);
    if (others_come_in(s, a))
        return train_say(NEXT_SET);
    return train_next(TRAIN_ROUND);
}

const struct server_mode server_plain = {
    .open = open_round,
    .upload = upload,
    .settle = settle,
    .out_of_time = out_of_time,
    .work = server_sum_work,
    .done = server_sum_done,
};

const struct server_mode server_partial = {
    .partial = true,
    .open = open_partial,
    .upload = upload,
    .settle = settle,
    .out_of_time = without_the_late,
    .late_upload = late_upload,
    .work = server_sum_work,
    .done = server_sum_done,
};
