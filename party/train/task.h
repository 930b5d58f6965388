/* task.h -- what the last message asked for.
 *
 * Written by round.c, share.c, mode.c and play.c for the rounds of a generation, by deal.c where
 * data is dealt, and by catchup.c for steps that were missed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_TASK_H
#define COLONNADE_PARTY_TRAIN_TASK_H

#include "common/wire/message.h"

enum party_work {
    WORK_ROUND,  /* a gradient in, the next embeddings out */
    WORK_SUM,    /* others' shares in, their sum out */
    WORK_REPLAY, /* gradients that were missed */
};

struct party_task {
    enum party_work work;
    bool close, apply, open, last; /* apply: the closed step had this party in it */
    uint64_t close_step;
    uint64_t charged, until; /* REPLAY: steps to charge before it (dp); ends at `until` */
    enum wire_purpose purpose;
    uint64_t round, place, sweep;
    uint32_t rows;
    const uint32_t *row; /* TRAIN: the batch */
    uint32_t coded;      /* coded rows that a round of dealt data, or a sweep, is on */
};

#endif
