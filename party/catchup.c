/* catchup.c -- AGREE, before the hello: steps of the run that this party has not applied.
 *
 * The happy path: behind -> replay (gradients) -> work -> behind ... -> hello.  A process that was
 * started again goes on from its checkpoint and is sent what was broadcast since; its batches are
 * known from the schedule, so nothing is released anew.  Only under straggler wait: under drop a
 * party that was away has missed those steps, under async it counts its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/base/log.h"

#include <string.h>

/* A server whose last records a power cut took is behind: this party goes back to its checkpoint.
 * What it releases again is charged again, under new keys; and there is an end to it. */
static void go_back(struct party_session *p)
{
    if (p->applied <= p->offered_step || p->gone_back >= PARTY_GO_BACK_MAX ||
        party_go_back(p, p->offered_step) != STATUS_OK)
        return;
    p->gone_back++;
    log_warn("the server has done %llu training steps: going back to the checkpoint of %llu",
             (unsigned long long)p->offered_step, (unsigned long long)p->applied);
}

/* Under drop it goes on with the model that it has, so there is no checkpoint to go back to, and
 * the server need not have one of its own: but it comes to an end just so. */
static void follow(struct party_session *p)
{
    if (p->offered_step > p->agenda.steps)
        return;
    if (p->offered_step < p->applied && p->gone_back++ >= PARTY_GO_BACK_MAX)
        return;
    p->applied = p->offered_step;
}

/* Under releases once nothing came down: what was missed is known without being told. */
static void skip_ahead(struct party_session *p)
{
    if (p->plan.training.releases != RELEASES_ONCE || p->offered_step > p->agenda.steps)
        return;
    for (; p->applied < p->offered_step; p->applied++)
        trail_add(&p->trail, &p->digest, p->applied, p->bottom.received, 0);
}

static bool where_the_run_is(struct party_session *p)
{
    enum plan_straggler policy = p->plan.protocol.straggler;

    if (policy == STRAGGLER_ASYNC)
        return true;
    if (policy == STRAGGLER_DROP)
        follow(p);
    else
        go_back(p);
    skip_ahead(p);
    if (p->applied <= p->offered_step && p->offered_step <= p->agenda.steps)
        return true;
    error_set(&p->error, STATUS_DATA,
              "the server has done %llu training steps, this party has applied %llu: its state was "
              "lost or put back",
              (unsigned long long)p->offered_step, (unsigned long long)p->applied);
    return false;
}

/* Nothing of a model leaves before the model itself can no longer be lost.  A party whose ledger
 * lacks the server's steps keeps one too, which takes none of them for paid: its next process is
 * refused as well, and its operator has a checkpoint in which to let the ledger go. */
static bool keeps_first(struct party_session *p, struct actions *a)
{
    if (p->setup.checkpoint_rounds == 0 || p->kept_any)
        return false;
    p->awaits_kept = true;
    if (!p->keeping)
        party_keep_now(p, a);
    return true;
}

/* On towards the hello: the first checkpoint, the missed steps, then the word itself.  Comes back
 * here after each. */
void party_catch_up(struct party_session *p, struct actions *a)
{
    struct action *send;

    party_arm(p, a);
    p->awaits_kept = false;
    party_witness_offered(p);
    if (keeps_first(p, a))
        return;
    if (p->applied > p->offered_step && p->keeping) {
        p->awaits_kept = true; /* it may be the one to go back to */
        return;
    }
    if (!where_the_run_is(p) || party_witness_steps(p) != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    if (keeps_first(p, a)) /* it has gone back further than to the last one */
        return;
    if (p->applied == p->offered_step || p->plan.protocol.straggler == STRAGGLER_ASYNC) {
        party_say_hello(p, a);
        return;
    }
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_BEHIND;
    send->msg.behind = (struct wire_behind){p->generation, p->applied};
    p->replay_due = true;
}

/* How many whole steps from `applied` on these bytes are; 0 when they are not whole. */
static uint64_t steps_in(struct party_session *p, size_t bytes)
{
    uint64_t step = p->applied;
    uint32_t rows;

    while (bytes > 0 && step < p->offered_step) {
        size_t one;

        party_batch(p, step, &rows);
        one = down_words(&p->bottom.down, rows) * sizeof *p->bottom.received;
        if (bytes < one)
            return 0;
        bytes -= one;
        step++;
    }
    return bytes == 0 ? step - p->applied : 0;
}

void party_replay(struct party_session *p, struct actions *a, const struct wire_replay *r)
{
    uint64_t steps = steps_in(p, r->gradient.n);
    size_t words = r->gradient.n / sizeof *p->bottom.received;
    enum status s = STATUS_OK;

    if (!p->replay_due || r->generation != p->generation || r->step != p->applied || steps == 0)
        s = party_violation(p, "replays what was not asked for, from step", r->step);
    p->received.len = 0;
    if (s == STATUS_OK && buf_reserve(&p->received, r->gradient.n) != STATUS_OK)
        s = error_set(&p->error, STATUS_MEMORY, "no memory for a replay");
    if (s == STATUS_OK)
        s = party_copy_gradient(p, p->received.data, r->gradient, words);
    if (s != STATUS_OK) {
        party_refuse(p, a);
        return;
    }
    p->replay_due = false;
    p->received.len = r->gradient.n;
    p->task = (struct party_task){
        .work = WORK_REPLAY, .close_step = r->step, .charged = r->step, .until = r->step + steps};
    if (party_replay_reserved(p, a))
        party_start_replay(p, a);
}

void party_start_replay(struct party_session *p, struct actions *a)
{
    actions_add(a, ACTION_WORK)->flops =
        (nn_net_flops(&p->bottom.net.spec, p->plan.training.batch) *
             p->plan.protocol.local_iterations +
         party_refresh_flops(&p->refresh, &p->plan)) *
        (double)(p->task.until - p->task.close_step);
}
