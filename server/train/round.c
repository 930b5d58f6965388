/* round.c -- one round after the other: which is next, and when its uploads are all there is.
 *
 * The happy path: choose -> open (a broadcast, which ends the step before) -> uploads -> work
 * (combine, head) -> the next.  How a round is opened and what it waits for is its mode's
 * (struct server_mode).  A round completes or is void; a void round's batch runs next, in a new
 * generation, with fresh samples and masks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

bool server_choose_round(struct server_trainer *t, const struct server_deal *d,
                         struct server_task *out)
{
    if (server_next_deal(d, out) || server_next_evaluation(t, out))
        return true;
    if (server_trainer_ended(t))
        return false;
    *out = server_task_step(t->plan, &t->schedule, t->steps_done,
                            agenda_batch(&t->agenda, t->steps_done));
    return true;
}

/* --- modes --- */

static const struct server_mode *mode_without_steps(const struct server_train *s)
{
    if (s->shares != NULL)
        return &server_coded;
    return s->sum.shape.partial ? &server_partial : &server_plain;
}

/* Async streams its training rounds alone. */
static const struct server_mode *mode_of(const struct server_train *s,
                                         const struct server_task *task)
{
    if (s->stream != NULL && purpose_of(task->purpose)->trains)
        return &server_streamed;
    return mode_without_steps(s);
}

/* A set that has shrunk cannot open a round under masks: it is keyed anew.  In clear it can, where
 * anybody is done without. */
static bool set_is_whole(const struct server_train *s)
{
    return s->fed->set.left == 0 || s->sum.shape.partial || s->stream != NULL;
}

struct train_next server_next_round(struct server_train *s, struct actions *a)
{
    struct server_task task;

    if (!set_is_whole(s)) {
        server_flush_close(s->fed, a, &s->trainer, s->round.number);
        return train_say(NEXT_SET);
    }
    if (!server_choose_round(&s->trainer, &s->deal, &task)) {
        s->round.mode = mode_without_steps(s);
        server_close_run(s, a);
        return train_say(NEXT_WAIT);
    }
    s->round.mode = mode_of(s, &task);
    return s->round.mode->open(s, a, &task);
}

void server_sum_up(struct server_train *s, struct actions *a)
{
    const struct server_task *task = &s->round.task;
    const uint32_t every = s->setup.checkpoint_rounds;
    struct action *work;

    spans_add(&s->spans, SPAN_WAIT, s->fed->now_us - s->round.opened_us);
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops = nn_net_flops(&s->trainer.head.top.net.spec, task->rows) *
                      s->trainer.plan->protocol.local_iterations +
                  server_sum_flops(&s->sum, task);
    if (every > 0 && (s->trainer.steps_done + 1) % every == 0)
        work->flops += SERVER_SLOW_FLOPS; /* it will wait for the disk */
}

/* --- uploads --- */

/* Of a round that did not wait for it. */
static bool is_late(const struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    return s->round.mode->late_upload != NULL && u->round > s->member[peer].uploaded &&
           (u->round < s->round.number ||
            (u->round == s->round.number && s->fed->sm.phase == PHASE_CLOSE));
}

void server_count_late(struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    if (!purpose_of(u->purpose)->trains)
        return;
    s->report.degraded.late++;
    s->report.whose.late[peer]++;
}

struct train_next server_upload(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u)
{
    if (!is_late(s, peer, u))
        return s->round.mode->upload(s, a, peer, u);
    s->member[peer].uploaded = u->round;
    server_count_late(s, peer, u);
    if (server_watch_upload(&s->watcher, s->fed, peer, u, true, &s->fed->error) != STATUS_OK)
        return train_say(NEXT_FAIL);
    return s->round.mode->late_upload(s, peer, u);
}
