/* work.h -- the work between the last upload and the next broadcast: combine, head.
 *
 * It may run on a worker thread, and then is the only one at these parts: it takes a step with the
 * trainer, counts in the report, and says everything else in what it returns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_WORK_H
#define COLONNADE_SERVER_TRAIN_WORK_H

#include "server/federation.h"
#include "server/train/sum.h"
#include "server/train/trainer.h"

/* What comes of a piece of work: a value, written by what does it (work.c, plain.c, stream.c,
 * alone.c) and by job.c, which adds what became of its record. */
struct server_worked {
    struct error error; /* why it failed */
    bool spoiled;       /* the head has taken a step that the run has not */
    bool swept;         /* an evaluation is complete */
    bool may_keep;      /* it has ended between two steps */
    bool keep;          /* a checkpoint is due */
    bool append;        /* `record` is for the journal: its floats are the head's */
    struct journal_record record;
    uint64_t combine_us, head_us; /* that it took */
};

/* All uploads of the task's round that it waits for are in `sum`. */
struct server_worked server_work(struct server_trainer *t, struct server_sum *sum,
                                 struct server_report *r, const struct server_set *set,
                                 const struct server_task *task);
/* The same of a record; STATUS_DATA: it comes to something else. */
enum status server_work_again(struct server_trainer *t, struct server_report *r,
                              const struct server_task *task,
                              const struct journal_record *record) MUST_USE;

/* head.values, of the batch scored last, to what goes down.  Rounding of a seeded run depends on
 * the place in the schedule alone.  STATUS_DATA when they or the loss are not finite: every party
 * would take that for a broken server. */
enum status server_pack_gradient(struct server_trainer *t, const struct server_task *task,
                                 uint64_t place, uint32_t blocks, double loss,
                                 struct error *err) MUST_USE;

#endif
