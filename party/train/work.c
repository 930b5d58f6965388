/* work.c -- gradients in, embeddings out; shares of others to their sum; missed steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/work.h"

#include "common/flow/dither.h"
#include "common/flow/dropout.h"
#include "common/secagg/draw.h"
#include "common/wire/purpose.h"

#include <string.h>

/* Noise of a seeded run depends on the place in the schedule alone, so any interleaving gives the
 * same. */
static void seed_noise(struct party_round *r, const struct party_setup *setup)
{
    const struct party_task *t = &r->task;
    uint8_t key[RNG_KEY_BYTES];
    uint64_t place = (uint64_t)t->purpose << 62 |
                     (purpose_of(t->purpose)->trains ? t->place : t->sweep << 32 | t->place);

    if (!setup->start.seeded)
        return;
    rng_seed_key(key, setup->start.seed, setup->self + 1, "noise", place);
    rng_rekey(&r->noise, key);
}

/* What makes the masks, dithers and shares of a round its own. */
static struct secagg_round round_at(struct party_round *r, struct party_learner *l,
                                    const struct party_course *c, const struct party_host *h,
                                    const struct trail_round *at)
{
    if (plan_compresses(&c->plan))
        dither_make(r->dither, &l->digest, &c->plan, at->purpose, at->place, at->sweep);
    return (struct secagg_round){
        .purpose = (uint8_t)at->purpose,
        .round = r->task.round,
        .sid = h->set->sid,
        .broadcast = r->view,
        .dither = r->dither,
        .importance = party_sent_importance(&l->sent),
        .scratch = l->sent.scratch,
        .coded = r->coded,
        .coded_n = r->task.coded,
    };
}

static struct secagg_round round_of_step(struct party_round *r, struct party_learner *l,
                                         const struct party_course *c, const struct party_host *h)
{
    const struct trail_round at = {.purpose = PURPOSE_TRAIN, .place = l->applied};

    return round_at(r, l, c, h, &at);
}

static struct trail_round place_of(const struct party_task *t, const struct party_set *set)
{
    return (struct trail_round){set->generation, t->round, t->place, t->sweep, t->purpose};
}

static bool left_out(const struct party_course *c, uint64_t step)
{
    return dropout_leaves_out(&c->plan, step, c->self);
}

/* Under sequential one party after the other takes a step on a batch; who was left out of it has
 * put nothing in that could be better. */
static bool has_turn(const struct party_course *c, uint64_t step)
{
    return (c->agenda.turns == 1 || step % c->agenda.turns == c->self) && !left_out(c, step);
}

/* --- steps --- */

/* What came down for the step, to Q local steps. */
static enum status step_down(struct party_learner *l, struct party_round *r, struct party_course *c,
                             const struct party_host *h, bool apply, struct party_result *result)
{
    const double clip = h->setup->config->policy.gradient_clip;
    struct party_bottom *b = &l->bottom;
    struct secagg_round round;
    enum status s;

    if (b->back.down.with_gradient && !party_bottom_expand(b))
        return party_violation(&result->error, "a gradient with a value that is not finite, step",
                               l->applied);
    if (!apply)
        return STATUS_OK;
    if (!l->refresh.on) {
        if (b->back.down.with_gradient)
            party_sent_weigh(&l->sent, b->back.gradient, b->batch_rows);
        if (b->frozen)
            return STATUS_OK;
        result->clipped += party_bottom_apply(b, &c->plan, l->applied, clip);
        return STATUS_OK;
    }
    round = round_of_step(r, l, c, h);
    s = party_refresh_take(&l->refresh, b, &r->shape, &l->sent, &round, &result->error);
    if (s != STATUS_OK)
        return error_wrap(&result->error, "the server: step %llu", (unsigned long long)l->applied);
    if (b->frozen)
        return STATUS_OK;
    party_refresh_apply(&l->refresh, b, &l->sent, &c->plan, l->applied, clip);
    result->clipped += l->refresh.clipped;
    return STATUS_OK;
}

enum status party_work_step(struct party_learner *l, struct party_round *r, struct party_course *c,
                            const struct party_host *h, bool apply, struct party_result *result)
{
    const uint64_t start = h->setup->clock_us();
    enum status s = party_note_before(l, &c->plan, &result->error);

    if (s == STATUS_OK)
        s = step_down(l, r, c, h, apply && has_turn(c, l->applied), result);
    if (s == STATUS_OK && l->bottom.halt.interrupted) {
        s = party_undo(l, &result->error);
    } else if (s == STATUS_OK) {
        if (apply)
            party_sent_close(&l->sent);
        if (r->task.work == WORK_ROUND) /* a replay is what the server says, and costs nothing */
            party_learner_released(l, c->playing);
        party_learner_advance(l);
    }
    spans_add(h->spans, SPAN_COMPUTE, h->setup->clock_us() - start);
    return s;
}

/* --- a round that is opened --- */

/* What the end of the step will take out of the sum: this party's part without its noise.  With the
 * noise, the next model would depend on a secret draw, and not on the released sum and its own data
 * alone, which is what accounting of later releases rests on (docs/adr/0013). */
static void note_own(struct party_learner *l, const struct secagg_shape *shape, const float *x,
                     size_t n, const struct secagg_round *round)
{
    secagg_alone(shape, l->sent.own, x, n, round);
}

static enum status protect(struct party_round *r, struct party_learner *l,
                           const struct party_setup *setup, const struct secagg_round *round,
                           const float *x, size_t n)
{
    enum status s;

    seed_noise(r, setup);
    s = secagg_protect(r->masks, r->upload.payload, r->upload.check, x, n, round, &r->noise);
    draw_forget(&r->noise);
    if (s == STATUS_OK && l->sent.kept && purpose_of(r->task.purpose)->trains)
        note_own(l, &r->shape, x, n, round);
    return s;
}

