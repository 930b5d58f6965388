/* work.c -- the part of a round, a sum or a replay that may run on a worker thread.
 *
 * It is the session's owner meanwhile; party_worked (round.c) takes over when it is done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/subnormal.h"
#include "common/nn/state.h"
#include "common/secagg/draw.h"

#include <string.h>

/* Noise of a seeded run depends on the place in the schedule alone, so any interleaving gives the
 * same. */
static void seed_noise(struct party_train *p)
{
    const struct party_task *t = &p->round.task;
    uint8_t key[RNG_KEY_BYTES];
    uint64_t place = (uint64_t)t->purpose << 62 |
                     (t->purpose == PURPOSE_TRAIN ? t->place : t->sweep << 32 | t->place);

    if (!p->setup->seeded)
        return;
    rng_seed_key(key, p->setup->seed, p->setup->self + 1, "noise", place);
    rng_rekey(&p->round.noise, key);
}

static struct secagg_round round_of(struct party_train *p, enum wire_purpose purpose,
                                    uint64_t place, uint64_t sweep)
{
    if (plan_compresses(&p->learner.plan))
        dither_make(p->round.dither, &p->learner.digest, &p->learner.plan, purpose, place, sweep);
    return (struct secagg_round){
        .purpose = (uint8_t)purpose,
        .round = p->round.task.round,
        .sid = p->set->sid,
        .broadcast = p->round.view,
        .dither = p->round.dither,
        .importance = party_sent_importance(&p->learner.sent),
        .scratch = p->learner.sent.scratch,
        /* Where shares are dealt there may be none yet. */
        .data = party_deals(p) && !wire_purpose_deals(p->round.task.purpose) ? party_deal_shares(p)
                                                                             : NULL,
        .coded = p->round.coded,
        .coded_n = p->round.task.coded,
    };
}

static struct secagg_round round_of_task(struct party_train *p)
{
    return round_of(p, p->round.task.purpose, p->round.task.place, p->round.task.sweep);
}

/* Under sequential one party after the other takes a step on a batch. */
static bool has_turn(const struct party_train *p, uint64_t step)
{
    return p->learner.agenda.turns == 1 || step % p->learner.agenda.turns == p->setup->self;
}

/* --- steps --- */

/* What came down for the step, to Q local steps. */
static enum status step_down(struct party_train *p, bool apply, struct party_result *r)
{
    const double clip = p->setup->config->policy.gradient_clip;
    struct party_bottom *b = &p->learner.bottom;
    struct secagg_round round;
    enum status s;

    if (b->down.with_gradient && !party_bottom_expand(b))
        return party_violation(&r->error, "a gradient with a value that is not finite, step",
                               p->learner.applied);
    if (!apply)
        return STATUS_OK;
    if (!p->learner.refresh.on) {
        if (b->down.with_gradient)
            party_sent_weigh(&p->learner.sent, b->gradient, b->batch_rows);
        if (b->frozen)
            return STATUS_OK;
        r->clipped += party_bottom_apply(b, &p->learner.plan, p->learner.applied, clip);
        return STATUS_OK;
    }
    round = round_of(p, PURPOSE_TRAIN, p->learner.applied, 0);
    s = party_refresh_take(&p->learner.refresh, b, &p->round.shape, &p->learner.sent, &round,
                           &r->error);
    if (s != STATUS_OK)
        return error_wrap(&r->error, "the server: step %llu",
                          (unsigned long long)p->learner.applied);
    if (b->frozen)
        return STATUS_OK;
    party_refresh_apply(&p->learner.refresh, b, &p->learner.sent, &p->learner.plan,
                        p->learner.applied, clip);
    r->clipped += p->learner.refresh.clipped;
    return STATUS_OK;
}

/* What is in bottom.received ends step p->applied. */
static enum status take_step(struct party_train *p, bool apply, struct party_result *r)
{
    enum status s = party_note_before(&p->learner, &r->error);

