/* keep.c -- the bytes of checkpoints, made between two steps and written while the session goes on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/keep.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

void party_keep_init(struct party_keep *k)
{
    buf_init(&k->last, SIZE_MAX); /* as large as the bottom, whatever its features (learner.c) */
    buf_init(&k->before, SIZE_MAX);
}

void party_keep_deinit(struct party_keep *k)
{
    secret_buf_deinit(&k->last);
    secret_buf_deinit(&k->before);
}

void party_keep_forget(struct party_keep *k)
{
    CHECK(!k->writing);
    party_keep_deinit(k);
    party_keep_init(k);
    k->any = false;
    k->last_step = k->kept_step = k->before_step = 0;
}

struct buf *party_keep_next(struct party_keep *k, uint64_t step)
{
    struct buf before = k->before;

    CHECK(!k->writing);
    if (k->any && k->last_step == k->kept_step) {
        k->before = k->last;
        k->before_step = k->last_step;
        k->last = before;
    }
    k->last.len = 0;
    k->last_step = step;
    return &k->last;
}

void party_keep_write(struct party_keep *k, struct actions *a)
{
    CHECK(!k->writing);
    k->writing = true;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){k->last.data, k->last.len};
}

void party_keep_durable(struct party_keep *k)
{
    k->any = true;
    k->kept_step = k->last_step;
}

void party_keep_say(const struct party_keep *k, struct actions *a)
{
    struct action *send = actions_add(a, ACTION_SEND);

    send->msg.kind = WIRE_KEPT;
    send->msg.kept = (struct wire_kept){k->kept_step, k->final};
}
