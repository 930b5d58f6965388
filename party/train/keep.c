/* keep.c -- this party's checkpoints, and CLOSE: the final model is kept before anybody ends.
 *
 * The bytes are made between two steps and written while the session goes on.  When they are
 * durable the server is told, which may then forget what this party will not ask for again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/keep.h"

#include "common/base/check.h"
#include "party/train/parts.h"

/* The last durable one becomes the one before. */
static enum status save(struct party_train *p, struct error *err)
{
    struct buf before = p->keep.before;

    if (p->keep.any && p->keep.last_step == p->keep.kept_step) {
        p->keep.before = p->keep.last;
        p->keep.before_step = p->keep.last_step;
        p->keep.last = before;
    }
    p->keep.last.len = 0;
    p->keep.last_step = p->learner.applied;
    if (party_train_save(p, &p->keep.last) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY, "no memory for a checkpoint");
}

enum status party_save_when_due(struct party_train *p, struct party_result *r)
{
    uint32_t every = p->setup->checkpoint_rounds;

    if (every == 0 || p->keep.writing || p->learner.applied % every != 0)
        return STATUS_OK;
    r->saved = true;
    return save(p, &r->error);
}

void party_keep(struct party_train *p, struct actions *a)
{
    CHECK(!p->keep.writing);
    p->keep.writing = true;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){p->keep.last.data, p->keep.last.len};
}

enum status party_keep_now(struct party_train *p, struct actions *a)
{
    enum status s = save(p, p->error);

    if (s == STATUS_OK)
        party_keep(p, a);
    return s;
}

static void say_kept(struct party_train *p, struct actions *a)
{
    struct action *send;

    if (p->sm->phase == PHASE_GATHER)
        return; /* the next join says it */
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_KEPT;
    send->msg.kept = (struct wire_kept){p->keep.kept_step, p->keep.final};
}

enum status party_kept(struct party_train *p, struct actions *a, const struct error *result)
{
    p->keep.writing = false;
    if (result->status != STATUS_OK) {
        *p->error = *result;
        return result->status;
    }
    p->keep.any = true;
    p->keep.kept_step = p->keep.last_step;
    if (p->sm->phase == PHASE_CLOSE && !p->keep.final)
        return party_close(p, a); /* that was an older one */
    say_kept(p, a);
    return STATUS_OK;
}

/* The last broadcast has come, and its gradient is applied. */
enum status party_close(struct party_train *p, struct actions *a)
{
    p->learner.final = true;
    if (p->sm->phase != PHASE_CLOSE)
        sm_move(p->sm, PHASE_CLOSE, p->set->generation);
    party_arm(p, a);
    if (p->keep.writing)
        return STATUS_OK; /* comes back here */
    p->keep.final = true;
    if (p->setup->checkpoint_rounds > 0)
        return party_keep_now(p, a);
    p->keep.kept_step = p->learner.applied; /* as durable as this party wants anything to be */
    say_kept(p, a);
    return STATUS_OK;
}
