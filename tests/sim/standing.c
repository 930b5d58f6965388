/* standing.c -- jobs for processes that stand, and what is kept of each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/standing.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/job.h"
#include "common/flow/prediction.h"
#include "party/align/align.h"
#include "party/checkpoint.h"
#include "party/core.h"
#include "party/predict/predict.h"
#include "server/parts.h"
#include "tests/sim/disk.h"
#include "tests/sim/life.h"
#include "tests/sim/probe_server.h"
#include "tests/sim/served.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 64 };

/* Of the runs that are not on a process' disk just now. */
struct shelf {
    bool any;
    uint8_t now[WIRE_DIGEST_BYTES]; /* what the disk is of */
    uint8_t digest[RUNS_MAX][WIRE_DIGEST_BYTES];
    struct sim_disk *run[RUNS_MAX];
    size_t n;
};

struct standing {
    bool plays;
    struct standing_job job;
    uint8_t digest[WIRE_DIGEST_BYTES]; /* of a probe */
    struct probe_server probe;
    struct served served;
    struct alignment about;
    struct shelf server, party[SIM_PARTIES_MAX];
};

struct standing *standing_new(const struct sim *s)
{
    struct standing *st = mem_alloc(1, sizeof *st);

    CHECK(st != NULL);
    served_init(&st->served, s);
    return st;
}

static void free_shelf(struct shelf *h)
{
    for (size_t i = 0; i < h->n; i++) {
        disk_deinit(h->run[i]);
        mem_free(h->run[i]);
    }
}

void standing_free(struct standing *st)
{
    if (st == NULL)
        return;
    free_shelf(&st->server);
    for (size_t i = 0; i < SIM_PARTIES_MAX; i++)
        free_shelf(&st->party[i]);
    secagg_server_free(st->probe.sum);
    served_deinit(&st->served);
    mem_free(st);
}

/* --- what is kept of each run --- */

static struct sim_disk *run_of(struct shelf *h, const uint8_t digest[WIRE_DIGEST_BYTES])
{
    for (size_t i = 0; i < h->n; i++) {
        if (memcmp(h->digest[i], digest, WIRE_DIGEST_BYTES) == 0)
            return h->run[i];
    }
    CHECK(h->n < RUNS_MAX);
    memcpy(h->digest[h->n], digest, WIRE_DIGEST_BYTES);
    h->run[h->n] = mem_alloc(1, sizeof *h->run[h->n]);
    CHECK(h->run[h->n] != NULL);
    disk_init(h->run[h->n]);
    return h->run[h->n++];
}

static void swap_runs(struct sim_disk *a, struct sim_disk *b)
{
    struct buf saved = a->saved, before = a->before;
    struct sim_records journal = a->journal;

    a->saved = b->saved;
    a->before = b->before;
    a->journal = b->journal;
    b->saved = saved;
    b->before = before;
    b->journal = journal;
}

/* Nothing of the run before is being written any more: its end has waited for that. */
static void turn_to(struct sim_disk *disk, struct shelf *h, const uint8_t digest[WIRE_DIGEST_BYTES])
{
    CHECK(disk->durable_us == 0);
    if (h->any)
        swap_runs(disk, run_of(h, h->now));
    swap_runs(disk, run_of(h, digest));
    memcpy(h->now, digest, WIRE_DIGEST_BYTES);
    h->any = true;
}

static const struct table no_rows;

/* As recall_answers of party/run.c has it; of rows to predict nothing is kept. */
static void recall_answers(const struct sim_party *p, struct party_setup *setup)
{
    const struct standing *st = p->world->standing;

    setup->data.train = setup->data.test = &no_rows;
    if (st->job.asked.without != p->self + 1)
        setup->answers = (struct party_answers){.model = &st->served.bottom[p->self],
                                                .rows = &p->predicted,
                                                .persons = &p->persons_predicted};
}

enum status standing_recall(void *owner, const struct wire_job *job,
                            const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                            struct error *err)
{
    struct sim_party *p = owner;
    struct sim_disk *disk = &p->disk;

    (void)err;
    turn_to(disk, &p->world->standing->party[p->self], digest);
    p->playing = true;
    setup->answers = (struct party_answers){.model = NULL};
    setup->data.train = &p->train;
    setup->data.test = &p->test;
    if (job_is(job, JOB_PREDICT) || job_is(job, JOB_CONTRIBUTE)) {
        recall_answers(p, setup);
        return STATUS_OK;
    }
    if (job_is(job, JOB_ALIGN)) {
        setup->data.train = setup->data.test = &no_rows;
        setup->listed = aligning_party(&p->list);
        return STATUS_OK;
    }
    if (disk->saved.len > 0)
        setup->saved = (struct party_saved){.last = disk->saved.data,
                                            .last_n = disk->saved.len,
                                            .before = disk->before.data,
                                            .before_n = disk->before.len};
    return STATUS_OK;
}

