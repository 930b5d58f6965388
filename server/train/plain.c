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

#include <stdio.h>

enum { SPOILED_IN_A_ROW_MAX = 3 };

static void begin_sum(struct server_train *s)
{
    secagg_begin_padded(s->round.sum.secagg, server_round_values(s), server_real_values(s));
    if (!plan_compresses(&s->plan))
        return;
    dither_make(s->round.sum.dither, &s->trainer.digest, &s->plan, s->round.purpose, s->round.place,
                s->round.sweep);
    secagg_dither(s->round.sum.secagg, s->round.sum.dither);
}

struct server_next server_ask_all(struct server_train *s, struct actions *a, enum phase phase)
{
    const bool patient = phase == PHASE_ROUND &&
                         (!purpose_of(s->round.purpose)->trains && s->round.sum.shape.partial);
    struct wire_broadcast b;

    s->round.number++;
    s->round.opened_us = s->round.last_answer_us = s->fed->now_us;
    server_next_question(s->fed);
    if (!purpose_of(s->round.purpose)->deals)
        begin_sum(s);
    if (s->fed->sm.phase != phase)
        sm_move(&s->fed->sm, phase, s->fed->set.generation);
    if (server_watch_ask(s, -1) != STATUS_OK)
        return next_of(NEXT_FAIL);
    b = server_broadcast_of(s, true);
    server_send_broadcast(s, a, &b);
    s->trainer.close.fresh = false;
    server_arm_phase(s->fed, a, patient);
    return next_of(NEXT_WAIT);
}

static struct server_next open_round(struct server_train *s, struct actions *a)
{
    return server_ask_all(s, a, PHASE_ROUND);
}

/* --- uploads --- */

static bool upload_fits(struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    const char *name = server_name(s->fed, peer);
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    size_t payload = secagg_payload_bytes(agg, &s->round.sum.shape, server_round_values(s));

    if (u->round != s->round.number || u->purpose != s->round.purpose ||
        s->fed->sm.phase == PHASE_SHARE || s->fed->sm.phase == PHASE_CLOSE)
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: upload for round %llu (%s) while round %llu (%s) is open", name,
                  (unsigned long long)u->round, purpose_of(u->purpose)->name,
                  (unsigned long long)s->round.number, purpose_of(s->round.purpose)->name);
    else if (s->fed->peer[peer].answered)
        error_set(&s->fed->error, STATUS_PROTOCOL, "%s: second upload for round %llu", name,
                  (unsigned long long)u->round);
    else if (u->payload.n != payload || u->check.n != s->round.sum.check_bytes)
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: upload of %zu + %zu bytes where %zu + %zu were due", name, u->payload.n,
                  u->check.n, payload, s->round.sum.check_bytes);
    else
        return true;
    return false;
}

struct server_next server_add_upload(struct server_train *s, uint32_t peer,
                                     const struct wire_upload *u)
{
    enum status st;

    if (!upload_fits(s, peer, u))
        return next_of_peer(NEXT_DROP, peer);
    st = secagg_add(s->round.sum.secagg, (uint32_t)s->fed->peer[peer].member, u->payload.data,
                    u->check.data, &s->fed->error);
    if (st != STATUS_OK) {
        error_wrap(&s->fed->error, "%s: upload", server_name(s->fed, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (server_watch_upload(s, peer, u, false) != STATUS_OK)
        return next_of(NEXT_FAIL);
    s->member[peer].uploaded = u->round;
    return next_of(NEXT_WAIT);
}

static struct server_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u)
{
    struct server_next next = server_add_upload(s, peer, u);
    bool all;

    (void)a;
    if (next.kind != NEXT_WAIT)
        return next;
    all = server_answered(s->fed, peer);
    server_note_arrival(s, peer, all);
    return next_of(all ? NEXT_SUM : NEXT_WAIT);
}

/* --- without somebody --- */

static struct server_next settle(struct server_train *s, struct actions *a)
{
    (void)a;
    if (!server_all_answered(s->fed))
        return next_of(NEXT_WAIT);
    return next_of(s->fed->set.answers > 0 ? NEXT_SUM : NEXT_SET); /* or nobody is left */
}

/* A sum in clear ends a training round without the late, but a test needs all of its rows. */
static struct server_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    (void)a;
    if (may_leave && s->round.sum.shape.partial && purpose_of(s->round.purpose)->trains &&
        s->fed->set.answers > 0)
        return next_of(NEXT_SUM);
    return next_of(NEXT_LATE);
}

/* Of a round that did not wait for it. */
static bool takes_late(const struct server_train *s)
{
    return s->round.sum.shape.partial;
}

static struct server_next late_upload(struct server_train *s, uint32_t peer,
                                      const struct wire_upload *u)
{
    (void)s;
    (void)peer;
    (void)u;
    return next_of(NEXT_WAIT);
}

/* --- after the work --- */

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
static struct server_next integrity_failed(struct server_train *s)
{
    char members[256];

    s->report.integrity_failures++;
    s->round.sum.spoiled++;
    s->round.sum.spoiled_in_a_row++;
    log_warn("round %llu: %s", (unsigned long long)s->round.number, s->fed->error.text);
    s->report.void_rounds++;
    if (s->round.sum.spoiled_in_a_row >= SPOILED_IN_A_ROW_MAX ||
        s->round.sum.spoiled > WIRE_SPOILED_MAX + s->report.rounds / WIRE_SPOILED_ONE_IN) {
        name_members(s, members, sizeof members);
        error_wrap(&s->fed->error, "%u rounds in vain, %u of them in a row, by one of %s or more",
                   s->round.sum.spoiled, s->round.sum.spoiled_in_a_row, members);
        return next_of(NEXT_FAIL);
    }
    return next_of(NEXT_SET);
}

static void note_verdict(struct server_train *s)
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
        if (p->answered || s->fed->sm.phase != PHASE_ROUND) /* in clear it may have done without */
            p->losses = 0;
        if (server_waits(s->fed))
            s->member[peer].applied = s->trainer.steps_done; /* once the next broadcast is there */
    }
}

/* An epoch has ended: whoever was excluded, or came back meanwhile, may join a new generation now,
 * if the set it makes is large enough for it. */
static bool others_come_in(struct server_train *s, struct actions *a)
{
    if (!purpose_of(s->round.purpose)->trains || server_waits(s->fed) ||
        s->trainer.steps_done % agenda_epoch_steps(&s->trainer.agenda) != 0)
        return false;
    if (!server_let_in(s->fed))
        return false;
    server_flush_close(s, a);
    return true;
}

struct server_next server_sum_done(struct server_train *s, struct actions *a,
                                   const struct server_worked *w)
{
    if (w->status == STATUS_INTEGRITY)
        return integrity_failed(s);
    if (w->status != STATUS_OK)
        return next_of(NEXT_FAIL);
    s->round.sum.spoiled_in_a_row = 0;
    note_verdict(s);
    note_members(s);
    if (w->swept)
        actions_add(a, ACTION_REPORT);
    if (others_come_in(s, a))
        return next_of(NEXT_SET);
    return next_of(NEXT_ROUND);
}

const struct server_mode server_plain = {
    .open = open_round,
    .upload = upload,
    .settle = settle,
    .out_of_time = out_of_time,
    .takes_late = takes_late,
    .late_upload = late_upload,
    .work = server_work,
    .done = server_sum_done,
};