    if (s == STATUS_OK)
        s = step_down(p, apply && has_turn(p, p->learner.applied), r);
    if (s != STATUS_OK)
        return s;
    if (p->learner.bottom.interrupted)
        return party_undo(&p->learner, &r->error);
    trail_add(&p->learner.trail, &p->learner.digest, p->learner.applied, p->learner.bottom.received,
              down_words(&p->learner.bottom.down, p->learner.bottom.batch_rows) *
                  sizeof *p->learner.bottom.received);
    if (apply)
        party_sent_close(&p->learner.sent);
    p->learner.trained = true;
    if (++p->learner.applied > p->learner.behind.furthest)
        p->learner.behind.furthest = p->learner.applied;
    return party_save_when_due(p, r);
}

static void view_round(struct party_train *p)
{
    const struct party_task *t = &p->round.task;
    struct trail_round at = {p->set->generation, t->round, t->place, t->sweep, t->purpose};

    trail_view(p->round.view, &p->learner.digest, &p->learner.trail, &at);
}

/* What this party protects: embeddings, under fedvs the model that others embed with. */
static const float *embed(struct party_train *p, size_t *n)
{
    const struct party_task *t = &p->round.task;
    const struct nn_layer *model = &p->learner.bottom.net.layer[0];
    const struct table *table =
        t->purpose == PURPOSE_EVALUATE_TEST ? p->setup->test : p->setup->train;
    const float *h = NULL;

    *n = (size_t)t->rows * p->learner.plan.model.embedding;
    if (t->purpose == PURPOSE_TRAIN)
        h = party_sent_begin(&p->learner.sent,
                             party_bottom_train(&p->learner.bottom, table, t->row, t->rows), t->row,
                             t->rows);
    else if (!party_deals(p))
        h = party_bottom_evaluate(&p->learner.bottom, table, (uint32_t)t->place, t->rows);
    if (!party_deals(p))
        return h;
    *n = (size_t)model->in * model->out;
    return model->w;
}

/* What the end of the step will take out of the sum: this party's part without its noise.  With the
 * noise, the next model would depend on a secret draw, and not on the released sum and its own data
 * alone, which is what accounting of later releases rests on (docs/adr/0013). */
static void note_own(struct party_train *p, const float *x, size_t n,
                     const struct secagg_round *round)
{
    secagg_alone(&p->round.shape, p->learner.sent.own, x, n, round);
}

static enum status protect(struct party_train *p, const float *x, size_t n,
                           const struct secagg_round *round)
{
    enum status s;

    seed_noise(p);
    s = secagg_protect(p->round.masks, p->round.upload.payload, p->round.upload.check, x, n, round,
                       &p->round.noise);
    draw_forget(&p->round.noise);
    if (s == STATUS_OK && p->learner.sent.kept && p->round.task.purpose == PURPOSE_TRAIN)
        note_own(p, x, n, round);
    return s;
}

static enum status work_on_round(struct party_train *p, struct party_result *r)
{
    struct party_task *t = &p->round.task;
    uint64_t start = p->setup->clock_us(), computed;
    struct secagg_round round;
    enum status s = STATUS_OK;
    const float *x;
    size_t n;

    if (t->close)
        s = take_step(p, t->apply, r);
    if (s != STATUS_OK || !t->open || p->learner.bottom.interrupted) {
        spans_add(p->spans, SPAN_COMPUTE, p->setup->clock_us() - start);
        return s;
    }
    view_round(p);
    round = round_of_task(p);
    if (wire_purpose_deals(t->purpose)) {
        s = party_work_deal(p, &round, &r->error);
        spans_add(p->spans, SPAN_PROTECT, p->setup->clock_us() - start);
        if (s != STATUS_OK && r->error.status != s) /* it says no more */
            error_set(&r->error, s, "%s", status_words(s));
        return s == STATUS_OK ? s : error_wrap(&r->error, "dealing");
    }
    x = embed(p, &n);
    computed = p->setup->clock_us();
    spans_add(p->spans, SPAN_COMPUTE, computed - start);
    s = protect(p, x, n, &round);
    spans_add(p->spans, SPAN_PROTECT, p->setup->clock_us() - computed);
    if (s != STATUS_OK)
        error_set(&r->error, s, "round %llu: %s", (unsigned long long)t->round, status_words(s));
    return s;
}