static bool is_complete(enum wire_outcome outcome)
{
    return outcome == OUTCOME_COMPLETED || outcome == OUTCOME_TARGET;
}

/* As server_run_end has it. */
static void server_ended(struct sim *s, enum wire_outcome outcome)
{
    if (is_complete(outcome) || !server_session_opened(s->server)) {
        s->disk.saved.len = s->disk.before.len = 0;
        disk_lose_records(s, SIZE_MAX);
        s->lost = false;
    } else if (server_session_sound(s->server)) {
        s->disk.saved.len = 0;
        CHECK(server_session_save(s->server, &s->disk.saved) == STATUS_OK);
    }
}

/* As party_run_end has it. */
static void party_ended(struct sim_party *p, enum wire_outcome outcome)
{
    struct buf older = p->disk.before;

    if (!p->playing || party_predicts(p->session->job) || p->session->job == &party_align_job)
        return; /* stopped between two jobs, or of what nobody goes on with */
    if (!party_checkpoint_needed(party_session_report(p->session), outcome)) {
        p->disk.saved.len = p->disk.before.len = 0;
        return;
    }
    p->disk.before = p->disk.saved;
    p->disk.saved = older;
    p->disk.saved.len = 0;
    CHECK(party_session_save(p->session, &p->disk.saved) == STATUS_OK);
}

/* As end_alignment of server/run.c has it. */
static void keep_alignment(struct sim *s)
{
    const struct server_alignment a = server_align_result(server_session_alignment(s->server));

    if (a.transcript != NULL)
        CHECK(aligning_keep(&s->list, a.transcript) == STATUS_OK);
}

void standing_ended(struct sim *s, int who, const struct action *finish)
{
    struct standing *st = s->standing;

    if (who != SIM_SERVER) {
        party_ended(&s->party[who], finish->outcome);
        s->party[who].playing = false;
        return;
    }
    if (st->plays && st->job.kind == STANDING_TRAIN)
        server_ended(s, finish->outcome);
    if (st->plays && st->job.kind == STANDING_PREDICT && !st->job.asked.contributes)
        served_keep(&st->served, s->server);
    if (st->plays && st->job.kind == STANDING_ALIGN)
        keep_alignment(s);
    st->plays = false;
}

/* --- jobs --- */

static void begin_train(struct sim *s)
{
    struct standing *st = s->standing;
    struct server_setup setup;
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct error err = {0};
    struct buf text;

    buf_init(&text, PLAN_TEXT_MAX);
    s->plan = st->job.plan;
    CHECK(plan_print(&s->plan, &text) == STATUS_OK);
    job_digest(digest, JOB_TRAIN, text.data, text.len);
    buf_deinit(&text);
    turn_to(&s->disk, &st->server, digest);
    setup = world_server_setup(s);
    CHECK(server_session_train(s->server, &setup, &err) == STATUS_OK);
    world_restore_server(s);
}

static void begin_probe(struct sim *s)
{
    struct standing *st = s->standing;
    const char *text = st->job.numbers;
    const size_t n = strlen(text);
    const struct server_terms terms = {
        .roster = &s->roster,
        .kind = PROBE,
        .text = {(const uint8_t *)text, n},
        .digest = st->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = s->plan.protocol.patience_ms,
        .deadline_ms = s->plan.protocol.deadline_ms,
        .smallest = 2,
        .train_rows = s->plan.shape.train_rows,
        .test_rows = s->plan.shape.test_rows,
        .train = &s->train,
        .test = &s->test,
        .counts = compared_counts(&s->disk.compared),
        .id_mismatches = s->id_mismatches,
    };

    job_digest(st->digest, PROBE, text, n);
    secagg_server_free(st->probe.sum);
    st->probe = (struct probe_server){.values = (uint32_t)strtoul(text, NULL, 10)};
    st->probe.fed = world_federation(s);
    server_session_play(s->server, &terms, &probe_server_job, &st->probe);
}

/* Questions of contributions: of everybody, without each one, and without those that are absent. */
static void make_asks(struct server_predict *p, const struct standing_question *q, uint32_t parties)
{
    const uint64_t all = (UINT64_C(1) << parties) - 1, absent = q->absent & all;
    const uint32_t n = 1 + (parties > 1 ? parties : 0) + (absent != all) + (q->mixes > 0);

    CHECK(contribution_init(&p->asks, n) == STATUS_OK);
    p->asks.seed = 3;
    for (uint32_t i = 0; parties > 1 && i < parties; i++)
        coalition_remove(&p->asks.ask[1 + i].of, i);
    if (absent != all)
        p->asks.ask[n - 1 - (q->mixes > 0)].of.without[0] = absent;
    if (q->mixes > 0)
        p->asks.ask[n - 1] = (struct contribution_ask){.mixes = true, .party = q->mixes - 1};
}

static void say_asks(struct server_predict *p, bool contributes)
{
    p->text.len = 0;
    CHECK((contributes ? contribution_print(&p->asks, &p->about, &p->text)
                       : prediction_print(&p->about, &p->text)) == STATUS_OK);
    job_digest(p->digest, contributes ? JOB_CONTRIBUTE : JOB_PREDICT, p->text.data, p->text.len);
}

