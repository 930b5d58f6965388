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

#include <string.h>

/* A server whose last records a power cut took is behind: this party goes back to its checkpoint.
 * What it releases again is charged again, under new keys; and there is an end to it. */
static void go_back(struct party_train *p)
{
    if (p->learner.applied <= p->learner.behind.offered ||
        p->learner.behind.gone_back >= PARTY_GO_BACK_MAX ||
        party_go_back(p, p->learner.behind.offered) != STATUS_OK)
        return;
    p->learner.behind.gone_back++;
    party_opened_back(p);
    log_warn("the server has done %llu training steps: going back to the checkpoint of %llu",
             (unsigned long long)p->learner.behind.offered, (unsigned long long)p->learner.applied);
}

/* Under drop it goes on with the model that it has, so there is no checkpoint to go back to, and
 * the server need not have one of its own: but it comes to an end just so. */
static void follow(struct party_train *p)
{
    if (p->learner.behind.offered > p->learner.agenda.steps)
        return;
    const bool back = p->learner.behind.offered < p->learner.applied;

    if (back && p->learner.behind.gone_back++ >= PARTY_GO_BACK_MAX)
        return;
    p->learner.applied = p->learner.behind.offered;
    if (back)
        party_opened_back(p);
}

/* Under releases once nothing came down: what was missed is known without being told. */
static void skip_ahead(struct party_train *p)
{
    if (p->learner.plan.training.releases != RELEASES_ONCE ||
        p->learner.behind.offered > p->learner.agenda.steps)
        return;
    for (; p->learner.applied < p->learner.behind.offered; p->learner.applied++)
        trail_add(&p->learner.trail, &p->learner.digest, p->learner.applied,
                  p->learner.bottom.received, 0);
}

static bool where_the_run_is(struct party_train *p)
{
    enum plan_straggler policy = p->learner.plan.protocol.straggler;

    if (policy == STRAGGLER_ASYNC)
        return true;
    if (policy == STRAGGLER_DROP)
        follow(p);
    else
        go_back(p);
    skip_ahead(p);
    if (p->learner.applied <= p->learner.behind.offered &&
        p->learner.behind.offered <= p->learner.agenda.steps)
        return true;
    error_set(p->error, STATUS_DATA,
              "the server has done %llu training steps, this party has applied %llu: its state was "
              "lost or put back",
              (unsigned long long)p->learner.behind.offered,
              (unsigned long long)p->learner.applied);
    return false;
}

/* Nothing of a model leaves before the model itself can no longer be lost.  A party whose ledger
 * lacks the server's steps keeps one too, which takes none of them for paid: its next process is
 * refused as well, and its operator has a checkpoint in which to let the ledger go. */
static bool keeps_first(struct party_train *p, struct actions *a, enum party_next *next)
{
    *next = PARTY_WAIT;
    if (p->setup->checkpoint_rounds == 0 || p->keep.any)
        return false;
    p->keep.awaited = true;
    if (!p->keep.writing && party_keep_now(p, a) != STATUS_OK)
        *next = PARTY_REFUSE;
    return true;
}

enum party_next party_catch_up(struct party_train *p, struct actions *a)
{
    enum party_next next;
    struct action *send;

    party_arm(p, a);
    p->keep.awaited = false;
    party_witness_offered(p);
    if (keeps_first(p, a, &next))
        return next;
    if (p->learner.applied > p->learner.behind.offered && p->keep.writing) {
        p->keep.awaited = true; /* it may be the one to go back to */
        return PARTY_WAIT;
    }
    if (!where_the_run_is(p) || party_witness_steps(p) != STATUS_OK)
        return PARTY_REFUSE;
    if (keeps_first(p, a, &next)) /* it has gone back further than to the last one */
        return next;
    if (p->learner.applied == p->learner.behind.offered ||
        p->learner.plan.protocol.straggler == STRAGGLER_ASYNC)
        return PARTY_READY;
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_BEHIND;
    send->msg.behind = (struct wire_behind){p->set->generation, p->learner.applied};
    p->learner.behind.replay_due = true;
    return PARTY_WAIT;
}

/* How many whole steps from `applied` on these bytes are; 0 when they are not whole. */
static uint64_t steps_in(struct party_train *p, size_t bytes)
{
    uint64_t step = p->learner.applied;
    uint32_t rows;

    while (bytes > 0 && step < p->learner.behind.offered) {
        size_t one;

        party_batch(p, step, &rows);
        one = down_words(&p->learner.bottom.down, rows) * sizeof *p->learner.bottom.received;
        if (bytes < one)
            return 0;
        bytes -= one;
        step++;
    }
    return bytes == 0 ? step - p->learner.applied : 0;
}

enum status party_replay(struct party_train *p, struct actions *a, const struct wire_replay *r)
{
    uint64_t steps = steps_in(p, r->gradient.n);
    size_t words = r->gradient.n / sizeof *p->learner.bottom.received;
    enum status s = STATUS_OK;

    if (!p->learner.behind.replay_due || r->generation != p->set->generation ||
        r->step != p->learner.applied || steps == 0)
        s = party_violation(p->error, "replays what was not asked for, from step", r->step);
    p->round.received.len = 0;
    if (s == STATUS_OK && buf_reserve(&p->round.received, r->gradient.n) != STATUS_OK)
        s = error_set(p->error, STATUS_MEMORY, "no memory for a replay");
    if (s == STATUS_OK)
        s = party_copy_gradient(p, p->round.received.data, r->gradient, words);
    if (s != STATUS_OK)
        return s;
    p->learner.behind.replay_due = false;
    p->round.received.len = r->gradient.n;
    p->round.task = (struct party_task){
        .work = WORK_REPLAY, .close_step = r->step, .charged = r->step, .until = r->step + steps};
    if (party_replay_reserved(p, a))
        party_start_replay(p, a);
    return STATUS_OK;
}

void party_start_replay(struct party_train *p, struct actions *a)
{
    actions_add(a, ACTION_WORK)->flops =
        (nn_net_flops(&p->learner.bottom.net.spec, p->learner.plan.training.batch) *
             p->learner.plan.protocol.local_iterations +
         party_refresh_flops(&p->learner.refresh, &p->learner.plan)) *
        (double)(p->round.task.until - p->round.task.close_step);
}
