/* broadcast.c -- what a round is of, and what goes down before it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

uint64_t server_round_values(const struct server_train *s)
{
    if (purpose_of(s->round.purpose)->deals)
        return s->round.coded;
    if (server_deals(s))
        return (uint64_t)s->round.coded * s->plan.protocol.fedvs.segments * s->plan.model.embedding;
    return server_real_values(s);
}

uint64_t server_real_values(const struct server_train *s)
{
    return (uint64_t)s->round.rows * s->plan.model.embedding;
}

/* But for the gradient, which may differ from member to member. */
struct wire_broadcast server_broadcast_of(const struct server_train *s, bool opens)
{
    struct wire_broadcast b = {
        .generation = s->fed->set.generation, .opens = opens, .round = s->round.number};

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

void server_send_broadcast(struct server_train *s, struct actions *a,
                           const struct wire_broadcast *b)
{
    if (!s->trainer.head.apart || !b->closes) {
        server_send_members(s->fed, a, WIRE_BROADCAST)->msg.broadcast = *b;
        return;
    }
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        struct action *send;

        if (s->fed->peer[s->fed->set.member[m]].member < 0)
            continue;
        send = server_send_one(s->fed, a, s->fed->set.member[m], WIRE_BROADCAST);
        send->msg.broadcast = *b;
        send->msg.broadcast.gradient.data =
            (const uint8_t *)(s->trainer.head.blob + m * s->trainer.close.words);
    }
}

void server_flush_close(struct server_train *s, struct actions *a)
{
    struct wire_broadcast b = server_broadcast_of(s, false);

    if (s->trainer.close.fresh)
        server_send_broadcast(s, a, &b);
    s->trainer.close.fresh = false;
}

void server_note_arrival(struct server_train *s, uint32_t peer, bool last)
{
    if (last) {
        s->report.slowest_rounds[peer]++;
        s->report.wait_us[peer] += s->fed->now_us - s->round.last_answer_us;
    }
    s->round.last_answer_us = s->fed->now_us;
}
