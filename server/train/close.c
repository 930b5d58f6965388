/* close.c -- checkpoints, and CLOSE.
 *
 * The happy path: the last broadcast -> every member keeps its final model and says so -> the
 * server keeps that the run is complete -> finish.  So whichever process is killed, and whenever,
 * nobody is left without the last gradient: until all are done the server comes back to CLOSE, and
 * from then on nobody needs anybody.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "server/train/pace.h"

/* --- checkpoints --- */

enum status server_save_now(struct server_train *s, struct error *err)
{
    s->keep.bytes.len = 0;
    s->keep.step = s->trainer.steps_done;
    s->keep.marks = server_marks(s->fed);
    if (server_train_save(s, &s->keep.bytes) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_MEMORY, "no memory for a checkpoint");
}

void server_hand_over(struct server_keep *k, struct actions *a)
{
    CHECK(!k->under_way);
    k->under_way = true;
    actions_add(a, ACTION_KEEP)->kept = (struct wire_bytes){k->bytes.data, k->bytes.len};
}

/* Steps that somebody may still ask for: a party goes back at most to the checkpoint before its
 * last, or without any misses the last gradient. */
static void forget_what_nobody_needs(struct server_train *s, struct actions *a)
{
    uint64_t floor = s->keep.durable_step;
    const bool asked = server_pace_of(s->trainer.plan)->in_step;

    for (size_t i = 0; asked && i < s->fed->terms.roster->n; i++) {
        const struct train_member *p = &s->member[i];
        /* Of who has not joined this process nobody knows what it needs. */
        uint64_t needs = s->fed->counts.joined[i] == 0            ? 0
                         : p->keeps || s->trainer.steps_done == 0 ? p->kept[1]
                                                                  : s->trainer.steps_done - 1;
        floor = needs < floor ? needs : floor;
    }
    if (s->trainer.steps_done > WIRE_BEHIND_MAX && floor < s->trainer.steps_done - WIRE_BEHIND_MAX)
        floor = s->trainer.steps_done - WIRE_BEHIND_MAX; /* no peer fills this side's disk */
    if (floor > s->keep.durable_step)
        floor = s->keep.durable_step;
    if (s->setup.store.first != NULL)
        actions_add(a, ACTION_FORGET)->step = floor;
}

struct train_next server_keep_done(struct server_train *s, struct actions *a,
                                   const struct error *result)
{
    s->keep.under_way = false;
    if (result->status != STATUS_OK) {
        s->fed->error = *result;
        return train_say(NEXT_FAIL);
    }
    s->keep.durable_step = s->keep.step;
    forget_what_nobody_needs(s, a);
    if (s->fed->sm.phase == PHASE_CLOSE && (s->keep.complete || server_all_answered(s->fed)))
        return train_next(TRAIN_CLOSED);
    return train_say(NEXT_WAIT);
}

struct train_next server_kept(struct server_train *s, struct actions *a, uint32_t peer,
                              const struct wire_kept *k)
{
    const struct server_peer *p = &s->fed->peer[peer];
    struct train_member *m = &s->member[peer];

    if (k->step > m->kept[0]) {
        m->kept[1] = m->kept[0];
        m->kept[0] = k->step;
        forget_what_nobody_needs(s, a);
    }
    if (s->fed->sm.phase == PHASE_CLOSE && k->final && p->member >= 0 && !p->answered &&
        server_answered(s->fed, peer))
        return train_next(TRAIN_CLOSED);
    return train_say(NEXT_WAIT);
}

/* --- CLOSE --- */

void server_close_run(struct server_train *s, struct actions *a)
{
    struct wire_broadcast b =
        server_broadcast_of(&s->trainer, s->fed->set.generation, s->round.number);

    b.last = true;
    sm_move(&s->fed->sm, PHASE_CLOSE, s->fed->set.generation);
    server_next_question(s->fed);
    server_send_broadcast(s->fed, a, &s->trainer, &b);
    server_arm_phase(s->fed, a, false);
}

/* First that all are done is made durable, then it is said. */
struct server_next server_all_closed(struct server_train *s, struct actions *a)
{
    if (s->keep.under_way) {
        server_arm(a, s->fed->terms.patience_ms);
        return next_of(NEXT_WAIT); /* an older checkpoint is on its way: comes back here */
    }
    if (!s->keep.complete && s->setup.checkpoint_rounds > 0) {
        s->keep.complete = true;
        program_round(s->trainer.program.program); /* nobody waits any more */
        if (server_save_now(s, &s->fed->error) != STATUS_OK)
            return next_of(NEXT_FAIL);
        actions_add(a, ACTION_DISARM);
        server_hand_over(&s->keep, a);
        return next_of(NEXT_WAIT);
    }
    return server_complete(s, a);
}

struct server_next server_complete(void *state, struct actions *a)
{
    struct server_train *s = state;

    if (server_stored_begin(s->fed, a, &s->trainer))
        return next_of(NEXT_WAIT);
    return next_finish(server_trainer_outcome(&s->trainer));
}
