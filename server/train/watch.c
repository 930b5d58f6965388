/* watch.c -- what the server sees and says, to whoever watches (transcript.h).
 *
 * An upload that comes late belongs to a round that is over: the last few asks are kept, which say
 * how it is opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/watch.h"

#include "common/base/mem.h"
#include "common/config/aggregation.h"

enum { ASKS_KEPT = 64 }; /* rounds that a late upload is opened for */

struct server_asked {
    struct server_task task;
    uint64_t generation;
};

static bool anybody(const struct server_watcher *w)
{
    return w->told->ask != NULL;
}

enum status server_watch_new(struct server_watcher *w, const struct server_watch *told,
                             struct server_sum *sum)
{
    w->told = told;
    w->sum = sum;
    if (!anybody(w) || !aggregation_of(sum->plan)->plaintext)
        return STATUS_OK;
    w->ask = mem_alloc(ASKS_KEPT, sizeof *w->ask);
    w->upload = mem_alloc(sum->shape.values_max, sizeof *w->upload);
    return w->ask == NULL || w->upload == NULL ? STATUS_MEMORY : STATUS_OK;
}

void server_watch_free(struct server_watcher *w)
{
    mem_free(w->ask);
    mem_free(w->upload);
}

enum status server_watch_ask(struct server_watcher *w, const struct server_task *task,
                             uint64_t generation, int party, struct error *err)
{
    const struct transcript_ask a = {
        .round = task->number,
        .generation = generation,
        .purpose = task->purpose,
        .party = party,
        .place = task->place,
        .sweep = task->sweep,
        .rows = task->rows,
        .row = task->row,
    };

    if (!anybody(w) || purpose_of(task->purpose)->deals)
        return STATUS_OK;
    if (w->ask != NULL)
        w->ask[a.round % ASKS_KEPT] = (struct server_asked){*task, generation};
    return w->told->ask(w->told->owner, &a, err);
}

enum status server_watch_values(struct server_watcher *w, uint32_t peer, uint64_t round,
                                const float *x, size_t n, struct error *err)
{
    const struct transcript_upload u = {round, peer, false, x, n};

    return w->ask != NULL ? w->told->upload(w->told->owner, &u, err) : STATUS_OK;
}

/* As many values as `a` asked for, into w->upload. */
static bool open_upload(struct server_watcher *w, const struct server_federation *f, uint32_t peer,
                        const struct wire_upload *u, const struct server_asked *a)
{
    struct error why = {0};

    if (a->task.number != u->round || a->task.purpose != u->purpose ||
        u->payload.n != server_sum_payload(w->sum, a->task.real))
        return false;
    /* Whose dither it is goes by the members of its generation. */
    if (plan_compresses(w->sum->plan) && a->generation != f->set.generation)
        return false;
    return server_sum_open(w->sum, w->upload, &a->task, u, (uint32_t)f->peer[peer].member, &why) ==
           STATUS_OK;
}

enum status server_watch_upload(struct server_watcher *w, const struct server_federation *f,
                                uint32_t peer, const struct wire_upload *u, bool late,
                                struct error *err)
{
    const struct server_asked *a;
    struct transcript_upload seen = {.round = u->round, .party = peer, .late = late};

    if (w->ask == NULL)
        return STATUS_OK;
    a = &w->ask[u->round % ASKS_KEPT];
    if (open_upload(w, f, peer, u, a)) {
        seen.values = w->upload;
        seen.n = a->task.real;
    }
    return w->told->upload(w->told->owner, &seen, err);
}

enum status server_watch_sum(struct server_watcher *w, const struct server_head *h,
                             const struct server_task *task, uint32_t blocks, struct error *err)
{
    const bool goes_down = purpose_of(task->purpose)->trains && h->down.with_gradient;
    const struct transcript_sum m = {
        .round = task->number,
        .sum = h->fused,
        .sum_n = (size_t)task->rows * h->top.inputs,
        .gradient = h->values,
        .gradient_n = goes_down ? gradient_values(&h->down.gradient, task->rows) * blocks : 0,
    };

    return anybody(w) ? w->told->sum(w->told->owner, &m, err) : STATUS_OK;
}

enum status server_watch_again(struct server_watcher *w, uint32_t peer, uint64_t step,
                               uint64_t steps, struct error *err)
{
    const struct transcript_again g = {peer, step, steps};

    return anybody(w) ? w->told->again(w->told->owner, &g, err) : STATUS_OK;
}

enum status server_watch_arrival(struct server_watcher *w, uint32_t peer, const struct wire_msg *m,
                                 uint64_t after_us, struct error *err)
{
    const bool upload = m->kind == WIRE_UPLOAD;
    const struct transcript_arrival r = {
        .round = upload ? m->upload.round : m->share.round,
        .party = peer,
        .bytes =
            upload ? m->upload.payload.n + m->upload.check.n : m->share.sealed.n + m->share.tags.n,
        .us = after_us,
    };

    if (!anybody(w) || (!upload && m->kind != WIRE_SHARE))
        return STATUS_OK;
    return w->told->arrival(w->told->owner, &r, err);
}

void server_watch_end(struct server_watcher *w, enum wire_outcome outcome, int exit_code)
{
    const struct transcript_end e = {outcome, exit_code};
    struct error why = {0}; /* the run is over, with its own reason */

    if (anybody(w))
        (void)!w->told->end(w->told->owner, &e, &why);
}
