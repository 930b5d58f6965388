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
    return party_patience_ms(state);
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
    j->resumes = p->learner.planned;
}

static const uint8_t *digest(const void *state)
{
    return ((const struct party_train *)state)->learner.plan_digest;
}

static enum party_next ready(void *state, struct actions *a)
{
    return party_catch_up(state, a);
}

static void say(const void *state, struct wire_hello *h)
{
    const struct party_train *p = state;

    h->ledger = party_number(p, party_unopened(p));
    party_deal_say(p, h);
}

static enum status make_masks(struct party_train *p, const struct secagg_pair *pairs)
{
    enum status s = encode_init(&p->round.shape.encode, &p->learner.plan, p->set->members_n);

    if (s == STATUS_OK)
        s = secagg_party_new(&p->round.masks, p->learner.plan.protocol.aggregation, &p->round.shape,
                             pairs);
    if (s != STATUS_OK)
        return error_set(p->error, s, "keys of generation %llu: %s",
                         (unsigned long long)p->set->generation, status_words(s));
    return STATUS_OK;
}

/* Of noise: no generation goes on with what drew that of the one before. */
static enum status renew_draws(struct party_train *p)
{
    enum status s = rng_renew(&p->round.noise);

    if (s == STATUS_OK)
        s = party_dp_renew(&p->learner.bottom.dp);
    return s == STATUS_OK ? s : error_set(p->error, s, "no fresh keys");
}

static enum status begin(void *state, const struct secagg_pair *pairs)
{
    struct party_train *p = state;
    enum status s;

    p->round.shape.parties = p->set->members_n;
    p->round.shape.self = p->set->self;
    s = party_deal_begin(p);
    if (s == STATUS_OK)
        s = party_size_messages(p);
    if (s != STATUS_OK)
        return s;
    party_witness_hellos(p);
    s = renew_draws(p);
    return s == STATUS_OK ? make_masks(p, pairs) : s;
}

static void confirm(const void *state, struct agree_confirm *c)
{
    party_witness_say(state, c);
}

static enum status check(void *state, const struct wire_confirms *cs)
{
    return party_witness_check(state, cs);
}

static bool does_without(const void *state)
{
    return ((const struct party_train *)state)->learner.plan.protocol.straggler != STRAGGLER_WAIT;
}

static enum phase phase_of_rounds(const struct party_train *p)
{
    if (secagg_shares(p->learner.plan.protocol.aggregation))
        return PHASE_SHARE;
    return p->learner.plan.protocol.straggler == STRAGGLER_ASYNC ? PHASE_STREAM : PHASE_ROUND;
}

static void start(void *state)
{
    struct party_train *p = state;

    sm_move(p->sm, phase_of_rounds(p), p->set->generation);
    p->round.last = 0;
    p->round.sweep.number = 0;
    p->keep.final = false; /* of a generation before, if any was: CLOSE comes again */
    if (p->learner.plan.protocol.straggler != STRAGGLER_WAIT) /* members may have missed steps */
        trail_begin(&p->learner.trail, &p->learner.digest, p->learner.plan_digest);
}

