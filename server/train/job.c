/* job.c -- training as a federation sees it: the table, and what follows of the verdicts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/subnormal.h"
#include "server/train/pace.h"

/* A round leads to the next, a sum to work; what is not the job's own goes to the federation. */
static struct server_next follow(struct server_train *s, struct actions *a, struct train_next next)
{
    for (;;) {
        switch (next.kind) {
        case TRAIN_SAY: return next.said;
        case TRAIN_ROUND: next = server_next_round(s, a); break;
        case TRAIN_SUM: server_sum_up(s, a); return next_of(NEXT_WAIT);
        case TRAIN_CLOSED: return server_all_closed(s, a);
        }
    }
}

/* --- a set comes together --- */

static struct server_next start(void *state, struct actions *a, bool *over)
{
    struct server_train *s = state;

    *over = s->keep.complete;
    return s->keep.complete ? server_complete(s, a) : next_of(NEXT_WAIT);
}

static enum status fits(void *state, uint32_t peer, const struct wire_join *j)
{
    struct server_train *s = state;

    return server_model_fits(s->fed, &s->trainer, peer, j);
}

static void joined(void *state, uint32_t peer, const struct wire_join *j)
{
    server_model_came(state, peer, j);
}

/* Whoever streams may have nobody else with steps left. */
static struct server_next came(void *state, struct actions *a)
{
    struct server_train *s = state;

    if (s->fed->sm.phase != PHASE_STREAM)
        return next_of(NEXT_WAIT);
    return follow(s, a, s->round.mode->settle(s, a));
}

static uint64_t step(const void *state)
{
    return ((const struct server_train *)state)->trainer.steps_done;
}

static uint64_t best(const void *state)
{
    return server_trainer_best(&((const struct server_train *)state)->trainer);
}

static const uint8_t *playing(const void *state)
{
    return ((const struct server_train *)state)->keep.playing;
}

/* Where data is dealt, sizes are known from here on. */
static enum status agreed(void *state, const struct agree_hello *hellos)
{
    struct server_train *s = state;
    struct error *err = &s->fed->error;
    enum status st;

    if (!secagg_deals(s->sum.plan->protocol.aggregation))
        return STATUS_OK;
    st = server_deal_terms(&s->deal, &s->sum, hellos, s->fed->set.n, err);
    return st == STATUS_OK ? server_shares_size(s->shares, &s->sum, s->deal.chunks.chunk_rows, err)
                           : st;
}

static enum status prepare(void *state)
{
    struct server_train *s = state;

    server_head_members(&s->trainer.head, s->fed->set.n);
    return server_sum_members(&s->sum, s->fed->set.n);
}

static struct server_next begin(void *state, struct actions *a)
{
    struct server_train *s = state;

    for (size_t i = 0; i < s->fed->terms.roster->n; i++)
        s->member[i].uploaded = 0;
    if (!server_pace_of(s->trainer.plan)->in_step)
        server_trainer_begin(&s->trainer, s->fed->terms.digest);
    if (s->stream != NULL)
        server_stream_begin(s);
    return follow(s, a, train_next(TRAIN_ROUND));
}

/* --- it is played --- */

static struct server_next message(void *state, struct actions *a, uint32_t peer,
                                  const struct wire_msg *m)
{
    struct server_train *s = state;

    switch (m->kind) {
    case WIRE_KEPT: return follow(s, a, server_kept(s, a, peer, &m->kept));
    case WIRE_BEHIND: return server_behind(s, a, peer, &m->behind);
    case WIRE_SHARE: return follow(s, a, s->round.mode->share(s, a, peer, &m->share));
    case WIRE_UPLOAD: return follow(s, a, server_upload(s, a, peer, &m->upload));
    case WIRE_NONE:
    case WIRE_JOIN:
    case WIRE_OFFER:
    case WIRE_REPLAY:
    case WIRE_HELLO:
    case WIRE_HELLOS:
    case WIRE_CONFIRM:
    case WIRE_CONFIRMS:
    case WIRE_BROADCAST:
    case WIRE_RELAY:
    case WIRE_BATCH:
    case WIRE_FINISH:
    case WIRE_REFUSE:
    case WIRE_KINDS: break;
    }
    CHECK(!"no phase of this job expects it");
    return next_of(NEXT_WAIT);
}

