/* keep.c -- this party's checkpoints, and CLOSE: the final model is kept before anybody ends.
 *
 * The bytes are made between two steps and written while the session goes on.  When they are
 * durable the server is told, which may then forget what this party will not ask for again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/base/check.h"

/* The last durable one becomes the one before. */
static enum status save(struct party_session *p)
{
    struct buf before = p->before;

    if (p->kept_any && p->keep_step == p->kept_step) {
        p->before = p->keep;
        p->before_step = p->keep_step;
        p->keep = before;
    }
    p->keep.len = 0;
    p->keep_step = p->applied;
    if (party_session_save(p, &p->keep) == STATUS_OK)
        return STATUS_OK;
    return error_set(&p->error, STATUS_MEMORY, "no memory for a checkpoint");
}

enum status party_save_when_due(struct party_session *p)
{
    uint32_t every = p->setup.checkpoint_rounds;

    if (every == 0 || p->keeping || p->applied % every != 0)
        return STATUS_OK;
    p->keep_due = true;
    return save(p);
}

void party_keep(struct party_session *p, struct actions *a)
{
    CHECK(!p->keeping);
    p->keeping = true;
    p->keep_due = false;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){p->keep.data, p->keep.len};
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
    send->msg.kept = (struct wire_kept){p->kept_step, p->kept_final};
}

void party_kept(struct party_session *p, struct actions *a, const struct error *result)
{
    p->keeping = false;
    if (result->status != STATUS_OK) {
        p->error = *result;
        party_refuse(p, a);
        return;
    }
    p->kept_any = true;
    p->kept_step = p->keep_step;
    if (p->sm.phase == PHASE_CLOSE && !p->kept_final) {
        party_close(p, a); /* that was an older one */
        return;
    }
    say_kept(p, a);
    if (p->awaits_kept && p->sm.phase == PHASE_AGREE)
        party_catch_up(p, a);
}

/* The last broadcast has come, and its gradient is applied. */
void party_close(struct party_session *p, struct actions *a)
{
    p->final = true;
    if (p->sm.phase != PHASE_CLOSE)
        sm_move(&p->sm, PHASE_CLOSE, p->generation);
    party_arm(p, a);
    if (p->keeping)
        return; /* comes back here */
    p->kept_final = true;
    if (p->setup.checkpoint_rounds > 0) {
        party_keep_now(p, a);
        return;
    }
    p->kept_step = p->applied; /* as durable as this party wants anything to be */
    say_kept(p, a);
}
