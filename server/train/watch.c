/* watch.c -- what the server sees and says, to whoever watches (transcript.h).
 *
 * An upload that comes late belongs to a round that is over: the last few asks are kept, which say
 * how it is opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/mem.h"
#include "common/config/aggregation.h"

struct asked {
    uint64_t round, generation, place, sweep;
    enum wire_purpose purpose;
    size_t values;
};

struct server_watched {
    struct asked ask[SERVER_ASKS_KEPT]; /* by round */
    float *upload;
};

static bool anybody(const struct server_train *s)
{
    return s->setup.watch.ask != NULL;
}

enum status server_watch_new(struct server_train *s)
{
    if (!anybody(s) || !aggregation_of(&s->plan)->plaintext)
        return STATUS_OK;
    s->watched = mem_alloc(1, sizeof *s->watched);
    if (s->watched == NULL)
        return STATUS_MEMORY;
    s->watched->upload = mem_alloc(s->round.sum.shape.values_max, sizeof *s->watched->upload);
    return s->watched->upload == NULL ? STATUS_MEMORY : STATUS_OK;
}

void server_watch_free(struct server_train *s)
{
    if (s->watched != NULL)
        mem_free(s->watched->upload);
    mem_free(s->watched);
}

enum status server_watch_ask(struct server_train *s, int party)
{
    const struct transcript_ask a = {
        .round = s->round.number,
        .generation = s->fed->set.generation,
        .purpose = s->round.purpose,
        .party = party,
        .place = s->round.place,
        .sweep = s->round.sweep,
        .rows = s->round.rows,
        .row = s->round.row,
    };

    if (!anybody(s) || purpose_of(a.purpose)->deals)
        return STATUS_OK;
    if (s->watched != NULL)
        s->watched->ask[a.round % SERVER_ASKS_KEPT] = (struct asked){
            a.round, a.generation, a.place, a.sweep, a.purpose, server_real_values(s)};
    return s->setup.watch.ask(s->setup.watch.owner, &a, &s->fed->error);
}

enum status server_watch_values(struct server_train *s, uint32_t peer, uint64_t round,
                                const float *x, size_t n)
{
    const struct transcript_upload u = {round, peer, false, x, n};

    if (s->watched == NULL)
        return STATUS_OK;
    return s->setup.watch.upload(s->setup.watch.owner, &u, &s->fed->error);
}

/* As many values as `a` asked for, into watched->upload. */
static bool open_upload(struct server_train *s, uint32_t peer, const struct wire_upload *u,
                        const struct asked *a)
{
    const size_t bytes =
        secagg_payload_bytes(s->plan.protocol.aggregation, &s->round.sum.shape, a->values);
    uint8_t dither[WIRE_DIGEST_BYTES];
    struct error why = {0};

    if (a->round != u->round || a->purpose != u->purpose || u->payload.n != bytes)
        return false;
    /* Whose dither it is goes by the members of its generation. */
    if (plan_compresses(&s->plan) && a->generation != s->fed->set.generation)
        return false;
    dither_make(dither, &s->trainer.digest, &s->plan, a->purpose, a->place, a->sweep);
    return secagg_open(&s->round.sum.shape, s->watched->upload, u->payload.data, a->values,
                       (uint32_t)s->fed->peer[peer].member,
                       plan_compresses(&s->plan) ? dither : NULL, &why) == STATUS_OK;
}

enum status server_watch_upload(struct server_train *s, uint32_t peer, const struct wire_upload *u,
                                bool late)
{
    const struct asked *a;
    struct transcript_upload seen = {.round = u->round, .party = peer, .late = late};

    if (s->watched == NULL)
        return STATUS_OK;
    a = &s->watched->ask[u->round % SERVER_ASKS_KEPT];
    if (open_upload(s, peer, u, a)) {
        seen.values = s->watched->upload;
        seen.n = a->values;
    }
    return s->setup.watch.upload(s->setup.watch.owner, &seen, &s->fed->error);
}

enum status server_watch_sum(struct server_train *s, uint64_t round, uint32_t blocks)
{
    const bool goes_down =
        purpose_of(s->round.purpose)->trains && s->trainer.head.down.with_gradient;
    const struct transcript_sum m = {
        .round = round,
        .sum = s->trainer.head.fused,
        .sum_n = (size_t)s->round.rows * s->trainer.head.top.inputs,
        .gradient = s->trainer.head.values,
        .gradient_n =
            goes_down ? gradient_values(&s->trainer.head.down.gradient, s->round.rows) * blocks : 0,
    };

    if (!anybody(s))
        return STATUS_OK;
    return s->setup.watch.sum(s->setup.watch.owner, &m, &s->fed->error);
}

enum status server_watch_again(struct server_train *s, uint32_t peer, uint64_t step, uint64_t steps)
{
    const struct transcript_again g = {peer, step, steps};

    return anybody(s) ? s->setup.watch.again(s->setup.watch.owner, &g, &s->fed->error) : STATUS_OK;
}

enum status server_watch_arrival(struct server_train *s, uint32_t peer, const struct wire_msg *m)
{
    const bool upload = m->kind == WIRE_UPLOAD;
    const struct transcript_arrival r = {
        .round = upload ? m->upload.round : m->share.round,
        .party = peer,
        .bytes =
            upload ? m->upload.payload.n + m->upload.check.n : m->share.sealed.n + m->share.tags.n,
        .us = s->fed->now_us - s->round.opened_us,
    };

    if (!anybody(s) || (!upload && m->kind != WIRE_SHARE))
        return STATUS_OK;
    return s->setup.watch.arrival(s->setup.watch.owner, &r, &s->fed->error);
}

void server_watch_end(struct server_train *s, enum wire_outcome outcome)
{
    const struct transcript_end e = {outcome, status_exit_code(s->fed->error.status)};
    struct error why = {0}; /* the run is over, with its own reason */

    if (anybody(s))
        (void)!s->setup.watch.end(s->setup.watch.owner, &e, &why);
}