/* A share that does not open is the dealer's fault or the server's: nobody here can tell. */
static enum status work_on_sum(struct party_train *p, struct party_result *r)
{
    struct secagg_round round = round_of_task(p);
    uint64_t start = p->setup->clock_us();
    size_t n = party_values(p);
    const uint8_t *sealed = p->round.received.data;
    const uint8_t *tags =
        sealed + secagg_relay_bytes(p->learner.plan.protocol.aggregation, &p->round.shape,
                                    party_part(p), p->set->self, n);
    uint32_t faulty = 0;
    enum status s;

    if (wire_purpose_deals(p->round.task.purpose))
        s = party_work_take(p, sealed, tags, &round, &faulty, &r->error);
    else
        s = secagg_relay(p->round.masks, p->round.upload.payload, sealed, tags, n, &round, &faulty,
                         &r->error);

    spans_add(p->spans, SPAN_PROTECT, p->setup->clock_us() - start);
    if (s == STATUS_AUTH) {
        r->accused = p->set->members[faulty] + 1;
        error_wrap(&r->error, "round %llu: the share of %s (or the server that passed it on)",
                   (unsigned long long)p->round.task.round,
                   p->setup->roster->party[p->set->members[faulty]].name);
    }
    return s;
}

/* Bytes of what came down for step `step`, and its rows. */
static size_t step_bytes(struct party_train *p, uint64_t step, const uint32_t **row, uint32_t *rows)
{
    *row = party_batch(p, step, rows);
    return down_words(&p->learner.bottom.down, *rows) * sizeof *p->learner.bottom.received;
}

/* Where gradients come, none is applied unless all are.  What is shown is looked at step by step:
 * it takes the model of that step to do so. */
static enum status check_replay(struct party_train *p, struct party_result *r)
{
    const uint8_t *at = p->round.received.data, *end = at + p->round.received.len;
    const struct down *down = &p->learner.bottom.down;
    const uint32_t *row;
    uint32_t rows;

    for (uint64_t step = p->learner.applied; at < end && down->with_gradient; step++) {
        size_t bytes = step_bytes(p, step, &row, &rows);

        if (!gradient_unpack(&down->gradient, p->learner.bottom.factors, at, rows))
            return party_violation(&r->error, "a gradient with a value that is not finite, step",
                                   step);
        at += bytes;
    }
    return STATUS_OK;
}

/* The batch of step p->applied is embedded, and what was handed over is known again. */
static void embed_again(struct party_train *p, const uint32_t *row, uint32_t rows)
{
    const float *h = party_bottom_train(&p->learner.bottom, p->setup->train, row, rows);
    const size_t n = (size_t)rows * p->learner.bottom.width;
    struct secagg_round round;

    if (!p->learner.sent.kept)
        return;
    h = party_sent_begin(&p->learner.sent, h, row, rows);
    round = round_of(p, PURPOSE_TRAIN, p->learner.applied, 0);
    note_own(p, h, n, &round);
}

static enum status work_on_replay(struct party_train *p, struct party_result *r)
{
    const uint8_t *at = p->round.received.data, *end = at + p->round.received.len;
    uint64_t start = p->setup->clock_us();
    enum status s = check_replay(p, r);

    while (at < end && s == STATUS_OK && !p->learner.bottom.interrupted) {
        const uint32_t *row;
        uint32_t rows;
        size_t bytes = step_bytes(p, p->learner.applied, &row, &rows);

        memcpy(p->learner.bottom.received, at, bytes);
        embed_again(p, row, rows);
        s = take_step(p, true, r);
        at += bytes;
        p->learner.bottom.interrupted |= atomic_load(p->stop);
    }
    spans_add(p->spans, SPAN_COMPUTE, p->setup->clock_us() - start);
    return s;
}

void party_train_work(void *state)
{
    struct party_train *p = state;
    struct party_result r = {0};
    const uint64_t mode = subnormal_flush();

    switch (p->round.task.work) {
    case WORK_ROUND: r.status = work_on_round(p, &r); break;
    case WORK_SUM: r.status = work_on_sum(p, &r); break;
    case WORK_REPLAY: r.status = work_on_replay(p, &r); break;
    }
    r.interrupted = p->learner.bottom.interrupted;
    subnormal_restore(mode);
    p->round.result = r;
}