static enum status deal_out(struct party_deal *d, struct party_round *r, const struct party_host *h,
                            const struct secagg_round *round, struct error *err)
{
    const uint64_t start = h->setup->clock_us();
    enum status s = party_deal_work(d, r, h->setup, round, err);

    spans_add(h->spans, SPAN_PROTECT, h->setup->clock_us() - start);
    if (s != STATUS_OK && err->status != s) /* it says no more */
        error_set(err, s, "%s", status_words(s));
    return s == STATUS_OK ? s : error_wrap(err, "dealing");
}

static const float *embed(struct party_learner *l, const struct party_course *c,
                          const struct party_task *t, const struct party_setup *setup, size_t *n)
{
    const struct purpose *is = purpose_of(t->purpose);

    if (!is->trains || !left_out(c, t->place))
        return c->mode->embed(l, t, is->test ? setup->data.test : setup->data.train, n);
    *n = (size_t)t->rows * l->bottom.width;
    return party_bottom_leave_out(&l->bottom, t->rows);
}

enum status party_work_open(struct party_round *r, struct party_learner *l, struct party_course *c,
                            struct party_deal *d, const struct party_host *h,
                            struct party_result *result)
{
    const struct party_task *t = &r->task;
    const struct purpose *is = purpose_of(t->purpose);
    const struct trail_round at = place_of(t, h->set);
    const uint64_t start = h->setup->clock_us();
    struct secagg_round round;
    uint64_t computed;
    enum status s;
    const float *x;
    size_t n;

    trail_view(r->view, &l->digest, &l->trail, &at);
    round = round_at(r, l, c, h, &at);
    if (is->deals)
        return deal_out(d, r, h, &round, &result->error);
    x = embed(l, c, t, h->setup, &n);
    computed = h->setup->clock_us();
    spans_add(h->spans, SPAN_COMPUTE, computed - start);
    s = protect(r, l, h->setup, &round, x, n);
    spans_add(h->spans, SPAN_PROTECT, h->setup->clock_us() - computed);
    if (s != STATUS_OK)
        error_set(&result->error, s, "round %llu: %s", (unsigned long long)t->round,
                  status_words(s));
    return s;
}

/* --- others' shares --- */

/* A share that does not open is the dealer's fault or the server's: nobody here can tell. */
enum status party_work_sum(struct party_round *r, struct party_learner *l, struct party_course *c,
                           struct party_deal *d, const struct party_host *h,
                           struct party_result *result)
{
    const struct party_task *t = &r->task;
    const struct party_set *set = h->set;
    const struct party_sealed got = party_sealed_of(r, c, set);
    const struct trail_round at = place_of(t, set);
    struct secagg_round round = round_at(r, l, c, h, &at);
    const uint64_t start = h->setup->clock_us();
    uint32_t faulty = 0;
    enum status s;

    if (c->mode->data != NULL)
        round.data = c->mode->data(d, t, &r->shape);
    if (purpose_of(t->purpose)->deals)
        s = party_deal_take(d, r, &got, &round, &faulty, &result->error);
    else
        s = secagg_relay(r->masks, r->upload.payload, got.sealed, got.tags, party_values(r, c),
                         &round, &faulty, &result->error);
    spans_add(h->spans, SPAN_PROTECT, h->setup->clock_us() - start);
    if (s == STATUS_AUTH) {
        result->accused = set->members[faulty] + 1;
        error_wrap(&result->error, "round %llu: the share of %s (or the server that passed it on)",
                   (unsigned long long)t->round,
                   h->setup->roster->party[set->members[faulty]].name);
    }
    return s;
}

/* --- missed steps --- */

/* What is shown is looked at step by step: it takes the model of that step to do so. */
enum status party_work_check_replay(struct party_learner *l, const struct party_round *r,
                                    struct party_course *c, struct error *err)
{
    const uint8_t *at = r->received.data, *end = at + r->received.len;
    const struct down *down = &l->bottom.back.down;
    uint32_t rows;

    for (uint64_t step = l->applied; at < end && down->with_gradient; step++) {
        (void)party_batch(c, step, &rows);
        if (!gradient_unpack(&down->gradient, l->bottom.back.factors, at, rows))
            return party_violation(err, "a gradient with a value that is not finite, step", step);
        at += party_step_bytes(l, rows);
    }
    return STATUS_OK;
}

size_t party_work_again(struct party_learner *l, struct party_round *r, struct party_course *c,
                        const struct party_host *h, const uint8_t *at)
{
    const uint64_t start = h->setup->clock_us();
    uint32_t rows;
    const uint32_t *row = party_batch(c, l->applied, &rows);
    const float *x = left_out(c, l->applied) ? party_bottom_leave_out(&l->bottom, rows)
                                             : party_bottom_train(&l->bottom, h->setup->data.train,
                                                                  row, rows, l->applied);

    memcpy(l->bottom.back.received, at, party_step_bytes(l, rows));
    if (l->sent.kept) {
        struct secagg_round round;

        x = party_sent_begin(&l->sent, x, row, rows, h->setup->data.train->lacks);
        round = round_of_step(r, l, c, h);
        note_own(l, &r->shape, x, (size_t)rows * l->bottom.width, &round);
    }
    spans_add(h->spans, SPAN_COMPUTE, h->setup->clock_us() - start);
    return party_step_bytes(l, rows);
}
