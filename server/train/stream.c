/* stream.c -- STREAM: straggler async (VAFL, Chen et al. 2020): a step at each arrival.
 *
 * The happy path, with each member on its own: broadcast -> upload -> work -> broadcast with the
 * gradient of that upload.  Each party walks the rows in an order of its own.  The server keeps the
 * latest embedding of every training row from every party; an arrival replaces its rows, and the
 * head takes a step on them with what it has of the others, however old.  An embedding that never
 * came counts as the mean of those that did: the sum over the seen times M / seen, and a
 * concatenation has zeros in its place, and the largest is one of the others'.
 *
 * M arrivals are one step of the agenda.  Before an evaluation, and where somebody waits to come
 * back, no member is asked on until all uploads under way are in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

struct lane {
    uint8_t peer; /* roster index: an address that a new generation does not move */
    struct schedule schedule;
    uint64_t steps;          /* taken */
    struct server_task task; /* of the last broadcast that asked for something */
    bool open;               /* an upload is awaited */
};

struct server_stream {
    uint32_t parties, train_rows;
    size_t width;      /* P */
    struct lane *lane; /* by roster index */
    float *kept;       /* parties x training rows x P */
    uint8_t *seen;     /* parties x training rows */
    float *arrived;    /* rows of the largest round x P */
    float *factor;     /* the same rows: M / seen */
    uint64_t arrivals;
    uint32_t peer; /* whose upload the work is on */
    bool draining;
};

enum status server_stream_new(struct server_stream **out, const struct plan *p, uint32_t values_max)
{
    const size_t parties = p->shape.parties, rows = p->shape.train_rows;
    struct server_stream *t;

    if (p->protocol.straggler != STRAGGLER_ASYNC)
        return STATUS_OK;
    t = *out = mem_alloc(1, sizeof *t);
    if (t == NULL)
        return STATUS_MEMORY;
    t->parties = p->shape.parties;
    t->train_rows = p->shape.train_rows;
    t->width = p->model.embedding;
    t->lane = mem_alloc(parties, sizeof *t->lane);
    t->kept = mem_alloc(parties * rows, t->width * sizeof *t->kept);
    t->seen = mem_alloc(parties, rows);
    t->arrived = mem_alloc(values_max, sizeof *t->arrived);
    t->factor = mem_alloc(p->training.batch, sizeof *t->factor);
    if (t->lane == NULL || t->kept == NULL || t->seen == NULL || t->arrived == NULL ||
        t->factor == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < parties; i++) {
        enum status st = schedule_init(&t->lane[i].schedule, agenda_seed(p, i), p->shape.train_rows,
                                       p->training.batch, p->protocol.fedvs.segments);
        if (st != STATUS_OK)
            return st;
        t->lane[i].peer = (uint8_t)i;
    }
    return STATUS_OK;
}

void server_stream_free(struct server_stream *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; t->lane != NULL && i < t->parties; i++)
        schedule_deinit(&t->lane[i].schedule);
    mem_free(t->lane);
    mem_free(t->kept);
    mem_free(t->seen);
    mem_free(t->arrived);
    mem_free(t->factor);
    mem_free(t);
}

uint64_t server_stream_arrivals(const struct server_stream *t)
{
    return t == NULL ? 0 : t->arrivals;
}

void server_stream_go_on(struct server_stream *t, uint64_t arrivals)
{
    if (t != NULL)
        t->arrivals = arrivals;
}

void server_stream_begin(struct server_train *s)
{
    s->stream->draining = false;
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        struct lane *lane = &s->stream->lane[s->fed->set.member[m]];
        lane->steps = s->member[s->fed->set.member[m]].applied;
        lane->open = false;
    }
    server_head_members(&s->trainer.head, s->stream->parties);
}

/* --- asking --- */

/* The next step of this party's own. */
static enum status open_lane(struct server_train *s, struct lane *lane)
{
    lane->task = server_task_step(s->trainer.plan, &lane->schedule, lane->steps, lane->steps);
    lane->task.number = ++s->round.number;
    return server_watch_ask(&s->watcher, &lane->task, s->fed->set.generation, lane->peer,
                            &s->fed->error);
}

static enum status ask(struct server_train *s, struct actions *a, uint32_t peer, bool closes)
{
    struct lane *lane = &s->stream->lane[peer];
    /* A server that was killed has forgotten arrivals, and a party no step of its own: it has an
     * end to them, whatever the run has done. */
    struct wire_broadcast b = {
        .generation = s->fed->set.generation,
        .opens = !s->stream->draining && lane->steps < s->trainer.agenda.party_steps,
    };

    if (closes) {
        size_t words = down_words(&s->trainer.head.down, lane->task.rows);
        const uint32_t *g = s->trainer.head.blob + (s->trainer.head.apart ? peer * words : 0);

        b.closes = true;
        b.close_step = lane->steps - 1;
        b.gradient = (struct wire_bytes){(const uint8_t *)g, words * sizeof *g};
    }
    if (b.opens) {
        if (open_lane(s, lane) != STATUS_OK)
            return s->fed->error.status;
        b.round = lane->task.number;
        b.purpose = lane->task.purpose;
        b.place = lane->task.place;
    }
    lane->open = b.opens;
    server_awaits(s->fed, peer, b.opens);
    if (b.opens || b.closes) {
        struct action *send = server_send_one(s->fed, a, peer, WIRE_BROADCAST);
        send->msg.broadcast = b;
        send->to = &lane->peer;
    }
    return STATUS_OK;
}

