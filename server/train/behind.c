/* behind.c -- whose model is where the run needs it, and how it gets there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "server/train/pace.h"

#include <string.h>

/* Is this party's model where the run needs it? */
enum status server_model_fits(struct server_federation *f, const struct server_trainer *t,
                              uint32_t peer, const struct wire_join *j)
{
    const char *what = server_pace_of(t->plan)->unfit(t, j);

    if (what == NULL)
        return STATUS_OK;
    return error_set(&f->error, STATUS_DATA,
                     "%s %s: it has applied %llu training steps, this run has done %llu",
                     server_name(f, peer), what, (unsigned long long)j->applied,
                     (unsigned long long)t->steps_done);
}

void server_model_came(struct server_train *s, uint32_t peer, const struct wire_join *j)
{
    struct train_member *m = &s->member[peer];

    m->owes = false;
    m->applied = server_pace_of(s->trainer.plan)->comes_from(&s->trainer, j);
    m->keeps = j->keeps;
    m->kept[0] = j->kept;
    m->kept[1] = j->kept_before;
}

/* The last one, which is here.  Where parties are apart each has a part of it. */
static enum status take_last(struct buf *out, const struct server_trainer *t, uint32_t peer)
{
    const size_t bytes = t->close.words * sizeof *t->head.blob, block = peer * bytes;

    return buf_append(out, (const uint8_t *)t->head.blob + (t->close.blocks > 1 ? block : 0),
                      bytes);
}

/* What is in recall.replay, so many steps from `step` on, to who is behind. */
static struct server_next bring_up(struct server_train *s, struct actions *a, uint32_t peer,
                                   uint64_t step, uint64_t steps)
{
    struct action *send;

    s->member[peer].applied = step + steps; /* it only grows: an end to the asking */
    s->report.degraded.replayed += steps;
    if (server_watch_again(&s->watcher, peer, step, steps, &s->fed->error) != STATUS_OK)
        return next_of(NEXT_FAIL);
    send = server_send_one(s->fed, a, peer, WIRE_REPLAY);
    send->msg.replay = (struct wire_replay){
        s->fed->set.generation, step, {s->recall.replay.data, s->recall.replay.len}};
    return next_of(NEXT_WAIT);
}

struct server_next server_behind(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_behind *b)
{
    struct action *recall;

    if (!server_pace_of(s->trainer.plan)->in_step || b->applied < s->member[peer].applied ||
        b->applied >= s->trainer.steps_done || !server_reachable(&s->trainer, b->applied)) {
        error_set(&s->fed->error, STATUS_PROTOCOL,
                  "%s: is behind by what it should have (%llu of %llu)", server_name(s->fed, peer),
                  (unsigned long long)b->applied, (unsigned long long)s->trainer.steps_done);
        return next_of_peer(NEXT_DROP, peer);
    }
    s->recall.replay.len = 0;
    if (s->trainer.close.any && b->applied == s->trainer.close.step) {
        if (take_last(&s->recall.replay, &s->trainer, peer) == STATUS_OK)
            return bring_up(s, a, peer, b->applied, 1);
        error_set(&s->fed->error, STATUS_MEMORY, "no memory for a replay");
        return next_of(NEXT_FAIL);
    }
    s->recall.peer = peer;
    s->recall.step = b->applied;
    recall = actions_add(a, ACTION_RECALL);
    recall->step = b->applied;
    recall->recall = (struct action_recall){s->trainer.head.apart ? 1 : WIRE_REPLAY_MAX,
                                            &s->recall.replay, &s->recall.steps};
    return next_of(NEXT_WAIT);
}

struct server_next server_recalled(struct server_train *s, struct actions *a,
                                   const struct error *result)
{
    const struct server_recall *r = &s->recall;
    struct buf *replay = &s->recall.replay;

    if (result->status != STATUS_OK) {
        s->fed->error = *result;
        return next_of(NEXT_FAIL);
    }
    if (s->trainer.head.apart) { /* of one step, everybody's side by side */
        replay->len /= s->trainer.head.top.parties;
        memmove(replay->data, replay->data + r->peer * replay->len, replay->len);
    }
    return bring_up(s, a, r->peer, r->step, r->steps);
}
