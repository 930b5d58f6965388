/* share.c -- SHARE and SUM: the two halves of a coded round.
 *
 * The happy path: broadcast -> M shares -> relay -> uploads, of which the first K + T decode.  What
 * passes through here is sealed from member to member: the server can delay or lose it, not read
 * it.  A member that is slow before it has shared is waited for; after that it is not needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/log.h"

static struct train_next open_round(struct server_train *s, struct actions *a,
                                    const struct server_task *task)
{
    server_shares_begin(s->shares);
    return server_ask_all(s, a, PHASE_SHARE, task, false);
}

bool server_decodes_without(const struct server_train *s)
{
    uint32_t uploads = s->fed->sm.phase == PHASE_SUM ? s->fed->set.answers : 0;

    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        const struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];
        if (p->member >= 0 && !(s->fed->sm.phase == PHASE_SUM && p->answered))
            uploads++;
    }
    return uploads >= secagg_quorum(s->sum.secagg);
}

/* Everybody has shared: a member that has left since is not needed any more, except for dealing. */
static struct train_next relay(struct server_train *s, struct actions *a)
{
    bool deals = purpose_of(s->round.task.purpose)->deals;

    if (!deals)
        sm_move(&s->fed->sm, PHASE_SUM, s->fed->set.generation);
    server_next_question(s->fed);
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        if (s->fed->peer[s->fed->set.member[m]].member >= 0)
            server_send_one(s->fed, a, s->fed->set.member[m], WIRE_RELAY)->msg.relay =
                server_shares_for(s->shares, &s->sum, &s->round.task, s->fed->set.generation, m);
    }
    if (deals) {
        server_dealt(&s->deal, &s->round.task);
        return train_next(TRAIN_ROUND);
    }
    server_arm_phase(s->fed, a, false);
    return train_say(NEXT_WAIT);
}

static struct train_next share(struct server_train *s, struct actions *a, uint32_t peer,
                               const struct wire_shares *w)
{
    const struct server_task *task = &s->round.task;
    const uint32_t member = (uint32_t)s->fed->peer[peer].member;
    const size_t sealed = server_shares_due(&s->sum, task, member),
                 tags = server_shares_tags(&s->sum);
    bool all;

    if (w->round != task->number || w->purpose != task->purpose || w->sealed.n != sealed ||
        w->tags.n != tags) {
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: shares of %zu + %zu bytes for round %llu where %zu + %zu for round %llu "
                  "were due",
                  server_name(s->fed, peer), w->sealed.n, w->tags.n, (unsigned long long)w->round,
                  sealed, tags, (unsigned long long)task->number);
        return train_drop(peer);
    }
    server_shares_take(s->shares, &s->sum, task, member, w);
    all = server_answered(s->fed, peer);
    server_note_answer(&s->round, s->fed->now_us, all, &s->report.shares, peer);
    return all ? relay(s, a) : train_say(NEXT_WAIT);
}

/* --- uploads --- */

static struct train_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u)
{
    struct train_next next = server_add_upload(s, peer, u);
    bool all, decodes;

    if (next.said.kind != NEXT_WAIT)
        return next;
    all = server_answered(s->fed, peer);
    decodes = s->fed->set.answers == secagg_quorum(s->sum.secagg);
    server_note_answer(&s->round, s->fed->now_us, decodes, &s->report.uploads, peer);
    if (all)
        return train_next(TRAIN_SUM);
    if (decodes) /* what else has come by now is a surplus to check it by */
        server_arm(a, 0);
    return train_say(NEXT_WAIT);
}

/* An upload that its round did not wait for still tells whether that round's sum was right. */
static struct train_next late_upload(struct server_train *s, uint32_t peer,
                                     const struct wire_upload *u)
{
    uint32_t member = (uint32_t)s->fed->peer[peer].member;
    enum status st;

    if (u->round != s->sum.combined_round)
        return train_say(NEXT_WAIT);
    st = secagg_late(s->sum.secagg, member, u->payload.data, u->payload.n, &s->fed->error);
    if (st == STATUS_OK)
        return train_say(NEXT_WAIT);
    if (st != STATUS_INTEGRITY) {
        error_wrap(&s->fed->error, "%s: late upload", server_name(s->fed, peer));
        return train_drop(peer);
    }
    s->report.integrity_failures++;
    s->report.degraded.faulty++;
    log_warn("round %llu, which has closed: %s: %s", (unsigned long long)u->round,
             server_name(s->fed, peer), s->fed->error.text);
    return train_say(NEXT_WAIT);
}

/* --- without somebody --- */

static struct train_next settle(struct server_train *s, struct actions *a)
{
    if (!server_all_answered(s->fed))
        return train_say(NEXT_WAIT);
    if (s->fed->sm.phase == PHASE_SHARE)
        return relay(s, a);
    return s->fed->set.answers > 0 ? train_next(TRAIN_SUM)
                                   : train_say(NEXT_SET); /* or nobody is left */
}

/* What came in the same moment is in. */
static struct train_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    (void)a;
    (void)may_leave;
    if (phase_row(s->fed->sm.phase)->quorum[0] == QUORUM_DECODES &&
        s->fed->set.answers >= secagg_quorum(s->sum.secagg))
        return train_next(TRAIN_SUM);
    return train_say(NEXT_LATE);
}

const struct server_mode server_coded = {
    .open = open_round,
    .share = share,
    .upload = upload,
    .settle = settle,
    .out_of_time = out_of_time,
    .late_upload = late_upload,
    .work = server_sum_work,
    .done = server_sum_done,
};
