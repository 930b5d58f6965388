/* round.c -- ROUND: the gradient of one step in, the protected embeddings of the next batch out.
 *
 * The happy path: broadcast -> (charge) -> work: apply, forward, encode, protect -> upload.  A
 * request is answered once; within a generation rounds only grow; everything asked must be on the
 * plan's agenda (threats A1, B2, B3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/base/check.h"
#include "common/base/log.h"

#include <math.h>
#include <string.h>

static enum status violation(struct party_session *p, const char *what, uint64_t number)
{
    return error_set(&p->error, STATUS_PROTOCOL, "broadcast: %s (%llu)", what,
                     (unsigned long long)number);
}

/* --- the gradient of the step that ends --- */

static enum status take_gradient(struct party_session *p, const struct wire_broadcast *b)
{
    size_t floats =
        (size_t)agenda_batch_rows(&p->agenda, &p->plan, b->close_step) * p->plan.model.embedding;
    float *g = p->bottom.gradient;
    unsigned bad = 0;

    if (b->gradient.n != floats * sizeof(float))
        return violation(p, "gradient of the wrong size", b->gradient.n);
    memcpy(g, b->gradient.data, b->gradient.n);
    for (size_t i = 0; i < floats; i++)
        bad |= isfinite(g[i]) ? 0u : 1u;
    if (bad)
        return violation(p, "gradient with a value that is not finite, step", b->close_step);
    return STATUS_OK;
}

/* Awaited: apply it.  Already applied: only the first broadcast of a generation may repeat it.
 * Missed (this party was not in that round): only under `drop`. */
static enum status plan_close(struct party_session *p, const struct wire_broadcast *b)
{
    bool drop = p->plan.protocol.straggler == STRAGGLER_DROP;

    p->task.apply = false;
    if (!b->closes)
        return STATUS_OK;
    if (b->close_step >= p->agenda.steps)
        return violation(p, "closes a step beyond the plan", b->close_step);
    if (b->close_step == p->applied && p->pending) {
        p->task.apply = true;
        p->task.close_step = b->close_step;
        return take_gradient(p, b);
    }
    if (p->first_broadcast && b->close_step + 1 == p->applied)
        return STATUS_OK;
    if (drop && p->first_broadcast && b->close_step >= p->applied) {
        p->pending = false;
        p->applied = b->close_step + 1;
        return STATUS_OK;
    }
    return violation(p, "closes a step that this party did not upload", b->close_step);
}

/* --- the round that begins --- */

/* Steps applied once the task's gradient is in. */
static uint64_t applied_then(const struct party_session *p)
{
    return p->applied + (p->task.apply ? 1 : 0);
}

static enum status plan_step(struct party_session *p, const struct wire_broadcast *b)
{
    bool repeats = p->pending && !p->task.apply && p->pending_generation == p->generation;

    if (b->place != applied_then(p) || b->place >= p->agenda.steps)
        return violation(p, "opens a step out of order", b->place);
    if (repeats)
        return violation(p, "asks for the same step twice in one generation", b->place);
    p->task.row = schedule_batch(&p->schedule, b->place, &p->task.rows);
    return STATUS_OK;
}

static enum status plan_sweep(struct party_session *p, const struct wire_broadcast *b)
{
    bool test = b->purpose == PURPOSE_EVALUATE_TEST;
    uint32_t all = test ? p->plan.shape.test_rows : p->plan.shape.train_rows,
             most = wire_evaluate_rows(&p->plan);
    bool later = b->sweep > p->last_sweep ||
                 (b->sweep == p->last_sweep && test && p->last_sweep_split != b->purpose) ||
                 (b->sweep == p->last_sweep && b->purpose == p->last_sweep_split &&
                  b->place > p->last_sweep_row);

    if (!test && !p->plan.training.evaluate_train)
        return violation(p, "evaluates training rows, which is not in the plan: sweep", b->sweep);
    if (!agenda_due(&p->agenda, applied_then(p)) ||
        b->sweep != agenda_sweeps_until(&p->agenda, applied_then(p)))
        return violation(p, "an evaluation that is not due: sweep", b->sweep);
    if (b->place >= all || b->place % most != 0 || !later)
        return violation(p, "evaluates rows out of order: row", b->place);
    p->task.rows = all - (uint32_t)b->place < most ? all - (uint32_t)b->place : most;
    p->task.row = NULL;
    p->last_sweep = b->sweep;
    p->last_sweep_split = b->purpose;
    p->last_sweep_row = b->place;
    return STATUS_OK;
}

static enum status plan_open(struct party_session *p, const struct wire_broadcast *b)
{
    enum status s;

