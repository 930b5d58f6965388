/* trainer.c -- what training takes, made and unmade.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/trainer.h"

#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/config/task.h"
#include "common/daemon/package.h"
#include "common/nn/safetensors.h"
#include "server/train/stored.h"

#include <string.h>

static enum status init_head(struct server_trainer *t)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng init = {0};
    enum status st;

    if (t->setup->start.seeded) {
        rng_seed_key(key, t->setup->start.seed, 0, "init", 0);
        st = rng_init_key(&init, key);
    } else {
        st = rng_init_system(&init);
    }
    if (st == STATUS_OK)
        st = server_head_init(&t->head, t->plan, wire_evaluate_rows(t->plan), &t->program.outside,
                              &init);
    rng_deinit(&init);
    return st;
}

enum status server_trainer_begin_program(struct server_trainer *t, const struct server_setup *setup,
                                         struct error *err)
{
    const struct plan *p = setup->plan;
    struct program_shape shape = {.rows_max = wire_evaluate_rows(p), .plan = p};
    struct nn_head head;
    enum status s;

    if (setup->start.program == NULL)
        return STATUS_OK;
    nn_head_shape(&head, p);
    shape.inputs = nn_head_takes(&head);
    shape.outputs = head.outputs;
    s = program_draw_seed(&shape.seed, setup->start.seeded, setup->start.seed, 0);
    return s == STATUS_OK ? server_program_begin(&t->program, setup->start.program, &shape, err)
                          : error_set(err, s, "model.head_program: %s", status_words(s));
}

enum score_kind server_score_kind(const struct plan *p)
{
    switch (task_of(p)->scores) {
    case TASK_OF_CLASSES: return SCORE_OF_CLASSES;
    case TASK_OF_VALUES: return SCORE_OF_VALUES;
    case TASK_OF_LABELS: return SCORE_OF_LABELS;
    }
    return SCORE_OF_CLASSES;
}

static enum status init_scores(struct server_scores *scores, const struct plan *p, uint32_t outputs)
{
    const uint32_t validate = p->shape.validate_rows;
    const enum score_kind kind = server_score_kind(p);
    enum status st = score_board_init(&scores->running, p->shape.train_rows, outputs, kind);

    if (st == STATUS_OK && validate > 0)
        st = score_board_init(&scores->validate, validate, outputs, kind);
    if (st == STATUS_OK && p->shape.test_rows > validate)
        st = score_board_init(&scores->test, p->shape.test_rows - validate, outputs, kind);
    if (st == STATUS_OK && p->training.evaluate_train)
        st = score_board_init(&scores->train, p->shape.train_rows, outputs, kind);
    return st;
}

enum status server_trainer_init(struct server_trainer *t, const struct plan *p,
                                const struct server_setup *setup)
{
    enum status st;

    t->plan = p;
    t->setup = setup;
    agenda_make(&t->agenda, p);
    st = schedule_init(&t->schedule, p->training.seed, p->shape.train_rows, p->training.batch,
                       p->protocol.fedvs.segments);
    if (st == STATUS_OK)
        st = init_head(t);
    if (st == STATUS_OK)
        st = init_scores(&t->scores, p, t->head.top.outputs);
    if (st == STATUS_OK)
        st = server_best_init(&t->scores.best, p, nn_spec_params(&t->head.top.net.spec),
                              &t->scores.test);
    if (st == STATUS_OK)
        nn_head_weigh(&t->head.top, setup->labels.train_target, p->shape.train_rows);
    if (st == STATUS_OK)
        nn_head_scale(&t->head.top, setup->labels.train_target, p->shape.train_rows);
    if (st == STATUS_OK && aggregation_of(p)->polynomial) {
        t->sweep_row = mem_alloc(wire_evaluate_rows(p), sizeof *t->sweep_row);
        st = t->sweep_row == NULL ? STATUS_MEMORY : STATUS_OK;
    }
    if (st == STATUS_OK && p->training.releases == RELEASES_ONCE)
        st = server_stored_new(&t->stored, p, t->head.top.inputs, setup->checkpoint_rounds > 0);
    return st == STATUS_OK ? rng_init_system(&t->rounding) : st;
}

enum status server_trainer_load(struct server_trainer *t, struct error *err)
{
    struct nn_net *net = &t->head.top.net;

    const bool packed = package_is(t->setup->start.weights, t->setup->start.weights_n);

    if (t->program.program != NULL && !packed) {
        if (program_take(t->program.program, net, t->setup->start.weights,
                         t->setup->start.weights_n, err) != STATUS_OK)
            return error_wrap(err, "model.load");
        return STATUS_OK;
    }
    if (safetensors_parse(net, t->setup->start.weights, t->setup->start.weights_n, err) !=
        STATUS_OK)
        return error_wrap(err, "%s",
                          t->plan->training.from[0] != 0 ? "training.from" : "model.load");
    nn_net_limit(net);
    return STATUS_OK;
}

void server_trainer_deinit(struct server_trainer *t)
{
    server_program_end(&t->program);
    server_head_deinit(&t->head);
    schedule_deinit(&t->schedule);
    score_board_deinit(&t->scores.running);
    score_board_deinit(&t->scores.validate);
    score_board_deinit(&t->scores.test);
    score_board_deinit(&t->scores.train);
    server_best_deinit(&t->scores.best);
    server_stored_free(t->stored);
    digest_deinit(&t->digest);
    rng_deinit(&t->rounding);
    mem_free(t->sweep_row);
}

void server_trainer_begin(struct server_trainer *t, const uint8_t *plan_digest)
{
    trail_begin(&t->trail, &t->digest, plan_digest);
}

void server_trainer_aim(struct server_trainer *t, const struct server_task *task)
{
    const float *all = purpose_of(task->purpose)->test ? t->setup->labels.test_target
                                                       : t->setup->labels.train_target;

    const size_t k = t->head.top.targets;

    for (uint32_t r = 0; r < task->rows; r++)
        memcpy(t->head.target + r * k, all + server_task_row(task, r) * k, k * sizeof *all);
}

uint64_t server_trainer_best(const struct server_trainer *t)
{
    return t->stored == NULL ? t->scores.best.of.step : 0;
}

double server_trainer_epochs(const struct server_trainer *t)
{
    if (t->stored != NULL)
        return agenda_epochs(&t->stored->agenda, t->stored->step);
    return agenda_epochs(&t->agenda, t->steps_done);
}

bool server_trainer_ended(const struct server_trainer *t)
{
    return t->scores.target_reached || server_best_patience_over(&t->scores.best, t->plan) ||
           t->steps_done == t->agenda.steps;
}

enum wire_outcome server_trainer_outcome(const struct server_trainer *t)
{
    return t->scores.target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED;
}
