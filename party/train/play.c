/* play.c -- ROUND, STREAM, SHARE and SUM: the gradient of one step in, the protected embeddings of
 * the next batch out.
 *
 * The happy path: broadcast -> (charge) -> work: apply, forward, encode, protect -> upload, or
 * share -> relay -> work: open, add -> upload.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/log.h"
#include "common/base/subnormal.h"
#include "common/wire/purpose.h"

/* --- what is asked --- */

static enum status plan_rows(struct party_train *p, const struct wire_broadcast *b)
{
    struct party_task *t = &p->round.task;
    struct error *err = p->host->error;
    enum status s;

    if (purpose_of(t->purpose)->deals)
        return party_deal_plan(&p->deal, t, b, err);
    if (!party_dealt(&p->deal))
        return party_violation(err, "opens a round before the data is dealt", b->round);
    s = party_round_plan_rows(&p->round, &p->learner, &p->course, err);
    return s == STATUS_OK ? party_count_opened(&p->purse, t, err) : s;
}

static enum status plan_task(struct party_train *p, const struct wire_broadcast *b)
{
    const struct party_set *set = p->host->set;
    struct party_round *r = &p->round;
    struct error *err = p->host->error;
    enum status s = STATUS_OK;

    if (b->generation != set->generation)
        return party_violation(err, "a broadcast of another generation", b->generation);
    if (r->relay_due)
        return party_violation(err, "goes on without relaying the shares of round", r->task.round);
    s = party_round_plan_close(r, &p->learner, &p->course, set, b, err);
    if (s == STATUS_OK && r->task.close)
        s = party_learner_receive(&p->learner, b->gradient, p->learner.bottom.batch_rows, err);
    if (s == STATUS_OK)
        s = party_round_plan_end(r, &p->learner, &p->course, b, err);
    if (s == STATUS_OK)
        s = party_round_plan_open(r, b, err);
    return s == STATUS_OK && r->task.open ? plan_rows(p, b) : s;
}

void party_start_round(struct party_train *p, struct actions *a)
{
    if (p->round.task.open)
        party_round_list(&p->round, &p->course);
    actions_add(a, ACTION_WORK)->flops = party_round_flops(&p->round, &p->learner, &p->course);
}

enum status party_broadcast(struct party_train *p, struct actions *a,
                            const struct wire_broadcast *b)
{
    struct party_task *t = &p->round.task;
    const struct party_set *set = p->host->set;
    enum status s;

    if (b->ids.n > 0)
        return party_violation(p->host->error, "names rows, which the plan does: round", b->round);
    s = plan_task(p, b);
    if (s != STATUS_OK)
        return s;
    if (!party_best_may_be(&p->learner.best, b->best, p->learner.applied))
        return party_violation(p->host->error, PARTY_NO_EVALUATION, b->best);
    party_learner_best(&p->learner, b->best);
    if (t->open)
        party_learner_reopen(&p->learner);
    party_witness_ended(&p->purse.witness, &p->course, set);
    t->work = WORK_ROUND;
    if (t->open && purpose_of(t->purpose)->trains)
        p->learner.final = false; /* a server that lost its end trains on */
    if (p->host->sm->phase == PHASE_SUM && t->open)
        sm_move(p->host->sm, p->course.mode->opens, set->generation);
    if (!t->close && !t->open)
        return party_close(p, a);
    if (!t->open || party_reserved(&p->purse, &p->course, t, a))
        party_start_round(p, a);
    return STATUS_OK;
}

enum status party_relay(struct party_train *p, struct actions *a, const struct wire_shares *w)
{
    const struct party_set *set = p->host->set;
    struct party_round *r = &p->round;
    enum status s = party_take_relay(r, &p->course, set, w, p->host->error);

    if (s != STATUS_OK)
        return s;
    if (!purpose_of(r->task.purpose)->deals)
        sm_move(p->host->sm, PHASE_SUM, set->generation);
    actions_add(a, ACTION_WORK)->flops = party_sum_flops(r, &p->course, set);
    return STATUS_OK;
}

/* --- the work --- */

/* What came down for the step after those that are behind this party. */
static enum status take_step(struct party_train *p, bool apply, struct party_result *r)
{
    enum status s = party_work_step(&p->learner, &p->round, &p->course, p->host, apply, r);

    return s == STATUS_OK && !p->learner.bottom.halt.interrupted ? party_save_when_due(p, r) : s;
}

static enum status work_on_round(struct party_train *p, struct party_result *r)
{
    const struct party_task *t = &p->round.task;
    enum status s = t->close ? take_step(p, t->apply, r) : STATUS_OK;

    if (s != STATUS_OK || !t->open || p->learner.bottom.halt.interrupted)
        return s;
    return party_work_open(&p->round, &p->learner, &p->course, &p->deal, p->host, r);
}

static enum status work_on_replay(struct party_train *p, struct party_result *r)
{
    const uint8_t *at = p->round.received.data, *end = at + p->round.received.len;
    bool *interrupted = &p->learner.bottom.halt.interrupted;
    enum status s = party_work_check_replay(&p->learner, &p->round, &p->course, &r->error);

    while (at < end && s == STATUS_OK && !*interrupted) {
        at += party_work_again(&p->learner, &p->round, &p->course, p->host, at);
        s = take_step(p, true, r);
        *interrupted |= atomic_load(p->host->stop);
    }
    return s;
}

static enum status work_on(struct party_train *p, struct party_result *r)
{
    switch (p->round.task.work) {
    case WORK_ROUND: return work_on_round(p, r);
    case WORK_SUM: return party_work_sum(&p->round, &p->learner, &p->course, &p->deal, p->host, r);
    case WORK_REPLAY: break;
    }
    return work_on_replay(p, r);
}

void party_train_work(void *state)
{
    struct party_train *p = state;
    struct party_result r = {0};
    const uint64_t mode = subnormal_flush();

    program_round(p->host->setup->start.program);
    r.status = work_on(p, &r);
    r.interrupted = p->learner.bottom.halt.interrupted;
    subnormal_restore(mode);
    p->result = r;
}

/* --- after the work --- */

enum status party_round_worked(struct party_train *p, struct actions *a)
{
    const struct party_task *t = &p->round.task;
    const struct purpose *is = purpose_of(t->purpose);

    if (t->close)
        p->learner.pending = false;
    if (t->last)
        return party_close(p, a); /* which makes the final checkpoint right now */
    if (p->result.saved)
        party_keep_write(&p->keep, a);
    if (!t->open)
        return STATUS_OK;
    p->learner.pending = is->trains;
    log_debug("generation %llu, round %llu: %u rows leave (%s)",
              (unsigned long long)p->host->set->generation, (unsigned long long)t->round, t->rows,
              is->name);
    if (!is->deals) {
        p->count.rounds++;
        p->count.last_rows = t->rows;
    }
    p->course.mode->send(&p->round, &p->course, p->host->set, a);
    party_arm(&p->course, a);
    return STATUS_OK;
}

void party_sum_worked(struct party_train *p, struct actions *a)
{
    if (!purpose_of(p->round.task.purpose)->deals)
        party_send_upload(&p->round, &p->course, p->host->set, a);
    party_arm(&p->course, a);
}
