/* alone.c -- releases once, when the parties have gone: the head trains on the sums that were kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include <math.h>

/* The task's rows, as a round would have brought them. */
static void bring(struct server_trainer *t, const struct server_task *task)
{
    program_round(t->program.program); /* nobody waits any more */
    server_stored_get(t->stored, task, t->head.fused);
    server_trainer_aim(t, task);
}

static enum status train_step(struct server_trainer *t, struct server_report *r, struct error *err)
{
    struct server_stored *d = t->stored;
    const struct server_task task = server_task_step(t->plan, &t->schedule, d->step, d->step);
    double loss;

    bring(t, &task);
    loss = server_head_train(&t->head, t->plan, d->step, task.rows);
    if (!isfinite(loss))
        return error_set(err, STATUS_DATA,
                         "training diverged in step %llu: try a smaller learning_rate",
                         (unsigned long long)d->step);
    server_score_batch(t, r, &task, loss);
    d->step++;
    return STATUS_OK;
}

static void evaluate(struct server_trainer *t, struct server_report *r)
{
    struct server_task task;

    server_begin_sweep(t, agenda_sweeps_until(&t->stored->agenda, t->stored->step));
    do {
        task = server_task_part(t->plan, true, t->sweep.number, t->sweep.next_place, NULL);
        bring(t, &task);
        server_score_batch(t, r, &task, server_head_evaluate(&t->head, task.rows));
    } while (!server_sweep_on(t, &task));
    server_sweep_done(t);
    server_sweep_told(t, r);
}

bool server_stored_alone(const struct server_trainer *t)
{
    return t->stored != NULL && t->stored->alone;
}

/* Until the next evaluation, and that; or to the end of an epoch. */
struct server_worked server_stored_work(struct server_trainer *t, struct server_report *r)
{
    const struct server_stored *d = t->stored;
    const uint64_t start = t->setup->clock_us(), epoch = agenda_epoch_steps(&d->agenda);
    /* The checkpoint is of the moment when the parties left. */
    struct server_worked w = {.spoiled = true};

    do {
        if (train_step(t, r, &w.error) != STATUS_OK)
            return w;
        w.swept = agenda_due(&d->agenda, d->step);
    } while (!w.swept && d->step < d->agenda.steps && d->step % epoch != 0);
    if (w.swept)
        evaluate(t, r);
    w.head_us = t->setup->clock_us() - start;
    return w;
}

/* Between two pieces of work the driver has a moment for whoever comes, and for an order to stop.
 */
static void go_on(struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms = 1;
}

/* One that was killed before it heard; nobody else has anything to do here. */
static struct server_next comes_back(struct server_federation *f, struct actions *a,
                                     const struct event *e)
{
    if (e->msg->join.between_jobs)
        return next_of(NEXT_WAIT); /* it has heard */
    if (e->msg->join.resumes) {
        server_say_over_to(f, a, e->peer);
        return next_of(NEXT_WAIT);
    }
    error_set(&f->error, STATUS_DATA, "%s: the run is complete, and it brings no part of it",
              server_name(f, e->peer));
    return next_of_peer(NEXT_DROP, e->peer);
}

bool server_stored_begin(struct server_federation *f, struct actions *a, struct server_trainer *t)
{
    if (t->stored == NULL)
        return false;
    t->stored->alone = true;
    server_say_over(f, a, OUTCOME_COMPLETED);
    sm_move(&f->sm, PHASE_OVER, f->set.generation);
    go_on(a);
    return true;
}

struct server_next server_stored_done(struct server_trainer *t, struct actions *a,
                                      const struct server_worked *w)
{
    if (w->error.status != STATUS_OK)
        return next_of(NEXT_FAIL);
    if (w->swept)
        actions_add(a, ACTION_REPORT);
    if (t->stored->step == t->stored->agenda.steps || t->scores.target_reached ||
        server_best_patience_over(&t->scores.best, t->plan))
        return next_finish(server_trainer_outcome(t));
    go_on(a);
    return next_of(NEXT_WAIT);
}

struct server_next server_stored_step(struct server_federation *f, struct actions *a,
                                      const struct event *e)
{
    switch (e->kind) {
    case EVENT_TIMER: actions_add(a, ACTION_WORK)->flops = SERVER_SLOW_FLOPS; break;
    case EVENT_CANCEL:
    case EVENT_STOP: actions_add(a, ACTION_DISARM); return next_finish(OUTCOME_STOPPED);
    case EVENT_JOINED: return comes_back(f, a, e);
    case EVENT_UNSENT:
        error_set(&f->error, STATUS_MEMORY, "no memory for a message");
        return next_of(NEXT_FAIL);
    case EVENT_START:
    case EVENT_DONE:
    case EVENT_LOST:
    case EVENT_MESSAGE:
    case EVENT_RECALLED:
    case EVENT_KEPT:
    case EVENT_ASKED:
    case EVENT_CHARGED: break;
    }
    return next_of(NEXT_WAIT);
}
