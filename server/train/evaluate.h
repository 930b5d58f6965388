/* evaluate.h -- sweeps over test (and training) rows, scores, and whether the target is reached.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_EVALUATE_H
#define COLONNADE_SERVER_TRAIN_EVALUATE_H

#include "server/train/trainer.h"

/* A round of the sweep that is due, or begun; false: none is. */
bool server_next_evaluation(struct server_trainer *t, struct server_task *out);
void server_begin_sweep(struct server_trainer *t, uint64_t number); /* nothing is scored yet */
/* After the head's forward of a round: its predictions are counted. */
void server_score_batch(struct server_trainer *t, struct server_report *r,
                        const struct server_task *task, double loss);
/* The sweep goes past this part of it; true: it is complete. */
bool server_sweep_on(struct server_trainer *t, const struct server_task *task);
void server_sweep_done(struct server_trainer *t);
/* What a sweep that is done amounts to. */
void server_sweep_told(struct server_trainer *t, struct server_report *r);

/* STATUS_DATA: not all of them were scored, or there are none. */
enum status server_tested(struct server_tested *out, const struct server_trainer *t) MUST_USE;

#endif
