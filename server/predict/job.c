/* job.c -- predictions and contributions as a federation sees them: the table, and one round after
 * the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/predict/predict.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/subnormal.h"
#include "common/flow/dither.h"
#include "server/away.h"
#include "server/members.h"
#include "server/seats.h"

#include <string.h>

/* --- a set comes together --- */

static enum status prepare(void *state)
{
    struct server_predict *p = state;
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    const uint32_t n = p->fed->set.n;
    enum status s = encode_init(&p->shape.encode, &p->plan, n);

    CHECK(n >= p->fed->terms.smallest && n <= p->plan.shape.parties);
    p->shape.parties = n;
    p->relay.tags = secagg_tag_bytes(agg, &p->shape);
    p->check_bytes = secagg_check_bytes(agg, &p->shape);
    secagg_server_free(p->sum);
    p->sum = NULL;
    if (s == STATUS_OK)
        s = secagg_server_new(&p->sum, agg, &p->shape);
    return s;
}

/* The ids of `rows` rows from `place` on stand side by side. */
static struct wire_bytes ids_of(const struct server_predict *p, uint32_t place, uint32_t rows)
{
    const size_t from = p->asked.at[place];

    return (struct wire_bytes){(const uint8_t *)p->asked.ids + from,
                               p->asked.at[place + rows] - from};
}

static void enter_phase(struct server_predict *p)
{
    const bool shares = secagg_shares(p->plan.protocol.aggregation);
    const enum phase phase = shares ? PHASE_SHARE : PHASE_ROUND;

    if (p->fed->sm.phase != phase)
        sm_move(&p->fed->sm, phase, p->fed->set.generation);
}

static struct server_next open_round(struct server_predict *p, struct actions *a)
{
    server_missing_begin(&p->missing, &p->ask->of, &p->fed->set, p->plan.shape.parties);
    p->number++;
    p->relay.in = 0;
    secagg_begin(p->sum, server_predict_values(p));
    if (plan_compresses(&p->plan)) {
        dither_make(p->dither, &p->hash, &p->plan, PURPOSE_EVALUATE_TEST, p->place, 0);
        secagg_dither(p->sum, p->dither);
    }
    enter_phase(p);
    server_next_question(p->fed);
    server_send_members(p->fed, a, WIRE_BROADCAST)->msg.broadcast =
        (struct wire_broadcast){.generation = p->fed->set.generation,
                                .opens = true,
                                .purpose = PURPOSE_EVALUATE_TEST,
                                .round = p->number,
                                .place = p->place,
                                .ids = p->ids};
    server_arm_phase(p->fed, a, false);
    return next_of(NEXT_WAIT);
}

/* --- an open job: rows are asked for as they come, and it rests between two rounds --- */

static const struct server_feed *feed_of(const struct server_predict *p)
{
    return &p->asked.feed;
}

static bool rests(const void *state)
{
    const struct server_predict *p = state;

    return p->about.open && !p->pending && phase_plays(p->fed->sm.phase);
}

static void take_rows(struct server_predict *p)
{
    const uint64_t left = p->places - p->place;

    p->rows = feed_of(p)->take(feed_of(p)->owner,
                               left < p->about.batch ? (uint32_t)left : p->about.batch, &p->ids);
    p->pending = p->rows > 0;
    p->ask = &p->asks.ask[0];
}

/* rested: it goes on resting, and for no longer. */
static struct server_next next_of_open(struct server_predict *p, struct actions *a, bool rested)
{
    if (p->pending && !feed_of(p)->again(feed_of(p)->owner)) {
        p->place += p->rows;
        p->pending = false;
    }
    if (!p->pending && (p->place == p->places || feed_of(p)->closes(feed_of(p)->owner)))
        return next_finish(OUTCOME_COMPLETED);
    if (!p->pending)
        take_rows(p);
    if (p->pending)
        return open_round(p, a);
    enter_phase(p);
    if (!rested)
        server_arm(a, p->asked.idle_ms);
    return next_of(NEXT_WAIT);
}

static void tell_scores(struct server_predict *p)
{
    p->pending = false;
    feed_of(p)->scored(feed_of(p)->owner, p->scores, p->missing.now);
}

static struct server_next asked(void *state, struct actions *a)
{
    struct server_predict *p = state;

