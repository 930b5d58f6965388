/* session.c -- a federation, one run of training after another or other jobs, and what the driver
 * may see of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/session.h"

#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/flow/job.h"
#include "server/parts.h"

#include <string.h>

/* --- life --- */

static struct server_terms terms_of(const struct server_session *s,
                                    const struct server_setup *setup)
{
    const struct plan *p = setup->plan;

    return (struct server_terms){
        .roster = setup->roster,
        .kind = JOB_TRAIN,
        .text = {s->plan_text.data, s->plan_text.len},
        .digest = s->plan_digest,
        .straggler = p->protocol.straggler,
        .patience_ms = p->protocol.patience_ms,
        .deadline_ms = p->protocol.deadline_ms,
        .smallest = aggregation_of(p)->least(p),
        .colluders = plan_withstands(p),
        .train_rows = p->shape.train_rows,
        .test_rows = p->shape.test_rows,
        .train = setup->labels.train,
        .test = setup->labels.test,
        .counts = setup->counts,
        .id_mismatches = setup->id_mismatches,
    };
}

/* Of a run that is over nothing stays. */
static void forget_run(struct server_session *s)
{
    server_predict_free(s->predict);
    s->predict = NULL;
    server_align_free(s->align);
    s->align = NULL;
    server_train_deinit(&s->train);
    s->train = (struct server_train){.fed = NULL};
    s->plan_text.len = 0;
}

void server_session_play(struct server_session *s, const struct server_terms *terms,
                         const struct server_job *job, void *state)
{
    forget_run(s);
    server_federation_play(&s->fed, terms, job, state);
}

enum status server_session_train(struct server_session *s, const struct server_setup *setup,
                                 struct error *err)
{
    struct server_terms terms;
    enum status st;

    forget_run(s);
    st = plan_print(setup->plan, &s->plan_text);
    if (st != STATUS_OK)
        return error_set(err, st, "session: %s", status_words(st));
    job_digest(s->plan_digest, JOB_TRAIN, s->plan_text.data, s->plan_text.len);
    terms = terms_of(s, setup);
    server_federation_play(&s->fed, &terms, &server_job_train, &s->train);
    return server_train_init(&s->train, setup, &s->fed, err);
}

static enum status predict(struct server_session *s, const struct server_setup *setup,
                           struct error *err)
{
    struct server_terms terms;
    enum status st;

    forget_run(s);
    st = server_predict_new(&s->predict, setup, &s->fed, err);
    if (st != STATUS_OK)
        return st;
    terms = server_predict_terms(s->predict, setup);
    server_federation_play(&s->fed, &terms, &server_job_predict, s->predict);
    return STATUS_OK;
}

static enum status align(struct server_session *s, const struct server_setup *setup,
                         struct error *err)
{
    struct server_terms terms;
    enum status st;

    forget_run(s);
    st = server_align_new(&s->align, setup, &s->fed, err);
    if (st != STATUS_OK)
        return st;
    terms = server_align_terms(s->align, setup);
    server_federation_play(&s->fed, &terms, &server_job_align, s->align);
    return STATUS_OK;
}

enum status server_session_next(struct server_session *s, const struct server_setup *setup,
                                struct error *err)
{
    const enum status st = setup->asked != NULL    ? predict(s, setup, err)
                           : setup->aligns != NULL ? align(s, setup, err)
                                                   : server_session_train(s, setup, err);

    if (st != STATUS_OK)
        server_session_rest(s);
    return st;
}

void server_session_rest(struct server_session *s)
{
    forget_run(s);
    server_federation_rest(&s->fed);
}

static enum status init(struct server_session *s, const struct server_setup *setup,
                        struct error *err)
{
    const struct server_terms nothing = {.roster = setup->roster};

    if (server_federation_init(&s->fed, &nothing, NULL, NULL) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "no memory for %zu parties", setup->roster->n);
    s->fed.floor = setup->floor;
    s->fed.set.known = setup->floor.value;
    if (setup->asked != NULL)
        return predict(s, setup, err);
    if (setup->aligns != NULL)
        return align(s, setup, err);
    return setup->plan != NULL ? server_session_train(s, setup, err) : STATUS_OK;
}

