/* again.c -- rounds that an earlier process has closed, from its journal.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/subnormal.h"

static enum status unfit(const struct journal_record *r, struct error *err)
{
    return error_set(err, STATUS_DATA,
                     "the journal does not fit the checkpoint: round %llu, place %llu",
                     (unsigned long long)r->round, (unsigned long long)r->place);
}

static enum status replay(struct server_train *s, const struct journal_record *r, struct error *err)
{
    if (!server_choose_round(s) || r->purpose != s->round.purpose || r->place != s->round.place ||
        r->sweep != s->round.sweep || r->rows != s->round.rows ||
        r->sum_floats != (size_t)r->rows * s->trainer.head.top.inputs)
        return unfit(r, err);
    s->round.number = r->round;
    return server_work_again(s, r) == STATUS_OK ? STATUS_OK : unfit(r, err);
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