/* Nobody has been waited for as long as patience lasts. */
static void note_in_time(struct server_train *s)
{
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        if (s->fed->peer[s->fed->set.member[m]].member >= 0)
            server_was_in_time(s->fed, s->fed->set.member[m]);
    }
}

/* Everybody still there has answered: what the members were held back for can happen.  Or they have
 * no steps left, since a server that died forgot some: then those who sit out are needed now, and
 * with nobody here, whoever comes before patience ends. */
static struct train_next when_drained(struct server_train *s, struct actions *a)
{
    uint32_t there = 0;

    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        const struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];
        there += p->member >= 0;
        if (p->member >= 0 && s->stream->lane[s->fed->set.member[m]].open)
            return train_say(NEXT_WAIT);
    }
    if (there == 0)
        return train_say(NEXT_SET);
    if (!s->stream->draining && !server_may_come_in(s->fed))
        return train_say(NEXT_WAIT);
    if (s->stream->draining)
        note_in_time(s);
    if (server_let_in(s->fed)) {
        server_flush_close(s->fed, a, &s->trainer, s->round.number);
        return train_say(NEXT_SET);
    }
    /* A test is over whole sets. */
    return s->fed->set.left > 0 ? train_say(NEXT_SET) : train_next(TRAIN_ROUND);
}

/* Which steps are asked for is each member's own to say. */
static struct train_next open_stream(struct server_train *s, struct actions *a,
                                     const struct server_task *task)
{
    (void)task;
    sm_move(&s->fed->sm, PHASE_STREAM, s->fed->set.generation);
    server_next_question(s->fed); /* answers to it are not counted: each has its own */
    s->stream->draining = false;
    s->round.opened_us = s->round.last_answer_us = s->fed->now_us;
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        if (s->fed->peer[s->fed->set.member[m]].member < 0)
            continue;
        if (ask(s, a, s->fed->set.member[m], false) != STATUS_OK)
            return train_say(NEXT_FAIL);
    }
    server_arm(a, s->fed->terms.patience_ms);
    return when_drained(s, a);
}

/* Who has said nothing for so long sits out until an epoch begins; its embeddings serve on. */
static struct train_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    bool asked = false;

    if (!may_leave)
        return train_say(NEXT_LATE);
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];

        if (p->member < 0 || !s->stream->lane[s->fed->set.member[m]].open)
            continue;
        asked = true;
        s->stream->lane[s->fed->set.member[m]].open = false;
        s->member[s->fed->set.member[m]].owes = true;
        server_left_behind(s->fed, s->fed->set.member[m]);
        server_stalled(s->fed, s->fed->set.member[m]);
    }
    if (!asked) {
        error_set(
            &s->fed->error, STATUS_DATA,
            "every party here has taken all steps that its agenda has, the run only %llu: the "
            "server's state was lost or put back too often",
            (unsigned long long)s->trainer.steps_done);
        return train_say(NEXT_FAIL);
    }
    server_arm(a, s->fed->terms.patience_ms);
    return when_drained(s, a);
}

/* --- an arrival --- */

static bool upload_fits(struct server_train *s, const struct lane *lane,
                        const struct wire_upload *u)
{
    if (lane->open && u->round == lane->task.number && u->purpose == lane->task.purpose &&
        u->payload.n == server_sum_payload(&s->sum, lane->task.values) && u->check.n == 0)
        return true;
    error_set(&s->fed->error, STATUS_PROTOCOL, "%s: upload of %zu bytes for round %llu, not asked",
              server_name(s->fed, lane->peer), u->payload.n, (unsigned long long)u->round);
    return false;
}

static struct train_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u)
{
    struct server_stream *t = s->stream;
    struct lane *lane = &t->lane[peer];
    struct action *work;

    if (!upload_fits(s, lane, u))
        return train_drop(peer);
    if (server_sum_open(&s->sum, t->arrived, &lane->task, u, (uint32_t)s->fed->peer[peer].member,
                        &s->fed->error) != STATUS_OK) {
        error_wrap(&s->fed->error, "%s: upload", server_name(s->fed, peer));
        return train_drop(peer);
    }
    if (server_watch_values(&s->watcher, peer, u->round, t->arrived, lane->task.values,
                            &s->fed->error) != STATUS_OK)
        return train_say(NEXT_FAIL);
    lane->open = false;
    server_awaits(s->fed, peer, false);
    server_was_whole(s->fed, peer);
    t->peer = peer;
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops = nn_net_flops(&s->trainer.head.top.net.spec, lane->task.rows) +
                  2.0 * (double)lane->task.values * t->parties;
    return train_say(NEXT_WAIT);
}

