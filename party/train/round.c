/* round.c -- ROUND and STREAM: the gradient of one step in, the protected embeddings of the next
 * batch out; and the first half of SHARE.
 *
 * The happy path: broadcast -> (charge) -> work: apply, forward, encode, protect -> upload, or
 * share.  A request is answered once; within a generation rounds only grow; everything asked must
 * be on the plan's agenda (threats A1, B2, B3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/round.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/config/aggregation.h"
#include "party/train/parts.h"

#include <string.h>

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
static enum status plan_close(struct party_train *p, const struct wire_broadcast *b)
{
    p->round.task.close = p->round.task.apply = false;
    if (!b->closes)
        return STATUS_OK;
    if (b->close_step != p->learner.applied || !p->learner.pending)
        return party_violation(p->error, "closes a step that this party did not upload",
                               b->close_step);
    if (b->absent.n > 0 && !aggregation_partial(&p->learner.plan))
        return party_violation(p->error, "closes a step without some members", b->close_step);
    p->round.task.close = true;
    p->round.task.apply = !among(&b->absent, p->set->self);
    p->round.task.close_step = b->close_step;
    return party_copy_gradient(p, p->learner.bottom.received, b->gradient,
                               down_words(&p->learner.bottom.down, p->learner.bottom.batch_rows));
}

/* Steps behind this party once the task is done. */
static uint64_t applied_then(const struct party_train *p)
{
    return p->learner.applied + (p->round.task.close ? 1 : 0);
}

/* Only the server sees that a target is reached; and under async a party's own steps do not tell
 * how many the run has done. */
static enum status plan_end(struct party_train *p, const struct wire_broadcast *b)
{
    const struct plan *plan = &p->learner.plan;

    p->round.task.last = b->last;
    if (b->last && applied_then(p) < p->learner.agenda.steps &&
        plan->training.stop.metric == METRIC_NONE && plan->protocol.straggler != STRAGGLER_ASYNC)
        return party_violation(p->error, "ends the run before the plan does, after step",
                               applied_then(p));
    return STATUS_OK;
}

/* --- the round that begins --- */

static enum status plan_step(struct party_train *p, const struct wire_broadcast *b)
{
    if (b->place != applied_then(p) || b->place >= p->learner.agenda.party_steps)
        return party_violation(p->error, "opens a step out of order", b->place);
    if (p->learner.pending && !p->round.task.close)
        return party_violation(p->error, "asks for the same step twice in one generation",
                               b->place);
    return STATUS_OK;
}

/* Under async a party's own steps do not tell how many the run has done: there it is the number of
 * the sweep that only grows, and every one is on the agenda. */
static bool sweep_is_due(const struct party_train *p, uint64_t sweep)
{
    if (p->learner.plan.protocol.straggler == STRAGGLER_ASYNC)
        return sweep >= 1 && sweep <= p->learner.agenda.sweeps;
    return agenda_due(&p->learner.agenda, applied_then(p)) &&
           sweep == agenda_sweeps_until(&p->learner.agenda, applied_then(p));
}

static enum status plan_sweep(struct party_train *p, const struct wire_broadcast *b)
{
    bool test = b->purpose == PURPOSE_EVALUATE_TEST;
    uint32_t most = agenda_round_places(&p->learner.plan), all;
    struct segments s;
    bool later =
        b->sweep > p->round.sweep.number ||
        (b->sweep == p->round.sweep.number && test && p->round.sweep.split != b->purpose) ||
        (b->sweep == p->round.sweep.number && b->purpose == p->round.sweep.split &&
         b->place > p->round.sweep.row);

    agenda_segments(&s, &p->learner.plan, test);
    all = s.len;
    if (!test && !p->learner.plan.training.evaluate_train)
        return party_violation(p->error, "evaluates training rows, which is not in the plan: sweep",
                               b->sweep);
    if (!sweep_is_due(p, b->sweep))
        return party_violation(p->error, "an evaluation that is not due: sweep", b->sweep);
    if (b->place >= all || b->place % most != 0 || !later)
        return party_violation(p->error, "evaluates rows out of order: row", b->place);
    p->round.task.coded = all - (uint32_t)b->place < most ? all - (uint32_t)b->place : most;
    p->round.task.rows = segments_range(&s, NULL, (uint32_t)b->place, p->round.task.coded);
    p->round.task.row = NULL;
    p->round.sweep.number = b->sweep;
    p->round.sweep.split = b->purpose;
    p->round.sweep.row = b->place;
    return STATUS_OK;
}