    p->task.open = b->opens;
    if (!b->opens)
        return STATUS_OK;
    if (b->round <= p->last_round)
        return violation(p, "a round that does not grow", b->round);
    p->task.purpose = b->purpose;
    p->task.round = b->round;
    p->task.place = b->place;
    p->task.sweep = b->sweep;
    s = b->purpose == PURPOSE_TRAIN ? plan_step(p, b) : plan_sweep(p, b);
    if (s == STATUS_OK)
        p->last_round = b->round;
    return s;
}

static void start_work(struct party_session *p, struct actions *a)
{
    struct action *work = actions_add(a, ACTION_WORK);
    const struct nn_spec *spec = &p->bottom.net.spec;

    work->flops = 0;
    if (p->task.apply)
        work->flops += nn_net_flops(spec, p->bottom.batch_rows) * p->plan.protocol.local_iterations;
    if (p->task.open)
        work->flops += nn_net_flops(spec, p->task.rows) / 3 +
                       8.0 * p->members_n * (double)p->task.rows * p->plan.model.embedding;
}

void party_broadcast(struct party_session *p, struct actions *a, const struct event *e)
{
    const struct wire_broadcast *b = &e->msg->broadcast;
    enum status s = STATUS_OK;

    if (b->generation != p->generation)
        s = violation(p, "of another generation", b->generation);
    if (s == STATUS_OK)
        s = plan_close(p, b);
    if (s == STATUS_OK)
        s = plan_open(p, b);
    if (s != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    p->first_broadcast = false;
    /* Parties that saw different broadcasts make different masks, and so noise (design: Masked). */
    digest_begin(&p->digest);
    digest_update(&p->digest, e->raw.data, e->raw.n);
    digest_final(&p->digest, p->broadcast);
    if (!p->task.open || party_reserved(p, a))
        start_work(p, a);
}

void party_charged(struct party_session *p, struct actions *a, const struct error *result)
{
    if (result->status == STATUS_OK) {
        start_work(p, a);
        return;
    }
    /* What was refused is not in the ledger, so it must not be given back. */
    party_forget_reserves(p);
    p->error = *result;
    party_refuse(p, a);
}

/* --- the work --- */

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

void party_session_work(struct party_session *p)
{
    struct party_task *t = &p->task;
    struct secagg_round round = {(uint8_t)t->purpose, t->round, p->sid, p->broadcast};
    uint64_t start = p->setup.clock_us(), computed;
    const float *h;

    t->status = STATUS_OK;
    if (t->apply)
        p->report.clipped += party_bottom_apply(&p->bottom, &p->plan, t->close_step,
                                                p->setup.config->policy.gradient_clip);
    if (!t->open) {
        spans_add(&p->spans, SPAN_COMPUTE, p->setup.clock_us() - start);
        return;
    }
    if (t->purpose == PURPOSE_TRAIN)
        h = party_bottom_train(&p->bottom, p->setup.train, t->row, t->rows);
    else
        h = party_bottom_evaluate(
            &p->bottom, t->purpose == PURPOSE_EVALUATE_TEST ? p->setup.test : p->setup.train,
            (uint32_t)t->place, t->rows);
    computed = p->setup.clock_us();
    spans_add(&p->spans, SPAN_COMPUTE, computed - start);
    seed_noise(p);
    t->status = secagg_protect(p->masks, p->payload, p->check, h,
                               (size_t)t->rows * p->plan.model.embedding, &round, &p->noise);
    spans_add(&p->spans, SPAN_PROTECT, p->setup.clock_us() - computed);
}

void party_worked(struct party_session *p, struct actions *a)
{
    const struct party_task *t = &p->task;
    enum plan_aggregation agg = p->plan.protocol.aggregation;
    struct action *send;

    if (t->status != STATUS_OK) {
        error_set(&p->error, t->status, "round %llu: %s", (unsigned long long)t->round,
                  status_words(t->status));
        party_refuse(p, a);
        return;
    }
    if (t->apply) {
        p->stalled = 0;
        p->applied++;
        p->pending = false;
    }
    if (!t->open)
        return;
    if (t->purpose == PURPOSE_TRAIN) {
        p->pending = true;
        p->pending_generation = p->generation;
    }
    p->report.rounds++;
    p->report.last_rows = t->rows;
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_UPLOAD;
    send->msg.upload = (struct wire_upload){
        .generation = p->generation,
        .round = t->round,
        .purpose = t->purpose,
        .payload = {p->payload, secagg_payload_bytes(agg, &p->shape,
                                                     (size_t)t->rows * p->plan.model.embedding)},
        .check = {p->check, secagg_check_bytes(agg, &p->shape)},
    };
    party_arm(p, a);
}
