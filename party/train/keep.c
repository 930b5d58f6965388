/* keep.c -- this party's checkpoints, and CLOSE: the final model is kept before anybody ends.
 *
 * The bytes are made between two steps and written while the session goes on.  When they are
 * durable the server is told, which may then forget what this party will not ask for again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/keep.h"

#include "common/base/check.h"
#include "party/core.h"

/* The last durable one becomes the one before. */
static enum status save(struct party_session *p)
{
    struct buf before = p->keep.before;

    if (p->keep.any && p->keep.last_step == p->keep.kept_step) {
        p->keep.before = p->keep.last;
        p->keep.before_step = p->keep.last_step;
        p->keep.last = before;
    }
    p->keep.last.len = 0;
    p->keep.last_step = p->learner.applied;
    if (party_session_save(p, &p->keep.last) == STATUS_OK)
        return STATUS_OK;
    return error_set(&p->error, STATUS_MEMORY, "no memory for a checkpoint");
}

enum status party_save_when_due(struct party_session *p)
{
    uint32_t every = p->setup.checkpoint_rounds;

    if (every == 0 || p->keep.writing || p->learner.applied % every != 0)
        return STATUS_OK;
    p->keep.due = true;
    return save(p);
}

void party_keep(struct party_session *p, struct actions *a)
{
    CHECK(!p->keep.writing);
    p->keep.writing = true;
    p->keep.due = false;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){p->keep.last.data, p->keep.last.len};
}

void party_keep_now(struct party_session *p, struct actions *a)
{
    if (save(p) == STATUS_OK)
        party_keep(p, a);
    else
        party_refuse(p, a);
}

static void say_kept(struct party_session *p, struct actions *a)
{
    struct action *send;

    if (p->sm.phase == PHASE_GATHER)
        return; /* the next join says it */
    send = actions_add(a, ACTION_SEND);
    send->msg.kind = WIRE_KEPT;
    send->msg.kept = (struct wire_kept){p->keep.kept_step, p->keep.final};
}

void party_kept(struct party_session *p, struct actions *a, const struct error *result)
{
    p->keep.writing = false;
    if (result->status != STATUS_OK) {
        p->error = *result;
        party_refuse(p, a);
        return;
    }
    p->keep.any = true;
    p->keep.kept_step = p->keep.last_step;
    if (p->sm.phase == PHASE_CLOSE && !p->keep.final) {
        party_close(p, a); /* that was an older one */
        return;
    }
    say_kept(p, a);
    if (p->keep.awaited && p->sm.phase == PHASE_AGREE)
        party_catch_up(p, a);
}

/* The last broadcast has come, and its gradient is applied. */
void party_close(struct party_session *p, struct actions *a)
{
    p->learner.final = true;
    if (p->sm.phase != PHASE_CLOSE)
        sm_move(&p->sm, PHASE_CLOSE, p->fed.set.generation);
    party_arm(p, a);
    if (p->keep.writing)
        return; /* comes back here */
    p->keep.final = true;
    if (p->setup.checkpoint_rounds > 0) {
        party_keep_now(p, a);
        return;
    }
    p->keep.kept_step = p->learner.applied; /* as durable as this party wants anything to be */
    say_kept(p, a);
}
