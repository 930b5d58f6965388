/* round.c -- what a broadcast asks for, against the plan; life of the round's buffers.
 *
 * A request is answered once; within a generation rounds only grow; everything asked must be on the
 * plan's agenda (threats A1, B2, B3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/round.h"

#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/crypto/secret.h"
#include "common/wire/limits.h"
#include "common/wire/purpose.h"

/* --- life --- */

enum status party_round_init(struct party_round *r)
{
    buf_init(&r->received, WIRE_PAYLOAD_MAX);
    return rng_init_system(&r->noise);
}

enum status party_round_make_room(struct party_round *r, const struct party_course *c)
{
    const struct plan *plan = &c->plan;

    r->shape = (struct secagg_shape){
        .concat = plan_keeps_apart(plan),
        .parties = plan->shape.parties,
        .self = c->self, /* until a generation says otherwise */
        .values_max = wire_evaluate_rows(plan) * plan->model.embedding,
        .segments = plan->protocol.coded.segments,
        .privacy = plan->protocol.coded.privacy,
    };
    if (encode_init(&r->shape.encode, plan, plan->shape.parties) != STATUS_OK)
        return STATUS_CONFIG;
    r->upload.check = mem_alloc((size_t)WIRE_TAGS_MAX + PARTY_CHECK_MAX, 1);
    r->coded = mem_alloc(wire_evaluate_rows(plan), sizeof *r->coded);
    if (r->upload.check == NULL || r->coded == NULL)
        return STATUS_MEMORY;
    return STATUS_OK;
}

void party_round_free_room(struct party_round *r)
{
    if (r->upload.payload != NULL) /* shares that a failure left unsealed */
        secret_wipe(r->upload.payload, r->upload.payload_max);
    mem_free(r->upload.payload);
    mem_free(r->upload.check);
    mem_free(r->coded);
    r->upload.payload = r->upload.check = NULL;
    r->coded = NULL;
}

void party_round_deinit(struct party_round *r)
{
    party_round_end(r);
    party_round_free_room(r);
    rng_deinit(&r->noise);
    buf_deinit(&r->received);
}

double party_round_reach(const struct party_round *r)
{
    return r->shape.terms.field != NULL ? fedvs_reach(&r->shape.terms) : r->reach;
}

/* --- the generation --- */

void party_round_begin(struct party_round *r, const struct party_set *set)
{
    r->shape.parties = set->members_n;
    r->shape.self = set->self;
}

enum status party_round_make_masks(struct party_round *r, const struct party_course *c,
                                   const struct party_set *set, const struct secagg_pair *pairs,
                                   struct error *err)
{
    enum status s = encode_init(&r->shape.encode, &c->plan, set->members_n);

    if (s == STATUS_OK)
        s = secagg_party_new(&r->masks, c->plan.protocol.aggregation, &r->shape, pairs);
    if (s != STATUS_OK)
        return error_set(err, s, "keys of generation %llu: %s", (unsigned long long)set->generation,
                         status_words(s));
    return STATUS_OK;
}

void party_round_start(struct party_round *r)
{
    r->last = 0;
    r->sweep.number = 0;
}

void party_round_end(struct party_round *r)
{
    r->relay_due = false;
    if (r->masks != NULL)
        r->weights_cut += secagg_clipped(r->masks);
    secagg_party_free(r->masks);
    r->masks = NULL;
}

/* --- the gradient of the step that ends --- */

static bool among(const struct wire_bytes *members, uint32_t self)
{
    for (size_t i = 0; i < members->n; i++) {
        if (members->data[i] == self)
            return true;
    }
    return false;
}

/* Only the step that this party has just uploaded for can end; in a sum that did without this party
 * there is nothing to apply. */
enum status party_round_plan_close(struct party_round *r, const struct party_learner *l,
                                   const struct party_course *c, const struct party_set *set,
                                   const struct wire_broadcast *b, struct error *err)
{
    r->task.close = r->task.apply = false;
    if (!b->closes)
        return STATUS_OK;
    if (b->close_step != l->applied || !l->pending)
        return party_violation(err, "closes a step that this party did not upload", b->close_step);
    if (b->absent.n > 0 && !aggregation_partial(&c->plan))
        return party_violation(err, "closes a step without some members", b->close_step);
    r->task.close = true;
    r->task.apply = !among(&b->absent, set->self);
    r->task.close_step = b->close_step;
    return STATUS_OK;
}

/* Steps behind this party once the task is done. */
static uint64_t applied_then(const struct party_task *t, const struct party_learner *l)
{
    return l->applied + (t->close ? 1 : 0);
}

