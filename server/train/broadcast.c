/* broadcast.c -- what goes down: the last gradient, once to each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/broadcast.h"

#include "server/members.h"

/* But for the gradient, which may differ from member to member. */
struct wire_broadcast server_broadcast_of(const struct server_trainer *t, uint64_t generation,
                                          uint64_t number)
{
    const struct server_close *c = &t->close;
    struct wire_broadcast b = {
        .generation = generation, .round = number, .best = server_trainer_best(t)};

    if (c->fresh) {
        b.closes = true;
        b.close_step = c->step;
        b.gradient =
            (struct wire_bytes){(const uint8_t *)t->head.blob, c->words * sizeof *t->head.blob};
        b.absent = (struct wire_bytes){c->absent, c->absent_n};
    }
    return b;
}

void server_send_broadcast(struct server_federation *f, struct actions *a, struct server_trainer *t,
                           const struct wire_broadcast *b)
{
    t->close.fresh = false;
    if (!t->head.apart || !b->closes) {
        server_send_members(f, a, WIRE_BROADCAST)->msg.broadcast = *b;
        return;
    }
    for (uint32_t m = 0; m < f->set.n; m++) {
        struct action *send;

        if (f->peer[f->set.member[m]].member < 0)
            continue;
        send = server_send_one(f, a, f->set.member[m], WIRE_BROADCAST);
        send->msg.broadcast = *b;
        send->msg.broadcast.gradient.data =
            (const uint8_t *)(t->head.blob + f->set.member[m] * t->close.words);
    }
}

void server_flush_close(struct server_federation *f, struct actions *a, struct server_trainer *t,
                        uint64_t number)
{
    const struct wire_broadcast b = server_broadcast_of(t, f->set.generation, number);

    if (t->close.fresh)
        server_send_broadcast(f, a, t, &b);
}