    if (rests(p))
        return next_of_open(p, a, true);
    if (!p->about.open || phase_plays(p->fed->sm.phase) || !feed_of(p)->closes(feed_of(p)->owner))
        return next_of(NEXT_WAIT);
    return next_finish(OUTCOME_COMPLETED); /* there is no set, and others wait */
}

static struct server_next came(void *state, struct actions *a)
{
    const struct server_predict *p = state;

    (void)a;
    return rests(p) && server_away_back(p->fed) ? next_of(NEXT_SET) : next_of(NEXT_WAIT);
}

/* --- a round after the other --- */

/* What comes next, or was asked in a round that came to nothing. */
static struct server_next next_round(struct server_predict *p, struct actions *a)
{
    struct contribution_round at;

    if (p->about.open)
        return next_of_open(p, a, false);
    CHECK(contribution_at(&at, &p->asks, &p->about, p->place));
    p->rows = at.rows;
    p->ask = &p->asks.ask[at.ask];
    p->ids = ids_of(p, at.row, at.rows);
    return open_round(p, a);
}

static uint32_t away_ms(const void *state)
{
    const struct server_predict *p = state;

    return p->fed->terms.smallest < p->plan.shape.parties ? p->asked.wait_ms : 0;
}

static struct server_next begin(void *state, struct actions *a)
{
    struct server_predict *p = state;

    log_info("asking %u parties for %s%s %llu to %llu of %llu%s%s, by the model of run %s, for %s",
             p->fed->set.n, p->about.open ? "as many as come of " : "",
             p->asked.asks == NULL ? "rows" : "answers", (unsigned long long)p->place + 1,
             (unsigned long long)p->places, (unsigned long long)p->places,
             prediction_is_placed(&p->about) ? ", of alignment " : "", p->about.alignment,
             p->about.run, p->about.by);
    return next_round(p, a);
}

static struct server_next nothing(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_of(NEXT_WAIT);
}

/* --- it is played --- */

static struct server_next take_share(struct server_predict *p, struct actions *a, uint32_t peer,
                                     const struct wire_shares *w)
{
    if (!server_relay_add(p, peer, w))
        return next_of_peer(NEXT_DROP, peer);
    if (!server_answered(p->fed, peer))
        return next_of(NEXT_WAIT);
    sm_move(&p->fed->sm, PHASE_SUM, p->fed->set.generation);
    server_next_question(p->fed);
    server_relay_send(p, a);
    server_arm_phase(p->fed, a, false);
    return next_of(NEXT_WAIT);
}

static bool upload_fits(struct server_predict *p, uint32_t peer, const struct wire_upload *u)
{
    return u->round == p->number && u->purpose == PURPOSE_EVALUATE_TEST &&
           p->fed->sm.phase != PHASE_SHARE && !p->fed->peer[peer].answered &&
           u->payload.n == secagg_payload_bytes(p->plan.protocol.aggregation, &p->shape,
                                                server_predict_values(p)) &&
           u->check.n == p->check_bytes;
}

static struct server_next take_upload(struct server_predict *p, struct actions *a, uint32_t peer,
                                      const struct wire_upload *u)
{
    struct error *err = &p->fed->error;

    if (!upload_fits(p, peer, u)) {
        error_set(err, STATUS_PROTOCOL, "%s: no upload of round %llu", server_name(p->fed, peer),
                  (unsigned long long)p->number);
        return next_of_peer(NEXT_DROP, peer);
    }
    if (secagg_add(p->sum, (uint32_t)p->fed->peer[peer].member, u->payload.data, u->check.data,
                   err) != STATUS_OK) {
        error_wrap(err, "%s: upload", server_name(p->fed, peer));
        return next_of_peer(NEXT_DROP, peer);
    }
    if (server_answered(p->fed, peer))
        actions_add(a, ACTION_WORK)->flops = nn_net_flops(&p->head.net.spec, p->rows);
    return next_of(NEXT_WAIT);
}

static struct server_next message(void *state, struct actions *a, uint32_t peer,
                                  const struct wire_msg *m)
{
    struct server_predict *p = state;

    if (m->kind == WIRE_SHARE)
        return take_share(p, a, peer, &m->share);
    if (m->kind == WIRE_UPLOAD)
        return take_upload(p, a, peer, &m->upload);
    error_set(&p->fed->error, STATUS_PROTOCOL, "%s: %s in a job of predictions",
              server_name(p->fed, peer), wire_kind_name(m->kind));
    return next_of_peer(NEXT_DROP, peer);
}