enum status server_session_new(struct server_session **out, const struct server_setup *setup,
                               struct error *err)
{
    struct server_session *s = mem_alloc(1, sizeof *s);
    enum status st;

    if (s == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a session");
    buf_init(&s->plan_text, PLAN_TEXT_MAX);
    st = init(s, setup, err);
    if (st != STATUS_OK) {
        server_session_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

void server_session_free(struct server_session *s)
{
    if (s == NULL)
        return;
    server_train_deinit(&s->train);
    server_predict_free(s->predict);
    server_align_free(s->align);
    server_federation_deinit(&s->fed);
    buf_deinit(&s->plan_text);
    mem_free(s);
}

/* --- what the driver asks for --- */

void server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                         struct actions *out)
{
    server_federation_step(&s->fed, now_us, e, out);
}

void server_session_work(struct server_session *s, struct actions *out)
{
    server_federation_work(&s->fed, out);
}

enum status server_session_save(const struct server_session *s, struct buf *out)
{
    return server_train_save(&s->train, out);
}

enum status server_session_restore(struct server_session *s, const uint8_t *bytes, size_t n)
{
    uint64_t generation = 0;
    enum status st = server_train_restore(&s->train, bytes, n, &generation);

    if (st == STATUS_OK && generation > s->fed.set.known)
        s->fed.set.generation = s->fed.set.known = generation;
    return st;
}

enum status server_session_replay(struct server_session *s, const struct journal_record *r,
                                  struct error *err)
{
    return server_train_replay(&s->train, r, &s->fed.set.generation, err);
}

/* --- what the driver may see --- */

const struct server_report *server_session_report(struct server_session *s)
{
    struct server_report *r = &s->train.report;
    const struct server_federation *f = &s->fed;

    r->presence.phase = f->sm.phase;
    r->presence.generation = f->set.generation;
    r->presence.stale_messages = f->counts.stale_messages;
    memcpy(r->presence.lost, f->counts.lost, sizeof r->presence.lost);
    memcpy(r->presence.joined, f->counts.joined, sizeof r->presence.joined);
    r->steps = s->train.trainer.steps_done;
    if (s->predict != NULL)
        r->rounds = server_predict_rounds(s->predict);
    else if (s->align != NULL)
        r->rounds = server_align_result(s->align).steps;
    else
        r->epochs = server_trainer_epochs(&s->train.trainer);
    r->trail = server_train_trail(&s->train);
    r->presence.members_n = f->set.n;
    r->presence.waiting_for = -1;
    r->presence.waiting_since_us = s->train.round.opened_us;
    for (size_t i = 0; i < f->terms.roster->n; i++) {
        if ((f->sm.phase == PHASE_GATHER || f->peer[i].member >= 0) && !f->peer[i].answered)
            r->presence.waiting_for = (int)i;
    }
    return r;
}

const uint8_t *server_session_plan_digest(const struct server_session *s)
{
    return s->plan_digest;
}

bool server_session_sound(const struct server_session *s)
{
    return !s->train.keep.spoiled;
}

struct server_predict *server_session_predictions(const struct server_session *s)
{
    return s->predict;
}

const struct server_align *server_session_alignment(const struct server_session *s)
{
    return s->align;
}

bool server_session_opened(const struct server_session *s)
{
    return s->train.trainer.steps_done > 0 || s->train.round.number > 0;
}

const struct fedvs_terms *server_session_terms(const struct server_session *s)
{
    return &s->train.sum.shape.terms;
}

double server_session_reach(const struct server_session *s)
{
    return s->train.deal.reach;
}

enum status server_session_tested(const struct server_session *s, struct server_tested *out)
{
    return server_tested(out, &s->train.trainer);
}

const struct nn_net *server_session_head(const struct server_session *s)
{
    return &s->train.trainer.head.top.net;
}

const struct nn_head *server_session_top(const struct server_session *s)
{
    return &s->train.trainer.head.top;
}

void server_session_frames(const struct server_session *s, size_t *up, size_t *down)
{
    const struct server_job *job = s->fed.play.job;

    *up = *down = WIRE_SETUP_MAX;
    if (job != NULL && job->frames != NULL)
        job->frames(s->fed.play.state, up, down);
}

struct spans *server_session_spans(struct server_session *s)
{
    return &s->train.spans;
}
