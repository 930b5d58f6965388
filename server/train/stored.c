/* stored.c -- training.releases once: every row's sum is kept, and the head trains on what was
 * kept.
 *
 * The happy path: one epoch of rounds and a sweep over the test rows, of which nothing goes down
 * -> CLOSE -> finish, and the parties are gone -> the head trains for training.epochs and is
 * evaluated, all on kept sums.  Bottoms are frozen, so another release of a row would say the same
 * thing again, at the price of a release.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <string.h>

bool server_stores(const struct server_train *s)
{
    return s->plan.training.releases == RELEASES_ONCE;
}

enum status server_stored_new(struct server_train *s)
{
    struct server_stored *t = &s->trainer.stored;
    const size_t width = s->trainer.head.top.inputs;

    if (!server_stores(s))
        return STATUS_OK;
    if (s->setup.checkpoint_rounds == 0)
        log_warn("without a state_key the sums of rows that are released once live in memory "
                 "alone, and an early end loses them");
    agenda_make_head(&t->agenda, &s->plan);
    t->train = mem_alloc(s->plan.shape.train_rows, width * sizeof *t->train);
    t->test = mem_alloc(s->plan.shape.test_rows + 1u, width * sizeof *t->test);
    return t->train == NULL || t->test == NULL ? STATUS_MEMORY : STATUS_OK;
}

void server_stored_free(struct server_train *s)
{
    mem_free(s->trainer.stored.train);
    mem_free(s->trainer.stored.test);
}

/* --- while parties are there --- */

static void keep(float *all, const struct server_train *s)
{
    const size_t width = s->trainer.head.top.inputs;

    for (uint32_t r = 0; r < s->round.rows; r++) {
        size_t row = s->round.row != NULL ? s->round.row[r] : s->round.place + r;
        memcpy(all + row * width, s->trainer.head.fused + r * width, width * sizeof *all);
    }
}

void server_stored_keep(struct server_train *s)
{
    if (purpose_of(s->round.purpose)->trains) {
        keep(s->trainer.stored.train, s);
        return;
    }
    CHECK(purpose_of(s->round.purpose)->test);
    keep(s->trainer.stored.test, s);
    s->trainer.sweep.next_place += s->round.rows;
    if (s->trainer.sweep.next_place < s->plan.shape.test_rows)
        return;
    s->trainer.sweep.running = false;
    s->trainer.sweep.done_at = s->trainer.steps_done;
}

enum status server_stored_print(const struct server_train *s, struct buf *out)
{
    const size_t width = s->trainer.head.top.inputs * sizeof(float);
    enum status st = STATUS_OK;

    if (!server_stores(s))
        return st;
    st = buf_append(out, s->trainer.stored.train, s->plan.shape.train_rows * width);
    return st == STATUS_OK
               ? buf_append(out, s->trainer.stored.test, s->plan.shape.test_rows * width)
               : st;
}

enum status server_stored_parse(struct server_train *s, const uint8_t *bytes, size_t n,
                                size_t *used)
{
    const size_t width = s->trainer.head.top.inputs * sizeof(float);
    const size_t train = s->plan.shape.train_rows * width, test = s->plan.shape.test_rows * width;

    *used = 0;
    if (!server_stores(s))
        return STATUS_OK;
    if (n < train + test)
        return STATUS_DATA;
    memcpy(s->trainer.stored.train, bytes, train);
    memcpy(s->trainer.stored.test, bytes + train, test);
    *used = train + test;
    return STATUS_OK;
}

double server_epochs(const struct server_train *s)
{
    if (server_stores(s))
        return agenda_epochs(&s->trainer.stored.agenda, s->trainer.stored.step);
    return agenda_epochs(&s->trainer.agenda, s->trainer.steps_done);
}
