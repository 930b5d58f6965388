/* trainer.h -- the model, how far its training is, and what that is measured by.
 *
 * Written by what takes a step or scores one: work.c, evaluate.c, stream.c (its own steps) and
 * alone.c; by broadcast.c, which sends the last gradient; and by resume.c, which puts it all back.
 * Others read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_TRAINER_H
#define COLONNADE_SERVER_TRAIN_TRAINER_H

#include "common/crypto/rng.h"
#include "common/flow/trail.h"
#include "server/setup.h"
#include "server/program.h"
#include "server/train/best.h"
#include "server/train/head.h"
#include "server/train/task.h"

/* The last closed training step, whose gradient goes out with the next broadcast. */
struct server_close {
    bool any, fresh; /* fresh: not yet broadcast */
    uint64_t step;
    size_t words;    /* of one member's gradient */
    uint32_t blocks; /* gradients: 1, or where parties are apart one for each of them */
    size_t absent_n; /* members that were not in the sum */
    uint8_t absent[WIRE_MEMBERS_MAX];
};

struct server_sweep {
    uint64_t number;  /* evaluations begun */
    uint64_t done_at; /* steps_done at the last complete one */
    bool running, on_train;
    uint32_t next_place; /* agenda_places() */
};

struct server_scores {
    struct score_board running, validate, test, train;
    struct server_best best;
    bool target_reached; /* training.target: the run is over */
};

/* Which scores a plan's predictions have. */
enum score_kind server_score_kind(const struct plan *p);

struct server_stored;

struct server_trainer {
    const struct plan *plan;
    const struct server_setup *setup;
    struct agenda agenda;
    struct schedule schedule;
    struct server_program program;
    struct server_head head;
    struct rng rounding; /* of gradients */
    struct server_close close;
    struct server_sweep sweep;
    uint32_t *sweep_row; /* fedvs: rows of an evaluation round; else NULL */
    uint64_t steps_done;
    struct trail trail;   /* after steps_done steps */
    struct digest digest; /* scratch of the trail */
    struct server_scores scores;
    struct server_stored *stored; /* training.releases once; else NULL */
};

/* t is zeroed but for `program`; plan and setup must outlive it. */
enum status server_trainer_init(struct server_trainer *t, const struct plan *p,
                                const struct server_setup *setup) MUST_USE;
/* Before that: the head's program begins, of a setup that has one. */
enum status server_trainer_begin_program(struct server_trainer *t, const struct server_setup *setup,
                                         struct error *err) MUST_USE;
/* The head's first weights are not drawn: they are the setup's (model.load). */
enum status server_trainer_load(struct server_trainer *t, struct error *err) MUST_USE;
void server_trainer_deinit(struct server_trainer *t); /* safe after init failed */
/* The trail of a run of this plan that has taken no step. */
void server_trainer_begin(struct server_trainer *t, const uint8_t *plan_digest);

/* What the head predicts of the task's rows. */
void server_trainer_aim(struct server_trainer *t, const struct server_task *task);
/* The step whose bottoms parties keep: 0: none, or theirs never change. */
uint64_t server_trainer_best(const struct server_trainer *t);
double server_trainer_epochs(const struct server_trainer *t); /* of the head */
bool server_trainer_ended(const struct server_trainer *t);    /* no step is left to take */
/* How the run ends, if it is complete. */
enum wire_outcome server_trainer_outcome(const struct server_trainer *t);

#endif
