/* watch.h -- what --transcript is told (transcript.h).  Where nobody watches, all of it does
 * nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_WATCH_H
#define COLONNADE_SERVER_TRAIN_WATCH_H

#include "server/federation.h"
#include "server/setup.h"
#include "server/train/head.h"
#include "server/train/sum.h"

struct server_asked;

/* Written by watch.c alone. */
struct server_watcher {
    const struct server_watch *told;
    struct server_sum *sum;   /* knows how uploads are opened */
    struct server_asked *ask; /* by round: the last few; NULL: nobody is told of uploads */
    float *upload;
};

/* w is zeroed; all must outlive it. */
enum status server_watch_new(struct server_watcher *w, const struct server_watch *told,
                             struct server_sum *sum) MUST_USE;
void server_watch_free(struct server_watcher *w);

/* The task is about to be asked for: of all members, or of `party` alone (-1: all). */
enum status server_watch_ask(struct server_watcher *w, const struct server_task *task,
                             uint64_t generation, int party, struct error *err) MUST_USE;
/* An upload that was taken, or came late. */
enum status server_watch_upload(struct server_watcher *w, const struct server_federation *f,
                                uint32_t peer, const struct wire_upload *u, bool late,
                                struct error *err) MUST_USE;
/* The same of one that is open already, n values. */
enum status server_watch_values(struct server_watcher *w, uint32_t peer, uint64_t round,
                                const float *x, size_t n, struct error *err) MUST_USE;
/* The task's sum in head.fused, and `blocks` gradients in head.values. */
enum status server_watch_sum(struct server_watcher *w, const struct server_head *h,
                             const struct server_task *task, uint32_t blocks,
                             struct error *err) MUST_USE;
/* Gradients of steps that this party had missed are on their way. */
enum status server_watch_again(struct server_watcher *w, uint32_t peer, uint64_t step,
                               uint64_t steps, struct error *err) MUST_USE;
/* An upload or a share, so long after its round was opened, before anybody has looked at it; of
 * other kinds nothing. */
enum status server_watch_arrival(struct server_watcher *w, uint32_t peer, const struct wire_msg *m,
                                 uint64_t after_us, struct error *err) MUST_USE;
/* What cannot be written any more is not. */
void server_watch_end(struct server_watcher *w, enum wire_outcome outcome, int exit_code);

#endif
