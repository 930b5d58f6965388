/* stream.c -- STREAM: straggler async (VAFL, Chen et al. 2020): a step at each arrival.
 *
 * The happy path, with each member on its own: broadcast -> upload -> work -> broadcast with the
 * gradient of that upload.  Each party walks the rows in an order of its own.  The server keeps the
 * latest embedding of every training row from every party; an arrival replaces its rows, and the
 * head takes a step on them with what it has of the others, however old.  An embedding that never
 * came counts as the mean of those that did: the sum over the seen times M / seen, and a
 * concatenation has zeros in its place.
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
    uint64_t steps, round; /* taken; of the open broadcast */
    const uint32_t *row;
    uint32_t rows;
    bool open; /* an upload is awaited */
};

struct server_stream {
    struct lane *lane; /* by roster index */
    float *kept;       /* parties x training rows x P */
    uint8_t *seen;     /* parties x training rows */
    float *arrived;    /* rows of the largest round x P */
    float *factor;     /* the same rows: M / seen */
    uint64_t arrivals;
    bool draining;
};

enum status server_stream_new(struct server_train *s)
{
    const struct plan *p = &s->plan;
    size_t parties = p->shape.parties, rows = p->shape.train_rows;
    struct server_stream *t;

    if (p->protocol.straggler != STRAGGLER_ASYNC)
        return STATUS_OK;
    t = s->round.stream = mem_alloc(1, sizeof *t);
    if (t == NULL)
        return STATUS_MEMORY;
    t->lane = mem_alloc(parties, sizeof *t->lane);
    t->kept = mem_alloc(parties * rows, p->model.embedding * sizeof *t->kept);
    t->seen = mem_alloc(parties, rows);
    t->arrived = mem_alloc(s->round.sum.shape.values_max, sizeof *t->arrived);
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

void server_stream_free(struct server_train *s)
{
    struct server_stream *t = s->round.stream;

    if (t == NULL)
        return;
    for (uint32_t i = 0; t->lane != NULL && i < s->plan.shape.parties; i++)
        schedule_deinit(&t->lane[i].schedule);
    mem_free(t->lane);
    mem_free(t->kept);
    mem_free(t->seen);
    mem_free(t->arrived);
    mem_free(t->factor);
    mem_free(t);
}

uint64_t server_stream_arrivals(const struct server_train *s)
{
    return s->round.stream == NULL ? 0 : s->round.stream->arrivals;
}

void server_stream_go_on(struct server_train *s, uint64_t arrivals)
{
    if (s->round.stream != NULL)
        s->round.stream->arrivals = arrivals;
}

void server_stream_begin(struct server_train *s)
{
    s->round.stream->draining = false;
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        struct lane *lane = &s->round.stream->lane[s->fed->set.member[m]];
        lane->steps = s->member[s->fed->set.member[m]].applied;
        lane->open = false;
    }
    server_head_members(&s->trainer.head, s->plan.shape.parties);
}

/* --- asking --- */

/* The next step of this party's own, as the round in progress. */
static enum status open_lane(struct server_train *s, struct lane *lane)
{
    lane->row = schedule_batch(&lane->schedule, lane->steps, &lane->rows);
    lane->round = ++s->round.number;
    s->round.purpose = PURPOSE_TRAIN;
    s->round.place = lane->steps;
    s->round.row = lane->row;
    s->round.rows = lane->rows;
    return server_watch_ask(s, lane->peer);
}

static enum status ask(struct server_train *s, struct actions *a, uint32_t peer, bool closes)
{
    struct lane *lane = &s->round.stream->lane[peer];
    /* A server that was killed has forgotten arrivals, and a party no step of its own: it has an
     * end to them, whatever the run has done. */
    struct wire_broadcast b = {
        .generation = s->fed->set.generation,
        .opens = !s->round.stream->draining && lane->steps < s->trainer.agenda.party_steps,
    };

    if (closes) {
        size_t words = down_words(&s->trainer.head.down, lane->rows);
        const uint32_t *g = s->trainer.head.blob + (s->trainer.head.apart ? peer * words : 0);

        b.closes = true;
        b.close_step = lane->steps - 1;
        b.gradient = (struct wire_bytes){(const uint8_t *)g, words * sizeof *g};
    }
    if (b.opens) {
        if (open_lane(s, lane) != STATUS_OK)
            return s->fed->error.status;
        b.round = lane->round;
        b.purpose = PURPOSE_TRAIN;
        b.place = lane->steps;
    }
    lane->open = b.opens;
    s->fed->peer[peer].answered = !b.opens;
    if (b.opens || b.closes) {
        struct action *send = server_send_one(s->fed, a, peer, WIRE_BROADCAST);
        send->msg.broadcast = b;
        send->to = &lane->peer;
    }
    return STATUS_OK;
}