static enum status arrival(void *state, uint32_t peer, const struct wire_msg *m)
{
    struct server_train *s = state;

    return server_watch_arrival(&s->watcher, peer, m, s->fed->now_us - s->round.opened_us,
                                &s->fed->error);
}

/* An upload of a generation that is over: nothing is made of it, but it was seen. */
static enum status overtaken(void *state, uint32_t peer, const struct wire_msg *m)
{
    struct server_train *s = state;

    if (m->kind != WIRE_UPLOAD)
        return STATUS_OK;
    if (s->member[peer].owes)
        server_count_late(s, peer, &m->upload);
    s->member[peer].owes = false;
    return server_watch_upload(&s->watcher, s->fed, peer, &m->upload, true, &s->fed->error);
}

static struct server_next timer(void *state, struct actions *a, const char *missing)
{
    struct server_train *s = state;
    struct train_next next = train_say(NEXT_LATE);

    if (s->fed->sm.phase == PHASE_CLOSE) {
        if (missing == NULL)
            return next.said;
        log_warn("going on without %s: no answer in phase %s", missing,
                 phase_row(s->fed->sm.phase)->name);
        return follow(s, a, train_next(TRAIN_CLOSED));
    }
    next = s->round.mode->out_of_time(s, a, missing != NULL);
    if (next.kind == TRAIN_SAY && next.said.kind == NEXT_LATE && missing != NULL)
        s->report.void_rounds++;
    return follow(s, a, next);
}

/* May the phase go on without a member that is lost? */
static bool spared(const struct server_train *s, bool had_answered)
{
    switch (phase_row(s->fed->sm.phase)->spares) {
    case SPARES_NOBODY: return false;
    case SPARES_PARTIAL: return s->round.mode->partial;
    case SPARES_SHARED:
        return had_answered && !purpose_of(s->round.task.purpose)->deals &&
               server_decodes_without(s);
    case SPARES_DECODES: return server_decodes_without(s);
    case SPARES_ANYBODY: return true;
    case SPARES_ANSWERED: return had_answered || server_does_without(s->fed);
    }
    return false;
}

static void voided(void *state)
{
    struct server_train *s = state;

    s->report.void_rounds += s->fed->sm.phase != PHASE_CLOSE;
}

static bool lost(void *state, bool had_answered)
{
    struct server_train *s = state;
    const bool goes_on = spared(s, had_answered);

    s->report.void_rounds += !goes_on && s->fed->sm.phase != PHASE_CLOSE;
    return goes_on;
}

/* A member that the round can do without has left: is everybody else done? */
static struct server_next settle(void *state, struct actions *a)
{
    struct server_train *s = state;

    if (s->fed->sm.phase != PHASE_CLOSE)
        return follow(s, a, s->round.mode->settle(s, a));
    return server_all_answered(s->fed) ? server_all_closed(s, a) : next_of(NEXT_WAIT);
}

/* In clear and under async an evaluation is patient: what a round of it costs is not a round's. */
static void left_behind(void *state, uint32_t peer)
{
    struct server_train *s = state;

    if (!purpose_of(s->round.task.purpose)->trains && (s->round.mode->partial || s->stream != NULL))
        server_stalled(s->fed, peer);
    s->member[peer].owes = phase_row(s->fed->sm.phase)->member_answers == WIRE_UPLOAD;
}

/* What is released is in the journal before anything of it is sent, and a checkpoint never ahead of
 * it. */
