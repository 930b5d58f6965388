/* stored.c -- sums that are kept, row by row.
 *
 * The happy path: one epoch of rounds and a sweep over the test rows, of which nothing goes down
 * -> CLOSE -> finish, and the parties are gone -> the head trains for training.epochs and is
 * evaluated, all on kept sums (alone.c).  Bottoms are frozen, so another release of a row would say
 * the same thing again, at the price of a release.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/stored.h"

#include "common/base/log.h"
#include "common/base/mem.h"

#include <string.h>

enum status server_stored_new(struct server_stored **out, const struct plan *p, size_t width,
                              bool keeps)
{
    struct server_stored *d = *out = mem_alloc(1, sizeof *d);

    if (d == NULL)
        return STATUS_MEMORY;
    if (!keeps)
        log_warn("without a state_key the sums of rows that are released once live in memory "
                 "alone, and an early end loses them");
    agenda_make_head(&d->agenda, p);
    d->width = width;
    d->train_rows = p->shape.train_rows;
    d->test_rows = p->shape.test_rows;
    d->train = mem_alloc(d->train_rows, width * sizeof *d->train);
    d->test = mem_alloc(d->test_rows + 1u, width * sizeof *d->test);
    return d->train == NULL || d->test == NULL ? STATUS_MEMORY : STATUS_OK;
}

void server_stored_free(struct server_stored *d)
{
    if (d == NULL)
        return;
    mem_free(d->train);
    mem_free(d->test);
    mem_free(d);
}

static float *row_of(const struct server_stored *d, const struct server_task *task, uint32_t r)
{
    return (purpose_of(task->purpose)->test ? d->test : d->train) +
           server_task_row(task, r) * d->width;
}

void server_stored_put(struct server_stored *d, const struct server_task *task, const float *fused)
{
    for (uint32_t r = 0; r < task->rows; r++)
        memcpy(row_of(d, task, r), fused + r * d->width, d->width * sizeof *fused);
}

void server_stored_get(const struct server_stored *d, const struct server_task *task, float *fused)
{
    for (uint32_t r = 0; r < task->rows; r++)
        memcpy(fused + r * d->width, row_of(d, task, r), d->width * sizeof *fused);
}

enum status server_stored_print(const struct server_stored *d, struct buf *out)
{
    enum status st;

    if (d == NULL)
        return STATUS_OK;
    st = buf_append(out, d->train, d->train_rows * d->width * sizeof *d->train);
    return st == STATUS_OK ? buf_append(out, d->test, d->test_rows * d->width * sizeof *d->test)
                           : st;
}

enum status server_stored_parse(struct server_stored *d, const uint8_t *bytes, size_t n,
                                size_t *used)
{
    size_t train, test;

    *used = 0;
    if (d == NULL)
        return STATUS_OK;
    train = d->train_rows * d->width * sizeof *d->train;
    test = d->test_rows * d->width * sizeof *d->test;
    if (n < train + test)
        return STATUS_DATA;
    memcpy(d->train, bytes, train);
    memcpy(d->test, bytes + train, test);
    *used = train + test;
    return STATUS_OK;
}
