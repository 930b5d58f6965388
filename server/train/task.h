/* task.h -- what a round is of: a value.  It is chosen once (server_choose_round), and from then on
 * handed on and read; nobody changes it but for the number, which is written by plain.c or stream.c
 * when it is asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_TASK_H
#define COLONNADE_SERVER_TRAIN_TASK_H

#include "common/config/plan.h"
#include "common/data/schedule.h"
#include "common/wire/purpose.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server_task {
    enum wire_purpose purpose;
    uint64_t number;       /* of the round; 0: not asked for yet */
    uint64_t place, sweep; /* in the schedule, or of a sweep */
    uint32_t places;       /* from `place` on: coded rows under fedvs, rows elsewhere */
    uint32_t rows;
    const uint32_t *row;   /* they are by place in the label file; NULL: place .. place + rows */
    uint64_t values, real; /* of one member's vector; those of them that no padding row has */
};

/* Training step `place`, on this batch of the schedule, whose memory `row` is. */
struct server_task server_task_step(const struct plan *p, struct schedule *s, uint64_t place,
                                    uint64_t batch);
/* As much of a split from `place` on as one round holds; `room`: for its rows under fedvs. */
struct server_task server_task_part(const struct plan *p, bool test, uint64_t sweep, uint32_t place,
                                    uint32_t *room);
/* Of no rows: keys; coded rows of chunk `place`. */
struct server_task server_task_keys(void);
struct server_task server_task_data(uint64_t place, uint32_t coded_rows);

/* Where the r-th of its rows is in the label file. */
size_t server_task_row(const struct server_task *t, uint32_t r);

#endif