static void work(void *state, struct actions *out)
{
    struct server_train *s = state;
    struct server_worked *w = &s->worked;
    const uint64_t mode = subnormal_flush();

    *w = server_stored_alone(&s->trainer) ? server_stored_work(&s->trainer, &s->report)
                                          : s->round.mode->work(s);
    s->keep.spoiled = w->spoiled;
    if (w->may_keep && s->keep.marks != server_marks(s->fed)) /* no liar is forgiven by a kill */
        w->keep = true;
    if (s->keep.under_way) /* the one before is still on its way */
        w->keep = false;
    if (w->error.status == STATUS_OK && w->keep)
        s->keep.spoiled = server_save_now(s, &w->error) != STATUS_OK;
    subnormal_restore(mode);
    if (w->error.status != STATUS_OK || s->setup.store.first == NULL)
        return;
    if (w->append)
        actions_add(out, ACTION_APPEND)->record = &w->record;
    if (w->keep)
        actions_add(out, ACTION_TURN)->step = s->keep.step;
}

/* What became of it, and of what it wanted written. */
static struct server_worked take_worked(struct server_train *s, const struct error *written)
{
    struct server_worked w = s->worked;

    s->worked = (struct server_worked){0};
    spans_add(&s->spans, SPAN_COMBINE, w.combine_us);
    spans_add(&s->spans, SPAN_HEAD, w.head_us);
    if (w.error.status == STATUS_OK && written->status != STATUS_OK) {
        w.error = *written;
        s->keep.spoiled = true;
    }
    if (w.error.status != STATUS_OK)
        s->fed->error = w.error;
    return w;
}

static struct server_next done(void *state, struct actions *a, const struct error *written)
{
    struct server_train *s = state;
    const struct server_worked w = take_worked(s, written);

    if (w.error.status == STATUS_OK && w.keep)
        server_hand_over(&s->keep, a);
    return follow(s, a, s->round.mode->done(s, a, &w));
}

static struct server_next recalled(void *state, struct actions *a, const struct error *result)
{
    return server_recalled(state, a, result);
}

static struct server_next kept(void *state, struct actions *a, const struct error *result)
{
    return follow(state, a, server_keep_done(state, a, result));
}

/* --- what there is of it --- */

static enum server_job_state job_state(const void *state)
{
    const struct server_train *s = state;
    const struct server_trainer *t = &s->trainer;
    const bool measured =
        !agenda_due(&t->agenda, t->steps_done) || t->sweep.done_at == t->steps_done;

    if (t->steps_done == 0)
        return JOB_FRESH;
    return server_trainer_ended(t) && measured && !t->sweep.running ? JOB_DONE : JOB_BEGUN;
}

static struct server_next alone(void *state, struct actions *a, const struct event *e)
{
    struct server_train *s = state;
    struct server_worked w;

    if (e->kind != EVENT_DONE)
        return server_stored_step(s->fed, a, e);
    w = take_worked(s, e->error);
    return server_stored_done(&s->trainer, a, &w);
}

static void ended(void *state, enum wire_outcome outcome)
{
    struct server_train *s = state;

    /* However the run came to its end, and in whichever process. */
    if (outcome == OUTCOME_COMPLETED || outcome == OUTCOME_TARGET)
        server_best_settle(&s->trainer.scores.best, &s->report.measured, &s->trainer.head,
                           &s->trainer.scores.test);
    server_watch_end(&s->watcher, outcome, status_exit_code(s->fed->error.status));
}

static void frames(const void *state, size_t *up, size_t *down)
{
    const struct server_train *s = state;
    const size_t share = server_share_max(s->shares);

    *up = wire_up_max(s->sum.payload_max, s->sum.check_bytes);
    if (share > *up)
        *up = share;
    *down = wire_down_max(s->trainer.plan, share);
}

const struct server_job server_job_train = {
    .start = start,
    .fits = fits,
    .joined = joined,
    .came = came,
    .step = step,
    .playing = playing,
    .best = best,
    .agreed = agreed,
    .prepare = prepare,
    .begin = begin,
    .message = message,
    .arrival = arrival,
    .overtaken = overtaken,
    .timer = timer,
    .voided = voided,
    .lost = lost,
    .settle = settle,
    .left_behind = left_behind,
    .work = work,
    .done = done,
    .recalled = recalled,
    .kept = kept,
    .frames = frames,
    .state = job_state,
    .complete = server_complete,
    .alone = alone,
    .ended = ended,
};