static bool ends_early(const struct plan *p)
{
    return p->training.stop.metric != METRIC_NONE || p->training.patience > 0;
}

/* Only the server sees that a target is reached, or patience over; and a party's own steps may not
 * tell how many the run has done. */
enum status party_round_plan_end(struct party_round *r, const struct party_learner *l,
                                 const struct party_course *c, const struct wire_broadcast *b,
                                 struct error *err)
{
    const uint64_t applied = applied_then(&r->task, l);

    r->task.last = b->last;
    if (b->last && applied < c->agenda.steps && !ends_early(&c->plan) && !c->mode->own_steps)
        return party_violation(err, "ends the run before the plan does, after step", applied);
    return STATUS_OK;
}

/* --- the round that begins --- */

static enum status plan_step(const struct party_task *t, const struct party_learner *l,
                             uint64_t applied, const struct agenda *agenda, struct error *err)
{
    if (t->place != applied || t->place >= agenda->party_steps)
        return party_violation(err, "opens a step out of order", t->place);
    if (l->pending && !t->close)
        return party_violation(err, "asks for the same step twice in one generation", t->place);
    return STATUS_OK;
}

/* Sweeps come in order, and in one the rows of one split after the other. */
static bool is_later(const struct party_sweep *last, const struct party_task *t)
{
    if (t->sweep != last->number)
        return t->sweep > last->number;
    if (t->purpose != last->split)
        return purpose_of(t->purpose)->test;
    return t->place > last->row;
}

static enum status plan_sweep(struct party_round *r, const struct party_course *c, uint64_t applied,
                              struct error *err)
{
    struct party_task *t = &r->task;
    const bool test = purpose_of(t->purpose)->test;
    const uint32_t most = agenda_round_places(&c->plan), place = (uint32_t)t->place;
    struct segments s;

    agenda_segments(&s, &c->plan, test);
    if (!test && !c->plan.training.evaluate_train)
        return party_violation(err, "evaluates training rows, which is not in the plan: sweep",
                               t->sweep);
    if (!c->mode->sweep_is_due(&c->agenda, applied, t->sweep))
        return party_violation(err, "an evaluation that is not due: sweep", t->sweep);
    if (t->place >= s.len || t->place % most != 0 || !is_later(&r->sweep, t))
        return party_violation(err, "evaluates rows out of order: row", t->place);
    t->coded = s.len - place < most ? s.len - place : most;
    t->rows = segments_range(&s, NULL, place, t->coded);
    t->row = NULL;
    r->sweep = (struct party_sweep){.number = t->sweep, .row = t->place, .split = t->purpose};
    return STATUS_OK;
}

enum status party_round_plan_open(struct party_round *r, const struct wire_broadcast *b,
                                  struct error *err)
{
    struct party_task *t = &r->task;

    t->open = b->opens;
    if (!b->opens)
        return STATUS_OK;
    if (b->round <= r->last)
        return party_violation(err, "a round that does not grow", b->round);
    r->last = b->round;
    t->purpose = b->purpose;
    t->round = b->round;
    t->place = b->place;
    t->sweep = b->sweep;
    return STATUS_OK;
}

enum status party_round_plan_rows(struct party_round *r, const struct party_learner *l,
                                  const struct party_course *c, struct error *err)
{
    const uint64_t applied = applied_then(&r->task, l);

    return purpose_of(r->task.purpose)->trains ? plan_step(&r->task, l, applied, &c->agenda, err)
                                               : plan_sweep(r, c, applied, err);
}

void party_round_list(struct party_round *r, struct party_course *c)
{
    struct party_task *t = &r->task;

    if (purpose_of(t->purpose)->trains)
        t->row = party_batch(c, t->place, &t->rows);
    if (c->mode->list_coded != NULL)
        c->mode->list_coded(r, &c->schedule);
}

double party_round_flops(const struct party_round *r, const struct party_learner *l,
                         const struct party_course *c)
{
    const struct party_task *t = &r->task;
    const struct nn_spec *net = &l->bottom.net.spec;
    const double steps = t->apply ? c->plan.protocol.local_iterations : 0,
                 rows = (t->open ? t->rows : 0) + steps * l->bottom.batch_rows;

    return rows * nn_net_flops(net, 1) + steps * party_step_flops(net) +
           (t->open ? c->mode->slow : 0) + party_refresh_flops(&l->refresh, &c->plan);
}

/* Tables of many levels are more than their rows of a batch ever touch: gradients are cleared,
 * moments and decay go over all of it, and noise as well. */
double party_step_flops(const struct nn_spec *net)
{
    return 30.0 * (double)nn_spec_params(net);
}