static void keep_arrival(struct server_stream *t, const struct server_task *task)
{
    for (uint32_t r = 0; r < task->rows; r++) {
        size_t row = (size_t)t->peer * t->train_rows + task->row[r];
        memcpy(t->kept + row * t->width, t->arrived + r * t->width, t->width * sizeof *t->kept);
        t->seen[row] = 1;
    }
}

/* head.fused from the latest embeddings of the arrival's rows. */
static void gather_latest(struct server_stream *t, const struct server_task *task,
                          struct server_head *h, struct server_degraded *degraded)
{
    memset(h->fused, 0, task->rows * h->top.inputs * sizeof(float));
    for (uint32_t r = 0; r < task->rows; r++) {
        float *to = h->fused + (size_t)r * h->top.inputs;
        uint32_t seen = 0;

        for (uint32_t m = 0; m < t->parties; m++) {
            size_t row = (size_t)m * t->train_rows + task->row[r];
            float *part = to + (h->top.apart ? m * t->width : 0);

            if (!t->seen[row]) {
                for (size_t i = 0; h->top.max && i < t->width; i++)
                    part[i] = h->top.absent;
                continue;
            }
            seen++;
            for (size_t i = 0; i < t->width; i++)
                part[i] += t->kept[row * t->width + i];
        }
        t->factor[r] = h->top.apart ? 1 : (float)t->parties / (float)seen;
        for (size_t i = 0; i < t->width && !h->top.apart; i++)
            to[i] *= t->factor[r];
        degraded->stale += seen - 1;
        degraded->unseen += t->parties - seen;
    }
}

/* A step of the head on an arrival, and the gradient that goes back to it. */
static enum status take_step(struct server_stream *t, const struct server_task *task,
                             struct server_trainer *trainer, struct server_report *r,
                             struct error *err)
{
    struct server_head *h = &trainer->head;
    /* of a row of the gradient, or of its first factor */
    const size_t width = gradient_row_values(&h->down.gradient, 1);

    keep_arrival(t, task);
    gather_latest(t, task, h, &r->degraded);
    program_round(trainer->program.program);
    server_head_fuse(h, task->rows);
    server_trainer_aim(trainer, task);
    server_score_batch(trainer, r, task,
                       server_head_train(h, trainer->plan, trainer->steps_done, task->rows));
    for (uint32_t i = 0; i < task->rows && !h->top.apart; i++) {
        for (size_t j = 0; j < width; j++)
            h->values[i * width + j] *= t->factor[i];
    }
    return server_pack_gradient(trainer, task, t->arrivals, h->apart ? t->parties : 1,
                                r->measured.last_loss, err);
}

static struct server_worked work(struct server_train *s)
{
    const uint64_t start = s->setup.clock_us();
    struct server_stream *t = s->stream;
    const struct server_task *task = &t->lane[t->peer].task;
    const uint64_t every = (uint64_t)t->parties * s->setup.checkpoint_rounds;
    struct server_worked w = {0};
    enum status st = take_step(t, task, &s->trainer, &s->report, &w.error);

    if (st == STATUS_OK)
        st = server_watch_sum(&s->watcher, &s->trainer.head, task,
                              s->trainer.head.top.apart ? t->parties : 1, &w.error);
    t->arrivals++;
    s->report.rounds++;
    w.may_keep = st == STATUS_OK && every > 0;
    w.keep = w.may_keep && t->arrivals % every == 0;
    w.spoiled = st != STATUS_OK;
    w.head_us = s->setup.clock_us() - start;
    return w;
}

static bool ends_epoch(const struct server_train *s)
{
    return s->trainer.steps_done % agenda_epoch_steps(&s->trainer.agenda) == 0;
}

/* Does something wait for a moment when nobody is at work? */
static bool must_drain(const struct server_train *s)
{
    if (s->trainer.steps_done == s->trainer.agenda.steps ||
        agenda_due(&s->trainer.agenda, s->trainer.steps_done))
        return true;
    return ends_epoch(s) && server_may_come_in(s->fed);
}

static struct train_next done(struct server_train *s, struct actions *a,
                              const struct server_worked *w)
{
    struct server_stream *t = s->stream;
    const uint32_t peer = t->peer;

    if (w->error.status != STATUS_OK)
        return train_say(NEXT_FAIL);
    s->member[peer].applied = ++t->lane[peer].steps; /* once it has the gradient */
    if (!t->draining && t->arrivals / t->parties > s->trainer.steps_done) {
        s->trainer.steps_done++;
        server_step_forward(s->fed);
        t->draining = must_drain(s);
        if (t->draining || ends_epoch(s))
            server_late_wishes_repaid(s->fed); /* there a set could be refused */
    }
    s->round.last_answer_us = s->fed->now_us;
    if (s->fed->peer[peer].member >= 0 && ask(s, a, peer, true) != STATUS_OK)
        return train_say(NEXT_FAIL);
    server_arm(a, s->fed->terms.patience_ms);
    return when_drained(s, a);
}

/* --- the mode --- */

const struct server_mode server_streamed = {
    .open = open_stream,
    .upload = upload,
    .settle = when_drained,
    .out_of_time = out_of_time,
    .work = work,
    .done = done,
};
