/* evaluate.c -- sweeps over test (and training) rows, scores, and whether the target is reached.
 *
 * A sweep releases rows in order under the run's own mechanism.  Training scores come for nothing
 * from the sums an epoch released anyway, unless the plan pays for a sweep over the training rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include <math.h>

/* Places of the split the running sweep is on: rows, under fedvs coded rows. */
static uint32_t split_places(const struct server_train *s)
{
    return agenda_places(&s->plan, !s->trainer.sweep.on_train);
}

/* The rows of coded rows place .. place + coded, segment by segment: what a sum of fedvs is in. */
static void list_rows(struct server_train *s)
{
    struct segments segments;

    agenda_segments(&segments, &s->plan, !s->trainer.sweep.on_train);
    s->round.row = s->trainer.sweep_row;
    s->round.rows =
        segments_range(&segments, s->trainer.sweep_row, (uint32_t)s->round.place, s->round.coded);
}

void server_begin_sweep(struct server_train *s, uint64_t number)
{
    s->trainer.sweep.running = true;
    s->trainer.sweep.number = number;
    s->trainer.sweep.next_place = 0;
    s->trainer.sweep.on_train = s->plan.training.evaluate_train;
    score_board_reset(&s->trainer.scores.test);
    if (s->plan.training.evaluate_train)
        score_board_reset(&s->trainer.scores.train);
}

bool server_next_evaluation(struct server_train *s)
{
    uint32_t most = agenda_round_places(&s->plan), places;

    if (!s->trainer.sweep.running) {
        if (!agenda_due(&s->trainer.agenda, s->trainer.steps_done) ||
            s->trainer.sweep.done_at == s->trainer.steps_done)
            return false;
        server_begin_sweep(s, agenda_sweeps_until(&s->trainer.agenda, s->trainer.steps_done));
    }
    places = split_places(s) - s->trainer.sweep.next_place;
    places = places < most ? places : most;
    s->round.purpose = s->trainer.sweep.on_train ? PURPOSE_EVALUATE_TRAIN : PURPOSE_EVALUATE_TEST;
    s->round.place = s->trainer.sweep.next_place;
    s->round.sweep = s->trainer.sweep.number;
    s->round.row = NULL;
    s->round.rows = s->round.coded = places;
    if (server_deals(s))
        list_rows(s);
    return true;
}

static bool regression(const struct server_train *s)
{
    return s->plan.model.task == TASK_REGRESSION;
}

/* The sweep went past the round just scored: on to the other split, or done (true). */
static bool advance_sweep(struct server_train *s)
{
    s->trainer.sweep.next_place += s->round.row != NULL ? s->round.coded : s->round.rows;
    if (s->trainer.sweep.next_place < split_places(s))
        return false;
    if (s->trainer.sweep.on_train && s->plan.shape.test_rows > 0) {
        s->trainer.sweep.on_train = false;
        s->trainer.sweep.next_place = 0;
        return false;
    }
    if (s->plan.shape.test_rows > 0)
        score_board_read(&s->trainer.scores.test, regression(s), &s->report.test);
    if (s->plan.training.evaluate_train)
        score_board_read(&s->trainer.scores.train, regression(s), &s->report.train);
    else
        score_board_read(&s->trainer.scores.running, regression(s), &s->report.train);
    return true;
}

bool server_score_batch(struct server_train *s, double loss)
{
    struct score_board *board = &s->trainer.scores.running;

    if (purpose_of(s->round.purpose)->trains) {
        s->report.last_loss = loss;
        if (board->rows + s->round.rows > board->rows_max) /* an epoch is full */
            score_board_reset(board);
    } else {
        board = s->trainer.sweep.on_train ? &s->trainer.scores.train : &s->trainer.scores.test;
    }
    score_board_add(board, s->trainer.head.prob, s->trainer.head.target, s->round.rows, loss);
    return !purpose_of(s->round.purpose)->trains && advance_sweep(s);
}

static double metric_of(const struct score *sc, enum plan_metric m)
{
    switch (m) {
    case METRIC_LOSS: return sc->loss;
    case METRIC_ACCURACY: return sc->accuracy;
    case METRIC_AUC: return sc->auc;
    case METRIC_AUPRC: return sc->auprc;
    case METRIC_F1: return sc->f1;
    case METRIC_NONE: break;
    }
    return NAN;
}

static void check_target(struct server_train *s)
{
    enum plan_metric m = s->plan.training.stop.metric;
    bool test = s->plan.training.stop.split == SPLIT_TEST;
    double value, wanted = s->plan.training.stop.value;

    if (m == METRIC_NONE)
        return;
    value = metric_of(test ? &s->report.test : &s->report.train, m);
    if (m == METRIC_LOSS ? !(value <= wanted) : !(value >= wanted))
        return;
    s->trainer.target_reached = true;
    s->report.reached = (struct server_reached){true, s->report.epochs, value, s->report.rounds};
}

void server_sweep_done(struct server_train *s)
{
    s->trainer.sweep.running = false;
    s->trainer.sweep.done_at = s->trainer.steps_done;
    s->report.sweeps = s->trainer.sweep.number;
    s->report.epochs = server_epochs(s);
    check_target(s);
}
