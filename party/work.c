/* work.c -- the part of a round, a sum or a replay that may run on a worker thread.
 *
 * It is the session's owner meanwhile; party_worked (round.c) takes over when it is done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include <string.h>

/* Noise of a seeded run depends on the place in the schedule alone, so any interleaving gives the
 * same. */
static void seed_noise(struct party_session *p)
{
    const struct party_task *t = &p->task;
    uint8_t key[RNG_KEY_BYTES];
    uint64_t place = (uint64_t)t->purpose << 62 |
                     (t->purpose == PURPOSE_TRAIN ? t->place : t->sweep << 32 | t->place);

    if (!p->setup.seeded)
        return;
    rng_seed_key(key, p->setup.seed, p->setup.self + 1, "noise", place);
    rng_rekey(&p->noise, key);
}

static struct secagg_round round_of(const struct party_session *p)
{
    return (struct secagg_round){
        .purpose = (uint8_t)p->task.purpose,
        .round = p->task.round,
        .sid = p->sid,
        .broadcast = p->view,
        .data = party_deals(p) ? party_deal_shares(p) : NULL,
        .coded = p->coded,
        .coded_n = p->task.coded,
    };
}

/* The gradient of step p->applied, which is in bottom.received, ends that step. */
static enum status take_step(struct party_session *p, bool apply)
{
    if (!party_bottom_expand(&p->bottom))
        return party_violation(p, "a gradient with a value that is not finite, step", p->applied);
    trail_add(&p->trail, &p->digest, p->applied, p->bottom.received,
              gradient_words(&p->bottom.form, p->bottom.batch_rows) * sizeof *p->bottom.received);
    if (apply)
        p->report.clipped += party_bottom_apply(&p->bottom, &p->plan, p->applied,
                                                p->setup.config->policy.gradient_clip);
    if (++p->applied > p->furthest) {
        p->furthest = p->applied;
        p->stalled = 0;
    }
    return party_save_when_due(p);
}

static void view_round(struct party_session *p)
{
    const struct party_task *t = &p->task;
    struct trail_round at = {p->generation, t->round, t->place, t->sweep, t->purpose};

    trail_view(p->view, &p->digest, &p->trail, &at);
}

/* What this party protects: embeddings, under fedvs the model that others embed with. */
static const float *embed(struct party_session *p, size_t *n)
{
    const struct party_task *t = &p->task;
    const struct nn_layer *model = &p->bottom.net.layer[0];
    const struct table *table =
        t->purpose == PURPOSE_EVALUATE_TEST ? p->setup.test : p->setup.train;
    const float *h = NULL;

    *n = (size_t)t->rows * p->plan.model.embedding;
    if (t->purpose == PURPOSE_TRAIN)
        h = party_bottom_train(&p->bottom, table, t->row, t->rows);
    else if (!party_deals(p))
        h = party_bottom_evaluate(&p->bottom, table, (uint32_t)t->place, t->rows);
    if (!party_deals(p))
        return h;
    *n = (size_t)model->in * model->out;
    return model->w;
}

static enum status work_on_round(struct party_session *p)
{
    struct party_task *t = &p->task;
    uint64_t start = p->setup.clock_us(), computed;
    struct secagg_round round;
    enum status s = STATUS_OK;
    const float *x;
    size_t n;

    if (t->close)
        s = take_step(p, t->apply);
    if (s != STATUS_OK || !t->open) {
        spans_add(&p->spans, SPAN_COMPUTE, p->setup.clock_us() - start);
        return s;
    }
    view_round(p);
    round = round_of(p);
    if (wire_purpose_deals(t->purpose)) {
        s = party_work_deal(p, &round);
        spans_add(&p->spans, SPAN_PROTECT, p->setup.clock_us() - start);
        return s == STATUS_OK ? s : error_set(&p->error, s, "dealing: %s", status_words(s));
    }
    x = embed(p, &n);
    computed = p->setup.clock_us();
    spans_add(&p->spans, SPAN_COMPUTE, computed - start);
    seed_noise(p);
    s = secagg_protect(p->masks, p->payload, p->check, x, n, &round, &p->noise);
    spans_add(&p->spans, SPAN_PROTECT, p->setup.clock_us() - computed);
    if (s != STATUS_OK)
        error_set(&p->error, s, "round %llu: %s", (unsigned long long)t->round, status_words(s));
    return s;
}

/* A share that does not open is the dealer's fault or the server's: nobody here can tell. */
static enum status work_on_sum(struct party_session *p)
{
    struct secagg_round round = round_of(p);
    uint64_t start = p->setup.clock_us();
    size_t n = party_values(p);
    const uint8_t *sealed = p->received.data;
    const uint8_t *tags = sealed + secagg_relay_bytes(p->plan.protocol.aggregation, &p->shape,
                                                      party_part(p), p->self, n);
    uint32_t faulty = 0;
    enum status s;

    if (wire_purpose_deals(p->task.purpose))
        s = party_work_take(p, sealed, tags, &round, &faulty);
    else
        s = secagg_relay(p->masks, p->payload, sealed, tags, n, &round, &faulty, &p->error);

    spans_add(&p->spans, SPAN_PROTECT, p->setup.clock_us() - start);
    if (s == STATUS_AUTH)
        error_wrap(&p->error, "round %llu: the share of %s (or the server that passed it on)",
                   (unsigned long long)p->task.round,
                   p->setup.roster->party[p->members[faulty]].name);
    return s;
}

/* Bytes of the gradient of step `step`, and its rows. */
static size_t step_bytes(struct party_session *p, uint64_t step, const uint32_t **row,
                         uint32_t *rows)
{
    *row = schedule_batch(&p->schedule, step, rows);
    return gradient_words(&p->bottom.form, *rows) * sizeof *p->bottom.received;
}

/* None is applied unless all are gradients. */
static enum status check_replay(struct party_session *p)
{
    const uint8_t *at = p->received.data, *end = at + p->received.len;
    const uint32_t *row;
    uint32_t rows;

    for (uint64_t step = p->applied; at < end; step++) {
        size_t bytes = step_bytes(p, step, &row, &rows);

        if (!gradient_unpack(&p->bottom.form, p->bottom.factors, at, rows))
            return party_violation(p, "a gradient with a value that is not finite, step", step);
        at += bytes;
    }
    return STATUS_OK;
}

static enum status work_on_replay(struct party_session *p)
{
    const uint8_t *at = p->received.data, *end = at + p->received.len;
    uint64_t start = p->setup.clock_us();
    enum status s = check_replay(p);

    while (at < end && s == STATUS_OK) {
        const uint32_t *row;
        uint32_t rows;
        size_t bytes = step_bytes(p, p->applied, &row, &rows);

        party_bottom_train(&p->bottom, p->setup.train, row, rows);
        memcpy(p->bottom.received, at, bytes);
        s = take_step(p, true);
        at += bytes;
    }
    spans_add(&p->spans, SPAN_COMPUTE, p->setup.clock_us() - start);
    return s;
}

void party_session_work(struct party_session *p)
{
    switch (p->task.work) {
    case WORK_ROUND: p->task.status = work_on_round(p); break;
    case WORK_SUM: p->task.status = work_on_sum(p); break;
    case WORK_REPLAY: p->task.status = work_on_replay(p); break;
    }
}
