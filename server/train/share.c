/* share.c -- SHARE and SUM: the two halves of a coded round.
 *
 * The happy path: broadcast -> M shares -> relay -> uploads, of which the first K + T decode.  What
 * passes through here is sealed from member to member: the server can delay or lose it, not read
 * it.  A member that is slow before it has shared is waited for; after that it is not needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <string.h>

struct server_shares {
    size_t share_max, relay_max,
        tags_max;          /* bytes from, and for, one member in the largest round */
    uint8_t *relay, *tags; /* for member m: at m relay_max and m tags_max */
    uint32_t in;
};

size_t server_share_max(const struct server_train *s)
{
    const struct server_shares *h = s->round.shares;

    if (h == NULL)
        return 0;
    return wire_share_max(h->share_max > h->relay_max ? h->share_max : h->relay_max, h->tags_max);
}

enum status server_shares_new(struct server_train *s)
{
    if (!secagg_shares(s->plan.protocol.aggregation))
        return STATUS_OK;
    s->round.shares = mem_alloc(1, sizeof *s->round.shares);
    return s->round.shares == NULL ? STATUS_MEMORY : server_shares_size(s);
}

static void free_room(struct server_shares *h)
{
    mem_free(h->relay);
    mem_free(h->tags);
    *h = (struct server_shares){0};
}

/* The largest of all members and parts. */
static void measure(const struct server_train *s, struct server_shares *h)
{
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    const size_t n[SECAGG_PARTS] = {[SECAGG_PART_ROUND] = s->round.sum.shape.values_max,
                                    [SECAGG_PART_DATA] = s->round.deal.chunks.chunk_rows};

    for (int part = 0; part < SECAGG_PARTS; part++) {
        for (uint32_t m = 0; m < s->round.sum.shape.parties; m++) {
            size_t up = secagg_share_bytes(agg, &s->round.sum.shape, (enum secagg_part)part, m,
                                           n[part]),
                   down = secagg_relay_bytes(agg, &s->round.sum.shape, (enum secagg_part)part, m,
                                             n[part]);
            h->share_max = up > h->share_max ? up : h->share_max;
            h->relay_max = down > h->relay_max ? down : h->relay_max;
        }
    }
    h->tags_max = secagg_tag_bytes(agg, &s->round.sum.shape);
}

enum status server_shares_size(struct server_train *s)
{
    struct server_shares *h = s->round.shares, need = {0};
    size_t members = s->plan.shape.parties;

    measure(s, &need);
    if (need.share_max > WIRE_SHARES_MAX || need.relay_max > WIRE_SHARES_MAX)
        return error_set(&s->fed->error, STATUS_CONFIG,
                         "shares of %zu bytes among these parties, more than a message holds (%d)",
                         need.share_max > need.relay_max ? need.share_max : need.relay_max,
                         WIRE_SHARES_MAX);
    if (h->relay != NULL && need.share_max <= h->share_max && need.relay_max <= h->relay_max &&
        need.tags_max <= h->tags_max)
        return STATUS_OK;
    free_room(h);
    *h = need;
    h->relay = mem_alloc(members, need.relay_max + 1);
    h->tags = mem_alloc(members, need.tags_max + 1);
    if (h->relay != NULL && h->tags != NULL)
        return STATUS_OK;
    return error_set(&s->fed->error, STATUS_MEMORY, "no memory for the shares of %zu parties",
                     members);
}

void server_shares_free(struct server_train *s)
{
    if (s->round.shares == NULL)
        return;
    free_room(s->round.shares);
    mem_free(s->round.shares);
}

static struct server_next open_round(struct server_train *s, struct actions *a)
{
    s->round.shares->in = 0;
    return server_ask_all(s, a, PHASE_SHARE);
}

bool server_decodes_without(const struct server_train *s)
{
    uint32_t uploads = s->fed->sm.phase == PHASE_SUM ? s->fed->set.answers : 0;

    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        const struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];
        if (p->member >= 0 && !(s->fed->sm.phase == PHASE_SUM && p->answered))
            uploads++;
    }
    return uploads >= secagg_quorum(s->round.sum.secagg);
}

/* Shares are waited for, and so is said for whom. */
static void note_share(struct server_train *s, uint32_t peer, bool last)
{
    if (last) {
        s->report.slowest_shares[peer]++;
        s->report.share_wait_us[peer] += s->fed->now_us - s->round.last_answer_us;
    }
    s->round.last_answer_us = s->fed->now_us;
}

/* Each part of a member's share to its place in the relay of the member that it is for. */
static void sort(struct server_train *s, uint32_t from, const struct wire_shares *w)
{
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    struct server_shares *h = s->round.shares;
    enum secagg_part part = dealing_part(s->round.purpose);
    const uint8_t *sealed = w->sealed.data, *tag = w->tags.data;
    size_t n = server_round_values(s), before = 0,
           each = secagg_part_bytes(agg, &s->round.sum.shape, part, from, n);

    for (uint32_t m = 0; m < from; m++)
        before += secagg_part_bytes(agg, &s->round.sum.shape, part, m, n);
    for (uint32_t to = 0; to < s->fed->set.n; to++) {
        /* Its own part is not in its relay. */
        size_t own = to < from ? secagg_part_bytes(agg, &s->round.sum.shape, part, to, n) : 0,
               place = to < from ? from - 1 : from;
        if (to == from)
            continue;
        if (each > 0) { /* of a round of keys, a member may deal none */
            memcpy(h->relay + to * h->relay_max + before - own, sealed, each);
            sealed += each;
        }
        memcpy(h->tags + to * h->tags_max + place * WIRE_TAG_BYTES, tag, WIRE_TAG_BYTES);
        tag += WIRE_TAG_BYTES;
    }
}

