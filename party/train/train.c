/* train.c -- the job `train` at a party: life, and who of this folder gets which event.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/train.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"
#include "party/train/parts.h"

#include <string.h>

static uint64_t patience_ms(const void *state)
{
    return party_patience_ms(&((const struct party_train *)state)->course);
}

/* --- a set comes together --- */

static void join(const void *state, struct wire_join *j)
{
    const struct party_train *p = state;
    const struct party_keep *k = &p->keep;

    j->applied = p->learner.applied;
    j->kept = k->kept_step;
    j->kept_before = k->before.len > 0 ? k->before_step : k->kept_step;
    j->trail = p->learner.trail.value;
    j->resumes = p->course.planned;
}

static const uint8_t *digest(const void *state)
{
    return ((const struct party_train *)state)->course.digest;
}

static enum party_next ready(void *state, struct actions *a)
{
    return party_catch_up(state, a);
}

static void say(const void *state, struct wire_hello *h)
{
    const struct party_train *p = state;

    h->ledger = party_number(p->host->setup, party_unopened(&p->purse, &p->course.plan));
    party_deal_say(&p->deal, p->host->setup, h);
}

/* Of noise: no generation goes on with what drew that of the one before. */
static enum status renew_draws(struct party_train *p)
{
    enum status s = rng_renew(&p->round.noise);

    if (s == STATUS_OK)
        s = party_dp_renew(&p->learner.bottom.dp);
    return s == STATUS_OK ? s : error_set(p->host->error, s, "no fresh keys");
}

static enum status begin(void *state, const struct secagg_pair *pairs)
{
    struct party_train *p = state;
    const struct party_setup *setup = p->host->setup;
    const struct party_set *set = p->host->set;
    struct party_round *r = &p->round;
    const struct plan *plan = &p->course.plan;
    enum status s;

    party_round_begin(r, set);
    s = party_deal_begin(&p->deal, &r->shape, plan, setup, set, p->host->error);
    if (s == STATUS_OK)
        s = party_size_messages(r, plan, p->deal.chunks.chunk_rows, p->host->error);
    if (s != STATUS_OK)
        return s;
    party_witness_hellos(&p->purse.witness, setup, set);
    s = renew_draws(p);
    return s == STATUS_OK ? party_round_make_masks(r, &p->course, set, pairs, p->host->error) : s;
}

static void confirm(const void *state, struct agree_confirm *c)
{
    const struct party_train *p = state;

    party_witness_say(&p->purse.witness, p->host->set, c);
}

static enum status check(void *state, const struct wire_confirms *cs)
{
    const struct party_train *p = state;
    const struct party_host *h = p->host;

    return party_witness_check(h->setup, h->set, &p->course, cs, h->error);
}

static bool wants_more(const void *state)
{
    return ((const struct party_train *)state)->course.wants_more;
}

static bool does_without(const void *state)
{
    return ((const struct party_train *)state)->course.does_without;
}

static void start(void *state)
{
    struct party_train *p = state;

    sm_move(p->host->sm, p->course.mode->opens, p->host->set->generation);
    party_round_start(&p->round);
    p->keep.final = false;      /* of a generation before, if any was: CLOSE comes again */
    if (p->course.does_without) /* members may have missed steps */
        trail_begin(&p->learner.trail, &p->learner.digest, p->course.digest);
}

static void lost(void *state)
{
    struct party_train *p = state;

    p->learner.pending = p->learner.behind.replay_due = false;
    party_round_end(&p->round);
}

/* --- it is played --- */

static enum party_next unless(enum status s)
{
    return s == STATUS_OK ? PARTY_WAIT : PARTY_REFUSE;
}

static enum party_next message(void *state, struct actions *a, const struct wire_msg *m)
{
    if (m->kind == WIRE_REPLAY)
        return unless(party_replay(state, a, &m->replay));
    if (m->kind == WIRE_BROADCAST)
        return unless(party_broadcast(state, a, &m->broadcast));
    CHECK(m->kind == WIRE_RELAY);
    return unless(party_relay(state, a, &m->relay));
}

static uint32_t accused(const void *state)
{
    return ((const struct party_train *)state)->result.accused;
}

static enum party_next worked(struct party_train *p, struct actions *a)
{
    const struct party_result *r = &p->result;

    p->count.clipped += r->clipped;
    if (r->status != STATUS_OK) {
        *p->host->error = r->error;
        p->host->error->status = r->status;
        return r->accused > 0 ? PARTY_ACCUSE : PARTY_REFUSE;
    }
    if (r->interrupted)
        return PARTY_WAIT; /* EVENT_STOP is next */
    switch (p->round.task.work) {
    case WORK_ROUND: return unless(party_round_worked(p, a));
    case WORK_SUM: party_sum_worked(p, a); return PARTY_WAIT;
    case WORK_REPLAY:
        if (r->saved)
            party_keep_write(&p->keep, a);
        return party_catch_up(p, a);
    }
    return PARTY_WAIT;
}

static enum party_next charged(struct party_train *p, struct actions *a, const struct error *result)
{
    if (result->status != STATUS_OK) {
        /* What was refused is not in the ledger, so it must not be given back. */
        party_forget_reserves(&p->purse);
        *p->host->error = *result;
        return PARTY_REFUSE;
    }
    if (p->round.task.work == WORK_REPLAY)
        party_start_replay(p, a);
    else
        party_start_round(p, a);
    return PARTY_WAIT;
}

static enum party_next kept(struct party_train *p, struct actions *a, const struct error *result)
{
    enum party_next next = unless(party_kept(p, a, result));

    if (next == PARTY_WAIT && p->keep.awaited && p->host->sm->phase == PHASE_AGREE)
        return party_catch_up(p, a);
    return next;
}