/* Rounds of another length than a right server's, and parties left out where it would leave out
 * none, are the parties' to take or leave. */
static void ask_as_told(struct server_session *server, const struct standing_question *q)
{
    const uint32_t parties = (uint32_t)server->fed.terms.roster->n;
    struct server_predict *p = server->predict;

    if (q->batch > 0 && q->batch < p->about.batch)
        p->about.batch = q->batch;
    for (uint32_t i = 0; i < SIM_PARTIES_MAX; i++)
        p->about.absent[i] = !q->contributes && (q->absent >> i & 1);
    contribution_deinit(&p->asks);
    if (q->contributes)
        make_asks(p, q, parties);
    else
        CHECK(contribution_of(&p->asks, &p->about) == STATUS_OK);
    p->places = contribution_places(&p->asks, &p->about);
    mem_free(p->scores);
    p->scores = mem_alloc(p->places, p->head.outputs * sizeof *p->scores);
    server_missing_free(&p->missing); /* there may be more rounds */
    CHECK(p->scores != NULL && server_missing_new(&p->missing, p->places) == STATUS_OK);
    for (uint32_t i = 0; i < parties; i++)
        server->fed.peer[i].barred = q->denied >> i & 1;
    if (q->denied != 0) /* whatever a right server makes of the plan */
        server->fed.terms.smallest = q->min_parties;
    say_asks(p, q->contributes);
    server->fed.terms.kind = q->contributes ? JOB_CONTRIBUTE : JOB_PREDICT;
    server->fed.terms.text = (struct wire_bytes){p->text.data, p->text.len};
}

/* What is asked for was said when it was first played: a server that died has kept nothing more. */
static void begin_predict(struct sim *s)
{
    struct standing *st = s->standing;
    struct server_setup setup = {
        .asked = &st->served.question,
        .roster = &s->roster,
        .clock_us = world_server_setup(s).clock_us,
        .counts = compared_counts(&s->disk.compared),
        .id_mismatches = s->id_mismatches,
        .floor = disk_floor(&s->disk),
    };
    struct error err = {0};

    if (st->job.asked.begins != NULL)
        st->job.asked.begins(st->job.asked.feed->owner);
    if (server_session_next(s->server, &setup, &err) != STATUS_OK) {
        fprintf(stderr, "sim: predictions: %s\n", err.text);
        CHECK(!"a server that asks");
    }
    ask_as_told(s->server, &st->job.asked);
    s->plan = s->server->predict->plan;
}

static void begin_align(struct sim *s)
{
    struct standing *st = s->standing;
    const struct server_aligned aligned =
        aligning_server(&s->list, &st->about, st->job.chunk, st->job.labelled);
    struct server_setup setup = {
        .aligns = &aligned,
        .roster = &s->roster,
        .clock_us = world_server_setup(s).clock_us,
        .counts = compared_counts(&s->disk.compared),
        .id_mismatches = s->id_mismatches,
        .floor = disk_floor(&s->disk),
    };
    struct error err = {0};

    CHECK(server_session_next(s->server, &setup, &err) == STATUS_OK);
}

void standing_again(struct sim *s)
{
    if (!s->standing->plays)
        return;
    switch (s->standing->job.kind) {
    case STANDING_TRAIN: begin_train(s); break;
    case STANDING_PROBE: begin_probe(s); break;
    case STANDING_PREDICT: begin_predict(s); break;
    case STANDING_ALIGN: begin_align(s); break;
    }
}

void standing_play(struct sim *s, const struct standing_job *job)
{
    CHECK(!s->standing->plays && world_up(s, SIM_SERVER) && !world_works(s, SIM_SERVER));
    s->standing->job = *job;
    if (job->kind == STANDING_PREDICT) {
        served_make(&s->standing->served, s, &job->plan);
        if (served_ask(&s->standing->served, &job->asked) == 0)
            return;
    }
    s->standing->plays = true;
    standing_again(s);
    world_tell_server(s, &(struct event){.kind = EVENT_START});
}

const float *standing_score(const struct sim *s, uint32_t row)
{
    const struct served *v = &s->standing->served;

    return v->made && v->known[row] ? v->score + (size_t)row * v->outputs : NULL;
}

uint64_t standing_missing(const struct sim *s, uint32_t row)
{
    return s->standing->served.missing[row];
}

void standing_asked(struct sim *s)
{
    if (s->standing->plays && world_up(s, SIM_SERVER))
        world_tell_server(s, &(struct event){.kind = EVENT_ASKED});
}

bool standing_plays(const struct sim *s)
{
    return s->standing->plays;
}

void standing_start(struct sim *s, int who)
{
    struct sim_end *end = who == SIM_SERVER ? &s->server_end : &s->party[who].end;

    CHECK(end->over);
    end->over = false;
    life_start(s, who);
}