/* What passes on to member `to`: the shares of all others, in member order. */
static struct wire_shares relay_for(const struct server_train *s, uint32_t to)
{
    const struct server_shares *h = s->round.shares;
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    size_t n = server_round_values(s);

    return (struct wire_shares){
        .generation = s->fed->set.generation,
        .round = s->round.number,
        .purpose = s->round.purpose,
        .sealed = {h->relay + to * h->relay_max,
                   secagg_relay_bytes(agg, &s->round.sum.shape, dealing_part(s->round.purpose), to,
                                      n)},
        .tags = {h->tags + to * h->tags_max, secagg_tag_bytes(agg, &s->round.sum.shape)},
    };
}

/* Everybody has shared: a member that has left since is not needed any more, except for dealing. */
static struct server_next relay(struct server_train *s, struct actions *a)
{
    bool deals = purpose_of(s->round.purpose)->deals;

    CHECK(s->round.shares->in == s->fed->set.n);
    if (!deals)
        sm_move(&s->fed->sm, PHASE_SUM, s->fed->set.generation);
    server_next_question(s->fed);
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        if (s->fed->peer[s->fed->set.member[m]].member >= 0)
            server_send_one(s->fed, a, s->fed->set.member[m], WIRE_RELAY)->msg.relay =
                relay_for(s, m);
    }
    if (deals) {
        server_dealt(s);
        return next_of(NEXT_ROUND);
    }
    server_arm_phase(s->fed, a, false);
    return next_of(NEXT_WAIT);
}

static struct server_next share(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_shares *w)
{
    enum plan_aggregation agg = s->plan.protocol.aggregation;
    size_t member = (size_t)s->fed->peer[peer].member;
    bool all;
    size_t sealed = secagg_share_bytes(agg, &s->round.sum.shape, dealing_part(s->round.purpose),
                                       (uint32_t)member, server_round_values(s)),
           tags = secagg_tag_bytes(agg, &s->round.sum.shape);

    if (w->round != s->round.number || w->purpose != s->round.purpose || w->sealed.n != sealed ||
        w->tags.n != tags) {
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: shares of %zu + %zu bytes for round %llu where %zu + %zu for round %llu "
                  "were due",
                  server_name(s->fed, peer), w->sealed.n, w->tags.n, (unsigned long long)w->round,
                  sealed, tags, (unsigned long long)s->round.number);
        return next_of_peer(NEXT_DROP, peer);
    }
    sort(s, (uint32_t)member, w);
    s->round.shares->in++;
    all = server_answered(s->fed, peer);
    note_share(s, peer, all);
    return all ? relay(s, a) : next_of(NEXT_WAIT);
}

/* --- uploads --- */

static struct server_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u)
{
    struct server_next next = server_add_upload(s, peer, u);
    bool all, decodes;

    if (next.kind != NEXT_WAIT)
        return next;
    all = server_answered(s->fed, peer);
    decodes = s->fed->set.answers == secagg_quorum(s->round.sum.secagg);
    server_note_arrival(s, peer, decodes);
    if (all)
        return next_of(NEXT_SUM);
    if (decodes) /* what else has come by now is a surplus to check it by */
        server_arm(a, 0);
    return next_of(NEXT_WAIT);
}

static bool takes_late(const struct server_train *s)
{
    (void)s;
    return true;
}

/* An upload that its round did not wait for still tells whether that round's sum was right. */
static struct server_next late_upload(struct server_train *s, uint32_t peer,
                                      const struct wire_upload *u)
{
    uint32_t member = (uint32_t)s->fed->peer[peer].member;
    enum status st;

    if (u->round != s->round.sum.combined_round)
        return next_of(NEXT_WAIT);
    st = secagg_late(s->round.sum.secagg, member, u->payload.data, u->payload.n, &s->fed->error);
    if (st == STATUS_OK)
        return next_of(NEXT_WAIT);
    if (st != STATUS_INTEGRITY) {
        error_wrap(&s->fed->error, "%s: late upload", server_name(s->fed, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    s->report.integrity_failures++;
    s->report.degraded.faulty++;
    log_warn("round %llu, which has closed: %s: %s", (unsigned long long)u->round,
             server_name(s->fed, peer), s->fed->error.text);
    return next_of(NEXT_WAIT);
}

/* --- without somebody --- */

static struct server_next settle(struct server_train *s, struct actions *a)
{
    if (!server_all_answered(s->fed))
        return next_of(NEXT_WAIT);
    if (s->fed->sm.phase == PHASE_SHARE)
        return relay(s, a);
    return next_of(s->fed->set.answers > 0 ? NEXT_SUM : NEXT_SET); /* or nobody is left */
}

/* What came in the same moment is in. */
static struct server_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    (void)a;
    (void)may_leave;
    return next_of(phase_row(s->fed->sm.phase)->quorum[0] == QUORUM_DECODES &&
                           s->fed->set.answers >= secagg_quorum(s->round.sum.secagg)
                       ? NEXT_SUM
                       : NEXT_LATE);
}

const struct server_mode server_coded = {
    .open = open_round,
    .share = share,
    .upload = upload,
    .settle = settle,
    .out_of_time = out_of_time,
    .takes_late = takes_late,
    .late_upload = late_upload,
    .work = server_work,
    .done = server_sum_done,
};