static enum party_next done(void *state, struct actions *a, const struct event *e)
{
    if (e->kind == EVENT_CHARGED)
        return charged(state, a, e->error);
    if (e->kind == EVENT_KEPT)
        return kept(state, a, e->error);
    return worked(state, a);
}

static enum party_next timer(void *state, bool connected)
{
    const struct party_train *p = state;
    const enum phase phase = p->host->sm->phase;

    if (p->learner.final && !p->keep.writing &&
        (phase == PHASE_CLOSE || (phase == PHASE_GATHER && !connected))) {
        log_warn("the server is gone or silent, but this party's model is final");
        return PARTY_DONE;
    }
    if (connected && p->course.planned && (phase == PHASE_GATHER || p->course.does_without))
        return PARTY_WAIT;
    return PARTY_FAIL;
}

/* --- its end --- */

/* Is what this party has a part of the model that the run makes?  `applied` is what the server
 * says, what it replays is its word alone, and so is the end: the party must have closed a round of
 * this playing, which it has released and paid for; and where nothing is replayed to it, of those
 * that its model knows. */
static bool has_part(const struct party_train *p)
{
    const struct party_learner *l = &p->learner;

    return l->released && (l->trained || !p->course.does_without) &&
           memcmp(l->released_in, p->course.playing, sizeof l->released_in) == 0;
}

/* The run is complete: if this party never came to its end, that is so under wait only when its
 * state was put back after it had said that its final model is durable. */
static enum party_next dismissed(void *state, const struct wire_finish *f)
{
    struct party_train *p = state;
    struct party_learner *l = &p->learner;
    const struct party_course *c = &p->course;

    (void)f;
    if (!c->planned || l->final)
        return PARTY_DONE;
    log_warn(
        "the server ended after %llu of %llu steps; what this party has of the run stays in its "
        "state",
        (unsigned long long)l->applied, (unsigned long long)c->agenda.steps);
    if (c->does_without) {
        l->left_out = has_part(p);
        return PARTY_DONE;
    }
    error_set(
        p->host->error, STATUS_DATA,
        "the run is complete, this party only at %llu of %llu steps: its state was lost or put "
        "back",
        (unsigned long long)l->applied, (unsigned long long)c->agenda.steps);
    return PARTY_FAIL;
}

static void end(void *state, struct actions *a)
{
    struct party_train *p = state;

    if (p->round.weights_cut > 0)
        log_warn("%llu times a weight was beyond protocol.fedvs.w_max and cut off",
                 (unsigned long long)p->round.weights_cut);
    if (p->course.planned)
        party_settle_up(&p->purse, &p->course, a, p->learner.applied);
}

static void report(const void *state, struct party_report *r)
{
    const struct party_train *p = state;
    const struct party_learner *l = &p->learner;
    const struct party_course *c = &p->course;
    const bool dealt = party_deal_whole(&p->deal);

    r->progress = (struct party_progress){
        .rounds = p->count.rounds,
        .clipped = p->count.clipped,
        .last_rows = p->count.last_rows,
        .applied = l->applied,
        /* Each grows as often as the plan allows, the third again after each going back, and none
         * by what is repeated: whatever a server says. */
        .furthest =
            l->behind.furthest + l->behind.heard + p->purse.opened.all.once + p->deal.furthest,
        .begun = l->trained || (l->applied > 0 && !c->does_without) || p->count.rounds > 0 || dealt,
        .lacking = p->purse.witness.lacking,
        .final = l->final,
        .left_out = l->left_out,
        .has_part = has_part(p),
        .best = l->best.settled ? l->best.kept.step : 0,
    };
    r->planned = c->planned;
    r->keeping = p->keep.writing;
    r->shared = dealt;
    r->plan = c->plan;
    r->agenda = c->agenda;
    r->mechanism = p->purse.mechanism;
    r->bottom = c->planned ? &l->bottom.net : NULL;
    r->reach = party_round_reach(&p->round);
    r->trail = c->planned && !trail_is_shared(&c->plan) ? c->playing : l->trail.value;
    if (c->planned)
        r->down_max = wire_down_max(&c->plan, p->round.upload.share_max);
}

/* --- life --- */

static void free_job(void *state)
{
    struct party_train *p = state;

    party_round_deinit(&p->round);
    party_course_deinit(&p->course);
    party_learner_deinit(&p->learner);
    party_deal_deinit(&p->deal);
    party_purse_deinit(&p->purse);
    party_keep_deinit(&p->keep);
    secret_free(p, 1, sizeof *p);
}

static enum status new_job(void **state, const struct party_host *host)
{
    struct party_train *p = secret_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return STATUS_MEMORY;
    p->host = host;
    party_keep_init(&p->keep);
    party_purse_init(&p->purse, host->setup);
    s = party_round_init(&p->round);
    if (s == STATUS_OK)
        s = party_restore(p);
    if (s == STATUS_OK)
        *state = p;
    else
        free_job(p);
    return s;
}

const struct party_job party_train_job = {
    .kind = JOB_TRAIN,
    .new = new_job,
    .free = free_job,
    .join = join,
    .offer = party_train_offer,
    .wants_more = wants_more,
    .digest = digest,
    .ready = ready,
    .say = say,
    .begin = begin,
    .confirm = confirm,
    .check = check,
    .start = start,
    .does_without = does_without,
    .message = message,
    .work = party_train_work,
    .done = done,
    .accused = accused,
    .timer = timer,
    .patience_ms = patience_ms,
    .lost = lost,
    .dismissed = dismissed,
    .end = end,
    .save = party_train_save,
    .report = report,
};
