/* keep.h -- checkpoints of this party: the bytes, which of them are durable, and who waits for
 * that.
 *
 * Touched by keep.c and resume.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_KEEP_H
#define COLONNADE_PARTY_TRAIN_KEEP_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PARTY_KEEP_MAX = 1 << 30 }; /* bytes of a checkpoint */

struct party_keep {
    struct buf last, before; /* what ACTION_KEEP writes; the durable one before that */
    bool writing;            /* the driver has it */
    bool awaited;            /* an offer cannot be answered before it is durable */
    bool any, final;         /* one is durable; that of the final model is made */
    uint64_t last_step, kept_step, before_step;
};

#endif
