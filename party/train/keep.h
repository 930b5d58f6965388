/* keep.h -- checkpoints of this party: the bytes, which of them are durable, and who waits for
 * that.
 *
 * Written by keep.c and, where a process begins with what an earlier one has kept or goes back to
 * it, by resume.c; who waits by catchup.c, that the last one is made by close.c, and that there is
 * no such one by train.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_KEEP_H
#define COLONNADE_PARTY_TRAIN_KEEP_H

#include "common/base/buf.h"
#include "common/flow/action.h"

#include <stdbool.h>
#include <stdint.h>

struct party_keep {
    struct buf last, before; /* what ACTION_KEEP writes; the durable one before that */
    bool writing;            /* the driver has it */
    bool awaited;            /* an offer cannot be answered before it is durable */
    bool any, final;         /* one is durable; that of the final model is made */
    uint64_t last_step, kept_step, before_step;
};

void party_keep_init(struct party_keep *k);
void party_keep_deinit(struct party_keep *k);
void party_keep_forget(struct party_keep *k); /* as if there had never been one */

/* Where the bytes of the next one go, which is of `step`; the last durable one becomes the one
 * before.  Not while the driver has it. */
struct buf *party_keep_next(struct party_keep *k, uint64_t step);
void party_keep_write(struct party_keep *k, struct actions *a);
void party_keep_durable(struct party_keep *k);
/* The server may forget what this party will not ask for again. */
void party_keep_say(const struct party_keep *k, struct actions *a);

#endif