static void lost(void *state)
{
    struct party_train *p = state;

    p->learner.pending = p->round.relay_due = p->learner.behind.replay_due = false;
    if (p->round.masks != NULL)
        p->round.weights_cut += secagg_clipped(p->round.masks);
    secagg_party_free(p->round.masks);
    p->round.masks = NULL;
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

static enum party_next worked(struct party_train *p, struct actions *a)
{
    const struct party_result *r = &p->round.result;

    p->count.clipped += r->clipped;
    if (r->status != STATUS_OK) {
        *p->accused = r->accused;
        *p->error = r->error;
        p->error->status = r->status;
        return r->accused > 0 && does_without(p) ? PARTY_ACCUSE : PARTY_REFUSE;
    }
    if (r->interrupted)
        return PARTY_WAIT; /* EVENT_STOP is next */
    switch (p->round.task.work) {
    case WORK_ROUND: return unless(party_round_worked(p, a));
    case WORK_SUM:
        if (!wire_purpose_deals(p->round.task.purpose))
            party_send_upload(p, a);
        party_arm(p, a);
        return PARTY_WAIT;
    case WORK_REPLAY:
        if (r->saved)
            party_keep(p, a);
        return party_catch_up(p, a);
    }
    return PARTY_WAIT;
}

static enum party_next charged(struct party_train *p, struct actions *a, const struct error *result)
{
    if (result->status != STATUS_OK) {
        /* What was refused is not in the ledger, so it must not be given back. */
        party_forget_reserves(p);
        *p->error = *result;
        return PARTY_REFUSE;
    }
    if (p->round.task.work != WORK_REPLAY)
        party_start_round(p, a);
    else if (party_replay_reserved(p, a))
        party_start_replay(p, a);
    return PARTY_WAIT;
}

static enum party_next kept(struct party_train *p, struct actions *a, const struct error *result)
{
    enum party_next next = unless(party_kept(p, a, result));

    if (next == PARTY_WAIT && p->keep.awaited && p->sm->phase == PHASE_AGREE)
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
    const enum phase phase = p->sm->phase;

    if (p->learner.final && !p->keep.writing &&
        (phase == PHASE_CLOSE || (phase == PHASE_GATHER && !connected))) {
        log_warn("the server is gone or silent, but this party's model is final");
        return PARTY_DONE;
    }
    if (connected && p->learner.planned &&
        (phase == PHASE_GATHER || p->learner.plan.protocol.straggler != STRAGGLER_WAIT))
        return PARTY_WAIT;
    return PARTY_FAIL;
}

/* --- its end --- */

/* The run is complete: if this party never came to its end, that is so under wait only when its
 * state was put back after it had said that its final model is durable. */
static enum party_next dismissed(void *state, const struct wire_finish *f)
{
    struct party_train *p = state;
    const struct party_learner *l = &p->learner;

    (void)f;
    if (!l->planned || l->final)
        return PARTY_DONE;
    log_warn(
        "the server ended after %llu of %llu steps; what this party has of the run stays in its "
        "state",
        (unsigned long long)l->applied, (unsigned long long)l->agenda.steps);
    if (l->plan.protocol.straggler != STRAGGLER_WAIT)
        return PARTY_DONE;
    error_set(
        p->error, STATUS_DATA,
        "the run is complete, this party only at %llu of %llu steps: its state was lost or put "
        "back",
        (unsigned long long)l->applied, (unsigned long long)l->agenda.steps);
    return PARTY_FAIL;
}

static void end(void *state, struct actions *a)
{
    struct party_train *p = state;

    if (p->round.weights_cut > 0)
        log_warn("%llu times a weight was beyond protocol.fedvs.w_max and cut off",
                 (unsigned long long)p->round.weights_cut);
    if (p->learner.planned)
        party_settle_up(p, a);
}

static void report(const void *state, struct party_report *r)
{
    const struct party_train *p = state;
    const struct party_learner *l = &p->learner;

    r->rounds = p->count.rounds;
    r->clipped = p->count.clipped;
    r->last_rows = p->count.last_rows;
    r->applied = l->applied;
    r->furthest = l->behind.furthest + p->deal.furthest;
    r->planned = l->planned;
    r->final = l->final;
    r->begun = l->trained || l->applied > 0 || p->count.rounds > 0;
    r->keeping = p->keep.writing;
    r->shared = party_deal_whole(p);
    r->plan = l->plan;
    r->agenda = l->agenda;
    r->mechanism = p->purse.mechanism;
    r->bottom = l->planned ? &l->bottom.net : NULL;
    r->trail = l->trail.value;
    if (l->planned)
        r->down_max = wire_down_max(&l->plan, p->round.upload.share_max);
}

/* --- life --- */

static void free_job(void *state)
{
    struct party_train *p = state;

    lost(p);
    rng_deinit(&p->round.noise);
    digest_deinit(&p->learner.digest);
    party_free_plan(p);
    buf_deinit(&p->round.received);
    secret_free(p, 1, sizeof *p);
}

static enum status begin_life(struct party_train *p)
{
    enum status s = rng_init_system(&p->round.noise);

    buf_init(&p->learner.plan_text, PLAN_TEXT_MAX);
    buf_init(&p->keep.last, PARTY_KEEP_MAX);
    buf_init(&p->keep.before, PARTY_KEEP_MAX);
    buf_init(&p->learner.undo, PARTY_KEEP_MAX);
    buf_init(&p->round.received, WIRE_PAYLOAD_MAX);
    party_witness_init(p);
    return s == STATUS_OK ? party_restore(p) : s;
}

static enum status new_job(void **state, const struct party_host *host)
{
    struct party_train *p = secret_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return STATUS_MEMORY;
    p->setup = host->setup;
    p->set = host->set;
    p->stop = host->stop;
    p->sm = host->sm;
    p->error = host->error;
    p->accused = host->accused;
    p->spans = host->spans;
    s = begin_life(p);
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
    .timer = timer,
    .patience_ms = patience_ms,
    .lost = lost,
    .dismissed = dismissed,
    .end = end,
    .save = party_train_save,
    .report = report,
};
