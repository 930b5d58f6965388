/* catchup.c -- AGREE, before the hello: steps of the run that this party has not applied.
 *
 * The happy path: behind -> replay (gradients) -> work -> behind ... -> hello.  A process that was
 * started again goes on from its checkpoint and is sent what was broadcast since; its batches are
 * known from the schedule, so nothing is released anew.  Only under straggler wait: under drop a
 * party that was away has missed those steps, under async it counts its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/log.h"

/* A server whose last records a power cut took is behind: this party goes back to its checkpoint.
 * What it releases again is charged again, under new keys; and there is an end to it. */
static void go_back(struct party_train *p)
{
    struct party_learner *l = &p->learner;

    if (l->applied <= l->behind.offered || l->behind.gone_back >= PARTY_GO_BACK_MAX ||
        party_go_back(p, l->behind.offered) != STATUS_OK)
        return;
    l->behind.gone_back++;
    party_opened_back(&p->purse, l->applied);
    party_learner_best(l, l->best.named); /* by the offer, before these copies were the party's */
    log_warn("the server has done %llu training steps: going back to the checkpoint of %llu",
             (unsigned long long)l->behind.offered, (unsigned long long)l->applied);
}

/* Where parties are done without it goes on with the model that it has, so there is no checkpoint
 * to go back to, and the server need not have one of its own: but it comes to an end just so. */
static void follow(struct party_learner *l, struct party_purse *purse, const struct agenda *agenda)
{
    const bool back = l->behind.offered < l->applied;

    if (l->behind.offered > agenda->steps)
        return;
    if (back && l->behind.gone_back++ >= PARTY_GO_BACK_MAX)
        return;
    if (!back)
        party_best_pass(&l->best, &l->bottom.net, l->applied, l->behind.offered);
    l->applied = l->behind.offered;
    if (back)
        party_opened_back(purse, l->applied);
}

/* Under releases once nothing came down: what was missed is known without being told. */
static void skip_ahead(struct party_learner *l, const struct party_course *c)
{
    if (c->plan.training.releases != RELEASES_ONCE || l->behind.offered > c->agenda.steps)
        return;
    for (; l->applied < l->behind.offered; l->applied++)
        trail_add(&l->trail, &l->digest, l->applied, l->bottom.back.received, 0);
}

static bool where_the_run_is(struct party_train *p)
{
    const struct party_course *c = &p->course;
    struct party_learner *l = &p->learner;

    if (c->mode->own_steps)
        return true;
    if (!c->does_without)
        go_back(p);
    if (l->applied != l->behind.offered)
        party_learner_reopen(l);
    if (c->does_without)
        follow(l, &p->purse, &c->agenda);
    skip_ahead(l, c);
    if (l->applied <= l->behind.offered && l->behind.offered <= c->agenda.steps)
        return true;
    error_set(p->host->error, STATUS_DATA,
              "the server has done %llu training steps, this party has applied %llu: its state was "
              "lost or put back",
              (unsigned long long)l->behind.offered, (unsigned long long)l->applied);
    return false;
}

/* Nothing of a model leaves before the model itself can no longer be lost.  A party whose ledger
 * lacks the server's steps keeps one too, which takes none of them for paid: its next process is
 * refused as well, and its operator has a checkpoint in which to let the ledger go. */
static bool keeps_first(struct party_train *p, struct actions *a, enum party_next *next)
{
    *next = PARTY_WAIT;
    if (p->host->setup->checkpoint_rounds == 0 || p->keep.any)
        return false;
    p->keep.awaited = true;
    if (!p->keep.writing && party_keep_now(p, a) != STATUS_OK)
        *next = PARTY_REFUSE;
    return true;
}

enum party_next party_catch_up(struct party_train *p, struct actions *a)
{
    const struct party_host *h = p->host;
    struct party_learner *l = &p->learner;
    struct party_witness *w = &p->purse.witness;
    enum party_next next;
    struct action *send;

    party_arm(&p->course, a);
    p->keep.awaited = false;
    party_witness_offered(w, h->setup, &p->course, l);
    if (keeps_first(p, a, &next))
        return next;
    if (l->applied > l->behind.offered && p->keep.writing) {
        p->keep.awaited = true; /* it may be the one to go back to */
        return PARTY_WAIT;
    }
    if (!where_the_run_is(p) ||
        party_witness_steps(w, h->setup, &p->course, l, h->error) != STATUS_OK)
        return PARTY_REFUSE;
    if (keeps_first(p, a, &next)) /* it has gone back further than to the last one */
        return next;
    if (l->applied == l->behind.offered || p->course.mode->own_steps)
        return PARTY_READY;
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_BEHIND;
    send->msg.behind = (struct wire_behind){h->set->generation, l->applied};
    l->behind.replay_due = true;
    return PARTY_WAIT;
}

/* How many whole steps from `applied` on these bytes are; 0 when they are not whole. */
static uint64_t steps_in(const struct party_learner *l, struct party_course *c, size_t bytes)
{
    uint64_t step = l->applied;
    uint32_t rows;

    while (bytes > 0 && step < l->behind.offered) {
        size_t one;

        party_batch(c, step, &rows);
        one = party_step_bytes(l, rows);
        if (bytes < one)
            return 0;
        bytes -= one;
        step++;
    }
    return bytes == 0 ? step - l->applied : 0;
}

/* Once all of it is charged; until then a block is on its way. */
void party_start_replay(struct party_train *p, struct actions *a)
{
    const struct party_course *c = &p->course;
    struct party_task *t = &p->round.task;
    const uint64_t steps = party_charge_again(&p->purse, &p->course, a, t->charged, t->until);

    t->charged += steps;
    if (steps > 0)
        return;
    actions_add(a, ACTION_WORK)->flops =
        ((nn_net_flops(&p->learner.bottom.net.spec, c->plan.training.batch) +
          party_step_flops(&p->learner.bottom.net.spec)) *
             c->plan.protocol.local_iterations +
         party_refresh_flops(&p->learner.refresh, &c->plan)) *
        (double)(t->until - t->close_step);
}

enum status party_replay(struct party_train *p, struct actions *a, const struct wire_replay *r)
{
    struct party_learner *l = &p->learner;
    const uint64_t steps = steps_in(l, &p->course, r->gradient.n);

    if (!l->behind.replay_due || r->generation != p->host->set->generation ||
        r->step != l->applied || steps == 0)
        return party_violation(p->host->error, "replays what was not asked for, from step",
                               r->step);
    p->round.received.len = 0;
    if (buf_append(&p->round.received, r->gradient.data, r->gradient.n) != STATUS_OK)
        return error_set(p->host->error, STATUS_MEMORY, "no memory for a replay");
    l->behind.replay_due = false;
    p->round.task = (struct party_task){
        .work = WORK_REPLAY, .close_step = r->step, .charged = r->step, .until = r->step + steps};
    party_start_replay(p, a);
    return STATUS_OK;
}