static enum status plan_open(struct party_train *p, const struct wire_broadcast *b)
{
    enum status s;

    p->round.task.open = b->opens;
    if (!b->opens)
        return STATUS_OK;
    if (b->round <= p->round.last)
        return party_violation(p->error, "a round that does not grow", b->round);
    p->round.task.purpose = b->purpose;
    p->round.task.round = b->round;
    p->round.task.place = b->place;
    p->round.task.sweep = b->sweep;
    if (wire_purpose_deals(b->purpose))
        s = party_plan_deal(p, b);
    else if (!party_dealt(p))
        s = party_violation(p->error, "opens a round before the data is dealt", b->round);
    else
        s = b->purpose == PURPOSE_TRAIN ? plan_step(p, b) : plan_sweep(p, b);
    if (s == STATUS_OK && !wire_purpose_deals(b->purpose))
        s = party_count_opened(p);
    if (s == STATUS_OK)
        p->round.last = b->round;
    return s;
}

/* The rows of the round, once the charge is done, which has looked at others. */
static void list_rows(struct party_train *p)
{
    struct party_task *t = &p->round.task;

    if (t->purpose == PURPOSE_TRAIN)
        t->row = party_batch(p, t->place, &t->rows);
    if (!party_deals(p) || wire_purpose_deals(t->purpose))
        return;
    if (t->purpose == PURPOSE_TRAIN)
        t->coded = p->learner.schedule.coded_n;
    for (uint32_t i = 0; i < t->coded; i++)
        p->round.coded[i] =
            t->purpose == PURPOSE_TRAIN ? p->learner.schedule.coded[i] : (uint32_t)t->place + i;
}

void party_start_round(struct party_train *p, struct actions *a)
{
    double rows, flops = nn_net_flops(&p->learner.bottom.net.spec, 1);

    if (p->round.task.open)
        list_rows(p);
    rows = p->round.task.open ? p->round.task.rows : 0;
    if (p->round.task.apply)
        rows += (double)p->learner.bottom.batch_rows * p->learner.plan.protocol.local_iterations;
    actions_add(a, ACTION_WORK)->flops = rows * flops + party_flops_to_share(p) +
                                         party_refresh_flops(&p->learner.refresh, &p->learner.plan);
}

enum status party_broadcast(struct party_train *p, struct actions *a,
                            const struct wire_broadcast *b)
{
    enum status s = STATUS_OK;

    if (b->generation != p->set->generation)
        s = party_violation(p->error, "a broadcast of another generation", b->generation);
    else if (p->round.relay_due)
        s = party_violation(p->error, "goes on without relaying the shares of round",
                            p->round.task.round);
    if (s == STATUS_OK)
        s = plan_close(p, b);
    if (s == STATUS_OK)
        s = plan_end(p, b);
    if (s == STATUS_OK)
        s = plan_open(p, b);
    if (s != STATUS_OK)
        return s;
    party_witness_ended(p);
    p->round.task.work = WORK_ROUND;
    if (b->opens && b->purpose == PURPOSE_TRAIN)
        p->learner.final = false; /* a server that lost its end trains on */
    if (p->sm->phase == PHASE_SUM && p->round.task.open)
        sm_move(p->sm, PHASE_SHARE, p->set->generation);
    if (!p->round.task.close && !p->round.task.open)
        return party_close(p, a);
    if (!p->round.task.open || party_reserved(p, a))
        party_start_round(p, a);
    return STATUS_OK;
}

/* --- after the work --- */

enum status party_round_worked(struct party_train *p, struct actions *a)
{
    const struct party_task *t = &p->round.task;

    if (t->close)
        p->learner.pending = false;
    if (t->last)
        return party_close(p, a); /* which makes the final checkpoint right now */
    if (p->round.result.saved)
        party_keep(p, a);
    if (!t->open)
        return STATUS_OK;
    p->learner.pending = t->purpose == PURPOSE_TRAIN;
    log_debug("generation %llu, round %llu: %u rows leave (%s)",
              (unsigned long long)p->set->generation, (unsigned long long)t->round, t->rows,
              wire_purpose_name(t->purpose));
    if (!wire_purpose_deals(t->purpose)) {
        p->count.rounds++;
        p->count.last_rows = t->rows;
    }
    if (secagg_shares(p->learner.plan.protocol.aggregation))
        party_send_share(p, a);
    else
        party_send_upload(p, a);
    party_arm(p, a);
    return STATUS_OK;
}
