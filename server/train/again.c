/* again.c -- rounds that an earlier process has closed, from its journal.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/subnormal.h"
#include "server/train/pace.h"

#include <string.h>

static enum status unfit(const struct journal_record *r, struct error *err)
{
    return error_set(err, STATUS_DATA,
                     "the journal does not fit the checkpoint: round %llu, place %llu",
                     (unsigned long long)r->round, (unsigned long long)r->place);
}

static enum status replay(struct server_train *s, const struct journal_record *r, struct error *err)
{
    struct server_task task;

    if (!server_choose_round(&s->trainer, &s->deal, &task) || r->purpose != task.purpose ||
        r->place != task.place || r->sweep != task.sweep || r->rows != task.rows ||
        r->sum_floats != (size_t)r->rows * s->trainer.head.top.inputs)
        return unfit(r, err);
    s->round.number = r->round;
    if (server_work_again(&s->trainer, &s->report, &task, r) != STATUS_OK)
        return unfit(r, err);
    /* Else a step has left gradients of more than one kind behind it. */
    if (purpose_of(task.purpose)->trains && server_pace_of(s->trainer.plan)->in_step &&
        memcmp(s->trainer.trail.value, r->trail, sizeof r->trail) != 0)
        return unfit(r, err);
    return STATUS_OK;
}

enum status server_train_replay(struct server_train *s, const struct journal_record *r,
                                uint64_t *generation, struct error *err)
{
    const uint64_t mode = subnormal_flush();
    enum status st = STATUS_OK;

    if (r->round > s->round.number) { /* or else the checkpoint has it */
        st = replay(s, r, err);
        if (st == STATUS_OK && r->generation > *generation)
            *generation = r->generation;
    }
    subnormal_restore(mode);
    return st;
}
