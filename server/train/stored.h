/* stored.h -- training.releases once: the sum of every row, as the head takes it.
 *
 * Written by stored.c while parties are there, and by alone.c when they have gone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_STORED_H
#define COLONNADE_SERVER_TRAIN_STORED_H

#include "common/base/buf.h"
#include "common/flow/agenda.h"
#include "server/train/task.h"

struct server_stored {
    float *train, *test; /* rows x width */
    size_t width;        /* inputs of the head */
    uint32_t train_rows, test_rows;
    struct agenda agenda; /* the head's own */
    uint64_t step;        /* that the head has taken */
    bool alone;           /* the parties have gone */
};

/* `keeps`: they outlive the process. */
enum status server_stored_new(struct server_stored **out, const struct plan *p, size_t width,
                              bool keeps) MUST_USE;
void server_stored_free(struct server_stored *d); /* NULL is fine */

/* Sums of the task's rows, as they are in head.fused, and back. */
void server_stored_put(struct server_stored *d, const struct server_task *task, const float *fused);
void server_stored_get(const struct server_stored *d, const struct server_task *task, float *fused);

/* NULL: nothing is printed, and nothing used. */
enum status server_stored_print(const struct server_stored *d, struct buf *out) MUST_USE;
enum status server_stored_parse(struct server_stored *d, const uint8_t *bytes, size_t n,
                                size_t *used) MUST_USE;

#endif
