/* alone.c -- releases once, when the parties have gone: the head trains on the sums that were kept.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include <math.h>
#include <string.h>

/* A batch, or rows of the test split, as a round would have brought them. */
static void bring(struct server_train *s, const float *all)
{
    const size_t width = s->trainer.head.top.inputs;

    for (uint32_t r = 0; r < s->round.rows; r++) {
        size_t row = s->round.row != NULL ? s->round.row[r] : s->round.place + r;
        memcpy(s->trainer.head.fused + r * width, all + row * width, width * sizeof *all);
    }
    server_take_targets(s);
}

static enum status train_step(struct server_train *s)
{
    struct server_stored *t = &s->trainer.stored;
    double loss;

    s->round.purpose = PURPOSE_TRAIN;
    s->round.place = t->step;
    s->round.row = schedule_batch(&s->trainer.schedule, t->step, &s->round.rows);
    bring(s, t->train);
    loss = server_head_train(&s->trainer.head, &s->plan, t->step, s->round.rows);
    if (!isfinite(loss))
        return error_set(&s->fed->error, STATUS_DATA,
                         "training diverged in step %llu: try a smaller learning_rate",
                         (unsigned long long)t->step);
    (void)server_score_batch(s, loss);
    t->step++;
    return STATUS_OK;
}

static void evaluate(struct server_train *s)
{
    const uint32_t all = s->plan.shape.test_rows, most = agenda_round_places(&s->plan);

    server_begin_sweep(s, agenda_sweeps_until(&s->trainer.stored.agenda, s->trainer.stored.step));
    s->round.purpose = PURPOSE_EVALUATE_TEST;
    s->round.row = NULL;
    for (uint32_t place = 0; place < all; place += s->round.rows) {
        s->round.place = place;
        s->round.rows = all - place < most ? all - place : most;
        bring(s, s->trainer.stored.test);
        (void)server_score_batch(s, server_head_evaluate(&s->trainer.head, s->round.rows));
    }
    server_sweep_done(s);
}

/* Until the next evaluation, and that; or to the end of an epoch. */
struct server_worked server_stored_work(struct server_train *s)
{
    struct server_stored *t = &s->trainer.stored;
    const uint64_t start = s->setup.clock_us(), epoch = agenda_epoch_steps(&t->agenda);
    struct server_worked w = {.status = STATUS_OK};

    s->keep.spoiled = true; /* the checkpoint is of the moment when the parties left */
    do {
        w.status = train_step(s);
        if (w.status != STATUS_OK)
            return w;
        w.swept = agenda_due(&t->agenda, t->step);
    } while (!w.swept && t->step < t->agenda.steps && t->step % epoch != 0);
    if (w.swept)
        evaluate(s);
    spans_add(&s->spans, SPAN_HEAD, s->setup.clock_us() - start);
    return w;
}

/* Between two pieces of work the driver has a moment for whoever comes, and for an order to stop.
 */
static void go_on(struct actions *a)
{
    actions_add(a, ACTION_ARM)->after_ms = 1;
}

/* One that was killed before it heard; nobody else has anything to do here. */
static struct server_next comes_back(struct server_train *s, struct actions *a,
                                     const struct event *e)
{
    if (e->msg->join.between_jobs)
        return next_of(NEXT_WAIT); /* it has heard */
    if (e->msg->join.resumes) {
        server_say_over_to(s->fed, a, e->peer);
        return next_of(NEXT_WAIT);
    }
    error_set(&s->fed->error, STATUS_DATA, "%s: the run is complete, and it brings no part of it",
              server_name(s->fed, e->peer));
    return next_of_peer(NEXT_DROP, e->peer);
}

bool server_stored_begin(struct server_train *s, struct actions *a)
{
    if (!server_stores(s))
        return false;
    s->trainer.stored.alone = true;
    server_say_over(s->fed, a, OUTCOME_COMPLETED);
    sm_move(&s->fed->sm, PHASE_OVER, s->fed->set.generation);
    go_on(a);
    return true;
}

struct server_next server_stored_done(struct server_train *s, struct actions *a,
                                      const struct server_worked *w)
{
    if (w->status != STATUS_OK)
        return next_of(NEXT_FAIL);
    if (w->swept)
        actions_add(a, ACTION_REPORT);
    if (s->trainer.stored.step == s->trainer.stored.agenda.steps || s->trainer.target_reached)
        return next_finish(s->trainer.target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED);
    go_on(a);
    return next_of(NEXT_WAIT);
}

struct server_next server_stored_step(struct server_train *s, struct actions *a,
                                      const struct event *e)
{
    switch (e->kind) {
    case EVENT_TIMER: actions_add(a, ACTION_WORK)->flops = SERVER_SLOW_FLOPS; break;
    case EVENT_STOP: actions_add(a, ACTION_DISARM); return next_finish(OUTCOME_STOPPED);
    case EVENT_JOINED: return comes_back(s, a, e);
    case EVENT_UNSENT:
        error_set(&s->fed->error, STATUS_MEMORY, "no memory for a message");
        return next_of(NEXT_FAIL);
    case EVENT_START:
    case EVENT_DONE:
    case EVENT_LOST:
    case EVENT_MESSAGE:
    case EVENT_RECALLED:
    case EVENT_KEPT:
    case EVENT_CHARGED: break;
    }
    return next_of(NEXT_WAIT);
}