/* Everybody still there has answered: what the members were held back for can happen.  Or they have
 * no steps left, since a server that died forgot some: then those who sit out are needed now, and
 * with nobody here, whoever comes before patience ends. */
static struct server_next when_drained(struct server_train *s, struct actions *a)
{
    uint32_t there = 0;

    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        const struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];
        there += p->member >= 0;
        if (p->member >= 0 && s->round.stream->lane[s->fed->set.member[m]].open)
            return next_of(NEXT_WAIT);
    }
    if (there == 0)
        return next_of(NEXT_SET);
    if (!s->round.stream->draining && !server_may_come_in(s->fed))
        return next_of(NEXT_WAIT);
    if (server_let_in(s->fed)) {
        server_flush_close(s, a);
        return next_of(NEXT_SET);
    }
    return next_of(s->fed->set.left > 0 ? NEXT_SET : NEXT_ROUND); /* a test is over whole sets */
}

static struct server_next open_stream(struct server_train *s, struct actions *a)
{
    sm_move(&s->fed->sm, PHASE_STREAM, s->fed->set.generation);
    s->round.stream->draining = false;
    s->round.opened_us = s->round.last_answer_us = s->fed->now_us;
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        if (s->fed->peer[s->fed->set.member[m]].member < 0)
            continue;
        if (ask(s, a, s->fed->set.member[m], false) != STATUS_OK)
            return next_of(NEXT_FAIL);
    }
    server_arm(a, s->plan.protocol.patience_ms);
    return when_drained(s, a);
}

/* Who has said nothing for so long sits out until an epoch begins; its embeddings serve on. */
static struct server_next out_of_time(struct server_train *s, struct actions *a, bool may_leave)
{
    bool asked = false;

    if (!may_leave)
        return next_of(NEXT_LATE);
    for (uint32_t m = 0; m < s->fed->set.n; m++) {
        struct server_peer *p = &s->fed->peer[s->fed->set.member[m]];

        if (p->member < 0 || !s->round.stream->lane[s->fed->set.member[m]].open)
            continue;
        asked = true;
        s->round.stream->lane[s->fed->set.member[m]].open = false;
        p->member = -1;
        s->member[s->fed->set.member[m]].owes = true;
        server_sits_out(s->fed, s->fed->set.member[m]);
        s->fed->set.left++;
    }
    if (!asked) {
        error_set(
            &s->fed->error, STATUS_DATA,
            "every party here has taken all steps that its agenda has, the run only %llu: the "
            "server's state was lost or put back too often",
            (unsigned long long)s->trainer.steps_done);
        return next_of(NEXT_FAIL);
    }
    server_arm(a, s->plan.protocol.patience_ms);
    return when_drained(s, a);
}

/* --- an arrival --- */

static struct server_next upload(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u)
{
    struct lane *lane = &s->round.stream->lane[peer];
    uint64_t values = (uint64_t)lane->rows * s->plan.model.embedding;
    struct action *work;
    enum status st;

