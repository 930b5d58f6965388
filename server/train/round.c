/* round.c -- one round after the other: which is next, and what follows when its work is done.
 *
 * The happy path: choose -> open (a broadcast, which ends the step before) -> uploads -> work
 * (combine, head) -> the next.  How a round is opened and what it waits for is its mode's
 * (struct server_mode).  A round completes or is void; a void round's batch runs next, in a new
 * generation, with fresh samples and masks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/config/aggregation.h"

bool server_choose_round(struct server_train *s)
{
    s->round.sweep = 0;
    if (server_next_deal(s) || server_next_evaluation(s))
        return true;
    if (s->trainer.steps_done == s->trainer.agenda.steps || s->trainer.target_reached)
        return false;
    s->round.purpose = PURPOSE_TRAIN;
    s->round.place = s->trainer.steps_done;
    s->round.row =
        schedule_batch(&s->trainer.schedule,
                       agenda_batch(&s->trainer.agenda, s->trainer.steps_done), &s->round.rows);
    s->round.coded = s->trainer.schedule.coded_n;
    return true;
}

/* --- modes --- */

static const struct server_mode *mode_without_steps(const struct server_train *s)
{
    return s->round.shares != NULL ? &server_coded : &server_plain;
}

/* Async streams its training rounds alone. */
static const struct server_mode *mode_of_round(const struct server_train *s)
{
    if (s->round.stream != NULL && purpose_of(s->round.purpose)->trains)
        return &server_streamed;
    return mode_without_steps(s);
}

/* A set that has shrunk cannot open a round under masks: it is keyed anew.  In clear it can. */
static bool set_is_whole(const struct server_train *s)
{
    return s->fed->set.left == 0 || (aggregation_of(&s->plan)->plaintext && !server_waits(s->fed));
}

struct server_next server_next_round(struct server_train *s, struct actions *a)
{
    if (!set_is_whole(s)) {
        server_flush_close(s, a);
        return next_of(NEXT_SET);
    }
    if (!server_choose_round(s)) {
        s->mode = mode_without_steps(s);
        server_close_run(s, a);
        return next_of(NEXT_WAIT);
    }
    s->mode = mode_of_round(s);
    return s->mode->open(s, a);
}

void server_sum_up(struct server_train *s, struct actions *a)
{
    uint32_t every = s->setup.checkpoint_rounds;
    struct action *work;

    spans_add(&s->spans, SPAN_WAIT, s->fed->now_us - s->round.opened_us);
    actions_add(a, ACTION_DISARM);
    work = actions_add(a, ACTION_WORK);
    work->flops =
        nn_net_flops(&s->trainer.head.top.net.spec, s->round.rows) *
            s->plan.protocol.local_iterations +
        2.0 * (double)server_round_values(s) * (server_deals(s) ? 8.0 * s->fed->set.n : 1.0);
    if (every > 0 && (s->trainer.steps_done + 1) % every == 0)
        work->flops += SERVER_SLOW_FLOPS; /* it will wait for the disk */
}

/* --- uploads --- */

/* Of a round that did not wait for it. */
static bool is_late(const struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    return s->mode->takes_late(s) && u->round > s->member[peer].uploaded &&
           (u->round < s->round.number ||
            (u->round == s->round.number && s->fed->sm.phase == PHASE_CLOSE));
}

void server_count_late(struct server_train *s, uint32_t peer, const struct wire_upload *u)
{
    if (!purpose_of(u->purpose)->trains)
        return;
    s->report.degraded.late++;
    s->report.late[peer]++;
}

struct server_next server_upload(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u)
{
    if (!is_late(s, peer, u))
        return s->mode->upload(s, a, peer, u);
    s->member[peer].uploaded = u->round;
    server_count_late(s, peer, u);
    if (server_watch_upload(s, peer, u, true) != STATUS_OK)
        return next_of(NEXT_FAIL);
    return s->mode->late_upload(s, peer, u);
}
