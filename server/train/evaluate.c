/* evaluate.c -- sweeps over test (and training) rows, scores, and whether the target is reached.
 *
 * A sweep releases rows in order under the run's own mechanism.  Training scores come for nothing
 * from the sums an epoch released anyway, unless the plan pays for a sweep over the training rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/evaluate.h"

#include "common/base/mem.h"
#include "server/train/stored.h"

void server_begin_sweep(struct server_trainer *t, uint64_t number)
{
    t->sweep.running = true;
    t->sweep.number = number;
    t->sweep.next_place = 0;
    t->sweep.on_train = t->plan->training.evaluate_train;
    score_board_reset(&t->scores.validate);
    score_board_reset(&t->scores.test);
    if (t->plan->training.evaluate_train)
        score_board_reset(&t->scores.train);
}

bool server_next_evaluation(struct server_trainer *t, struct server_task *out)
{
    const struct server_sweep *sweep = &t->sweep;

    if (!sweep->running) {
        if (!agenda_due(&t->agenda, t->steps_done) || sweep->done_at == t->steps_done)
            return false;
        server_begin_sweep(t, agenda_sweeps_until(&t->agenda, t->steps_done));
    }
    *out =
        server_task_part(t->plan, !sweep->on_train, sweep->number, sweep->next_place, t->sweep_row);
    return true;
}

/* Rows to choose by stand among the test rows. */
static void score_apart(struct server_trainer *t, const struct server_task *task)
{
    const struct validate *v = t->setup->labels.validate;
    const struct nn_head *top = &t->head.top;
    const uint32_t k = top->outputs;

    for (uint32_t r = 0; r < task->rows; r++) {
        const float *target = t->head.target + (size_t)r * top->targets;
        struct score_board *to =
            validate_row(v, server_task_row(task, r)) ? &t->scores.validate : &t->scores.test;

        score_board_add(to, t->head.prob + (size_t)r * k, target, 1,
                        nn_head_row_loss(top, r, target));
    }
}

void server_score_batch(struct server_trainer *t, struct server_report *r,
                        const struct server_task *task, double loss)
{
    const struct purpose *is = purpose_of(task->purpose);
    struct score_board *board = is->test ? &t->scores.test : &t->scores.train;

    if (is->trains) {
        board = &t->scores.running;
        r->measured.last_loss = loss;
        if (board->rows + task->rows > board->rows_max) /* an epoch is full */
            score_board_reset(board);
    }
    if (is->test && t->setup->labels.validate != NULL) {
        score_apart(t, task);
        return;
    }
    score_board_add(board, t->head.prob, t->head.target, task->rows, loss);
}

bool server_sweep_on(struct server_trainer *t, const struct server_task *task)
{
    t->sweep.next_place += task->places;
    if (t->sweep.next_place < agenda_places(t->plan, !t->sweep.on_train))
        return false;
    if (!t->sweep.on_train || t->plan->shape.test_rows == 0)
        return true;
    t->sweep.on_train = false;
    t->sweep.next_place = 0;
    return false;
}

void server_sweep_done(struct server_trainer *t)
{
    t->sweep.running = false;
    t->sweep.done_at = t->steps_done;
}

/* --- what it amounts to --- */

static void check_target(struct server_trainer *t, struct server_report *r)
{
    const struct server_scored *of = &r->measured.scored;
    const enum plan_split split = t->plan->training.stop.split;
    const struct score *s = split == SPLIT_TEST    ? &of->test
                            : split == SPLIT_TRAIN ? &of->train
                                                   : &of->validate;
    const double wanted = t->plan->training.stop.value;
    enum score_metric m;
    double value;

    if (t->plan->training.stop.metric == METRIC_NONE)
        return;
    m = (enum score_metric)(t->plan->training.stop.metric - METRIC_FIRST);
    value = s->value[m];
    if (!s->has[m] || !(score_falls(m) ? value <= wanted : value >= wanted))
        return;
    t->scores.target_reached = true;
    r->measured.reached = (struct server_reached){true, r->epochs, value, r->rounds};
}

void server_sweep_told(struct server_trainer *t, struct server_report *r)
{
    struct score_board *train =
        t->plan->training.evaluate_train ? &t->scores.train : &t->scores.running;

    score_board_read(&t->scores.validate, &r->measured.scored.validate);
    score_board_read(&t->scores.test, &r->measured.scored.test);
    score_board_read(train, &r->measured.scored.train);
    calibrate(&r->measured.scored.calibrated, &t->scores.validate, &t->scores.test);
    r->measured.sweeps = t->sweep.number;
    r->epochs = server_trainer_epochs(t);
    check_target(t, r);
    server_best_compare(&t->scores.best, &r->measured, t->plan, &t->head, &t->scores.test,
                        &(struct server_best_of){
                            .step = t->stored != NULL ? t->stored->step : t->steps_done,
                            .epoch = r->epochs,
                            .round = r->rounds,
                        });
}

/* --- row by row --- */

enum status server_tested(struct server_tested *out, const struct server_trainer *t)
{
    const struct score_board *b = &t->scores.test;
    const uint32_t places = agenda_places(t->plan, true);
    const struct validate *v = t->setup->labels.validate;
    uint32_t scored = 0;

    *out = (struct server_tested){t->head.top.loss, t->head.top.outputs, b->prob, NULL};
    if (b->rows == 0 || b->rows != b->rows_max)
        return STATUS_DATA;
    out->at = mem_alloc(t->plan->shape.test_rows, sizeof *out->at);
    if (out->at == NULL)
        return STATUS_MEMORY;
    /* As the sweep has gone through them. */
    for (uint32_t place = 0; place < places;) {
        const struct server_task part = server_task_part(t->plan, true, 0, place, t->sweep_row);

        for (uint32_t r = 0; r < part.rows; r++) {
            const size_t row = server_task_row(&part, r);

            if (v == NULL || !validate_row(v, row))
                out->at[row] = scored++;
        }
        place += part.places;
    }
    return STATUS_OK;
}