    if (!lane->open || u->round != lane->round || !purpose_of(u->purpose)->trains ||
        u->payload.n !=
            secagg_payload_bytes(s->plan.protocol.aggregation, &s->round.sum.shape, values) ||
        u->check.n != 0) {
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: upload of %zu bytes for round %llu, not asked", server_name(s->fed, peer),
                  u->payload.n, (unsigned long long)u->round);
        return next_of_peer(NEXT_DROP, peer);
    }
    dither_make(s->round.sum.dither, &s->trainer.digest, &s->plan, PURPOSE_TRAIN, lane->steps, 0);
    st = secagg_open(&s->round.sum.shape, s->round.stream->arrived, u->payload.data, values,
                     (uint32_t)s->fed->peer[peer].member, s->round.sum.dither, &s->fed->error);
    if (st != STATUS_OK) {
        error_wrap(&s->fed->error, "%s: upload", server_name(s->fed, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (server_watch_values(s, peer, u->round, s->round.stream->arrived, values) != STATUS_OK)
        return next_of(NEXT_FAIL);
    lane->open = false;
    s->fed->peer[peer].answered = true;
    s->fed->peer[peer].losses = 0;
    s->round.peer = peer;
    s->round.purpose = PURPOSE_TRAIN;
    s->round.row = lane->row;
    s->round.rows = lane->rows;
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops = nn_net_flops(&s->trainer.head.top.net.spec, lane->rows) +
                  2.0 * (double)values * s->plan.shape.parties;
    return next_of(NEXT_WAIT);
}

static void keep_arrival(struct server_train *s)
{
    struct server_stream *t = s->round.stream;
    size_t all = s->plan.shape.train_rows, width = s->plan.model.embedding, peer = s->round.peer;

    for (uint32_t r = 0; r < s->round.rows; r++) {
        size_t row = peer * all + s->round.row[r];
        memcpy(t->kept + row * width, t->arrived + r * width, width * sizeof *t->kept);
        t->seen[row] = 1;
    }
}

/* head.fused from the latest embeddings of the arrival's rows. */
static void gather_latest(struct server_train *s)
{
    struct server_stream *t = s->round.stream;
    size_t all = s->plan.shape.train_rows, width = s->plan.model.embedding;
    uint32_t parties = s->plan.shape.parties;

    memset(s->trainer.head.fused, 0, s->round.rows * s->trainer.head.top.inputs * sizeof(float));
    for (uint32_t r = 0; r < s->round.rows; r++) {
        float *to = s->trainer.head.fused + (size_t)r * s->trainer.head.top.inputs;
        uint32_t seen = 0;

        for (uint32_t m = 0; m < parties; m++) {
            size_t row = m * all + s->round.row[r];
            float *part = to + (s->trainer.head.top.concat ? m * width : 0);

            if (!t->seen[row])
                continue;
            seen++;
            for (size_t i = 0; i < width; i++)
                part[i] += t->kept[row * width + i];
        }
        t->factor[r] = s->trainer.head.top.concat ? 1 : (float)parties / (float)seen;
        for (size_t i = 0; i < width && !s->trainer.head.top.concat; i++)
            to[i] *= t->factor[r];
        s->report.degraded.stale += seen - 1;
        s->report.degraded.unseen += parties - seen;
    }
}

static struct server_worked work(struct server_train *s)
{
    uint64_t start = s->setup.clock_us();
    const uint32_t parties = s->plan.shape.parties;
    struct server_stream *t = s->round.stream;
    /* of a row of the gradient, or of its first factor */
    size_t width = gradient_row_values(&s->trainer.head.down.gradient, 1);
    struct server_worked w = {.status = STATUS_OK};

    s->keep.spoiled = true;
    keep_arrival(s);
    gather_latest(s);
    server_head_fuse(&s->trainer.head, s->round.rows);
    server_take_targets(s);
    (void)server_score_batch(
        s, server_head_train(&s->trainer.head, &s->plan, s->trainer.steps_done, s->round.rows));
    for (uint32_t r = 0; r < s->round.rows && !s->trainer.head.top.concat; r++) {
        for (size_t i = 0; i < width; i++)
            s->trainer.head.values[r * width + i] *= t->factor[r];
    }
    w.status = server_pack_gradient(s, t->arrivals, s->trainer.head.apart ? parties : 1);
    if (w.status == STATUS_OK)
        w.status = server_watch_sum(s, t->lane[s->round.peer].round,
                                    s->trainer.head.top.concat ? parties : 1);
    t->arrivals++;
    s->report.rounds++;
    w.keep = w.status == STATUS_OK && s->setup.checkpoint_rounds > 0 &&
             t->arrivals % ((uint64_t)parties * s->setup.checkpoint_rounds) == 0;
    s->keep.spoiled = w.status != STATUS_OK;
    spans_add(&s->spans, SPAN_HEAD, s->setup.clock_us() - start);
    return w;
}

/* Does something wait for a moment when nobody is at work? */
static bool must_drain(const struct server_train *s)
{
    if (s->trainer.steps_done == s->trainer.agenda.steps ||
        agenda_due(&s->trainer.agenda, s->trainer.steps_done))
        return true;
    return s->trainer.steps_done % agenda_epoch_steps(&s->trainer.agenda) == 0 &&
           server_may_come_in(s->fed);
}

static struct server_next done(struct server_train *s, struct actions *a,
                               const struct server_worked *w)
{
    struct server_stream *t = s->round.stream;
    uint32_t peer = s->round.peer;

    if (w->status != STATUS_OK)
        return next_of(NEXT_FAIL);
    s->member[peer].applied = ++t->lane[peer].steps; /* once it has the gradient */
    if (!t->draining && t->arrivals / s->plan.shape.parties > s->trainer.steps_done) {
        s->trainer.steps_done++;
        t->draining = must_drain(s);
    }
    server_note_arrival(s, peer, false);
    if (s->fed->peer[peer].member >= 0 && ask(s, a, peer, true) != STATUS_OK)
        return next_of(NEXT_FAIL);
    server_arm(a, s->plan.protocol.patience_ms);
    return when_drained(s, a);
}

/* --- the mode --- */

static bool takes_late(const struct server_train *s)
{
    (void)s;
    return false;
}

const struct server_mode server_streamed = {
    .open = open_stream,
    .upload = upload,
    .settle = when_drained,
    .out_of_time = out_of_time,
    .takes_late = takes_late,
    .work = work,
    .done = done,
};