static struct server_next timer(void *state, struct actions *a, const char *missing)
{
    (void)a;
    (void)missing;
    /* An open job whose idle time it is has an end. */
    return rests(state) ? next_finish(OUTCOME_COMPLETED) : next_of(NEXT_LATE);
}

/* A row is answered by all, or not yet. */
static bool lost(void *state, bool had_answered)
{
    (void)state;
    (void)had_answered;
    return false;
}

/* Of what is in `fused`, of so many rows, without those of missing.now. */
static void score(struct server_predict *p, uint32_t rows, float *out)
{
    program_round(p->program.program);
    nn_head_fuse(&p->head, p->fused, rows);
    if (nn_net_table(&p->head.net) != NULL)
        nn_head_fill(&p->head, p->fused, p->fused, p->missing.now, rows);
    nn_head_without(&p->head, p->fused, p->missing.now, rows);
    (void)nn_head_forward(&p->head, p->fused, p->target, rows, false);
    nn_head_predict(&p->head, out, rows);
}

void server_predict_nobody(struct server_predict *p, float *out)
{
    const uint64_t mode = subnormal_flush();

    for (uint32_t i = 0; i < p->plan.shape.parties; i++)
        p->missing.now[i] = true;
    memset(p->fused, 0, p->head.inputs * sizeof *p->fused);
    score(p, 1, out);
    subnormal_restore(mode);
}

static void work(void *state, struct actions *out)
{
    struct server_predict *p = state;
    const uint64_t mode = subnormal_flush();

    (void)out;
    p->worked = secagg_combine(p->sum, p->fused, p->plan.model.embedding, &p->fed->error);
    if (p->worked == STATUS_OK) {
        nn_head_spread(&p->head, p->fused, p->fed->set.member, p->fed->set.n, p->rows);
        score(p, p->rows, server_predict_scores(p));
        p->worked = program_tell(p->program.program, &p->fed->error); /* zeros are no answers */
    }
    subnormal_restore(mode);
}

static struct server_next done(void *state, struct actions *a, const struct error *written)
{
    struct server_predict *p = state;

    (void)written; /* it wants nothing written */
    if (p->worked != STATUS_OK) {
        error_wrap(&p->fed->error, "round %llu", (unsigned long long)p->number);
        return next_of(NEXT_FAIL);
    }
    p->rounds++;
    if (p->about.open)
        tell_scores(p);
    else
        server_missing_scored(&p->missing, p->rounds - 1);
    p->place += p->rows; /* these are never asked for again */
    for (uint32_t m = 0; m < p->fed->set.n; m++)
        server_was_whole(p->fed, p->fed->set.member[m]);
    server_step_forward(p->fed);
    server_late_wishes_repaid(p->fed);
    if (p->place == p->places)
        return next_finish(OUTCOME_COMPLETED);
    return server_away_back(p->fed) ? next_of(NEXT_SET) : next_round(p, a);
}

static enum server_job_state job_state(const void *state)
{
    const struct server_predict *p = state;

    return p->place == p->places ? JOB_DONE : p->rounds > 0 ? JOB_BEGUN : JOB_FRESH;
}

static struct server_next complete(void *state, struct actions *a)
{
    (void)state;
    (void)a;
    return next_finish(OUTCOME_COMPLETED);
}

static void frames(const void *state, size_t *up, size_t *down)
{
    const struct server_predict *p = state;
    const size_t ids = (size_t)p->about.batch * 65 + WIRE_OVERHEAD_MAX,
                 share = p->relay.share_max == 0
                             ? 0
                             : wire_share_max(p->relay.share_max, p->relay.tags);

    *up = wire_up_max(p->payload_max, p->check_bytes);
    *down = wire_down_max(&p->plan, share);
    if (share > *up)
        *up = share;
    if (ids > *down)
        *down = ids;
}

const struct server_job server_job_predict = {
    .came = came,
    .away_ms = away_ms,
    .prepare = prepare,
    .begin = begin,
    .message = message,
    .timer = timer,
    .asked = asked,
    .rests = rests,
    .lost = lost,
    .settle = nothing,
    .work = work,
    .done = done,
    .frames = frames,
    .state = job_state,
    .complete = complete,
};
