/* watch.c -- what the server sees and says, to whoever watches (transcript.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/mem.h"

enum status server_watch_new(struct server_session *s)
{
    if (s->setup.watch.upload == NULL || s->plan.protocol.aggregation != AGGREGATION_CLEAR)
        return STATUS_OK;
    s->watched = mem_alloc(s->shape.values_max, sizeof *s->watched);
    return s->watched == NULL ? STATUS_MEMORY : STATUS_OK;
}

void server_watch_free(struct server_session *s)
{
    mem_free(s->watched);
}

enum status server_watch_values(struct server_session *s, uint32_t peer, const float *x, size_t n)
{
    const struct transcript_upload u = {s->round.number, peer, x, n};

    if (s->watched == NULL)
        return STATUS_OK;
    return s->setup.watch.upload(s->setup.watch.owner, &u, &s->error);
}

enum status server_watch_upload(struct server_session *s, uint32_t peer,
                                const struct wire_upload *u)
{
    const size_t n = server_round_values(s);
    enum status st;

    if (s->watched == NULL)
        return STATUS_OK;
    st = secagg_open(&s->shape, s->watched, u->payload.data, n, (uint32_t)s->peer[peer].member,
                     plan_compresses(&s->plan) ? s->dither : NULL, &s->error);
    return st == STATUS_OK ? server_watch_values(s, peer, s->watched, n) : st;
}

enum status server_watch_round(struct server_session *s, uint32_t blocks)
{
    const bool goes_down = s->round.purpose == PURPOSE_TRAIN && s->head.down.with_gradient;
    const struct transcript_round r = {
        .round = s->round.number,
        .generation = s->generation,
        .place = s->round.place,
        .sweep = s->round.sweep,
        .purpose = s->round.purpose,
        .rows = s->round.rows,
        .row = s->round.row,
        .sum = s->head.fused,
        .sum_n = (size_t)s->round.rows * s->head.top.inputs,
        .gradient = s->head.values,
        .gradient_n =
            goes_down ? gradient_values(&s->head.down.gradient, s->round.rows) * blocks : 0,
    };

    if (s->setup.watch.round == NULL)
        return STATUS_OK;
    return s->setup.watch.round(s->setup.watch.owner, &r, &s->error);
}
