/* init.c -- a job of predictions, or of contributions, is made, and unmade.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/predict/predict.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/daemon/package.h"
#include "common/daemon/placed.h"
#include "common/flow/job.h"
#include "common/wire/limits.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)PREDICTION_RUN_MAX == (int)PACKAGE_RUN_MAX, "a run has one name");

static enum status say_one(struct server_predict *p, struct error *err)
{
    enum status s = contribution_of(&p->asks, &p->about);

    if (s == STATUS_OK)
        s = prediction_print(&p->about, &p->text);
    if (s != STATUS_OK)
        return error_set(err, s, "predictions: %s", status_words(s));
    job_digest(p->digest, JOB_PREDICT, p->text.data, p->text.len);
    return STATUS_OK;
}

static enum status say_asks(struct server_predict *p, struct error *err)
{
    const struct contribution *of = p->asked.asks;
    enum status s = contribution_init(&p->asks, of->n);

    if (s != STATUS_OK)
        return error_set(err, s, "contributions: %s", status_words(s));
    p->asks.seed = of->seed;
    memcpy(p->asks.ask, of->ask, of->n * sizeof *of->ask);
    if (prediction_is_exact(&p->plan))
        return error_set(err, STATUS_CONFIG, CONTRIBUTION_EXACT);
    if (contribution_places(&p->asks, &p->about) > PREDICTION_ROWS_MAX)
        return error_set(err, STATUS_CONFIG,
                         "contributions: %u rows, %u times each: more than one job can have",
                         p->about.rows, of->n);
    if (contribution_print(&p->asks, &p->about, &p->text) != STATUS_OK)
        return error_set(err, STATUS_CONFIG,
                         "contributions: %u questions are more than an offer holds: ask for fewer "
                         "permutations or columns",
                         of->n);
    job_digest(p->digest, JOB_CONTRIBUTE, p->text.data, p->text.len);
    return STATUS_OK;
}

static enum status say_about(struct server_predict *p, struct error *err)
{
    const struct package *m = p->asked.model;
    struct prediction *about = &p->about;
    const uint32_t most = prediction_batch_max(&p->plan);

    snprintf(about->run, sizeof about->run, "%s", m->run);
    memcpy(about->plan, m->plan_sha256, sizeof about->plan);
    memcpy(about->trail, m->trail, sizeof about->trail);
    if (p->asked.asks == NULL)
        memcpy(about->absent, p->asked.absent, sizeof about->absent);
    memcpy(about->by, p->asked.by, sizeof about->by);
    about->rows = p->asked.rows;
    about->open = p->asked.feed.take != NULL;
    if (p->asked.placed != NULL) {
        memcpy(about->alignment, p->asked.placed->file.name, sizeof about->alignment);
        memcpy(about->places, p->asked.placed->places.digest, sizeof about->places);
    }
    about->batch = about->rows < most ? about->rows : most;
    if (prediction_is_exact(&p->plan) && prediction_leaves_out(about))
        return error_set(err, STATUS_CONFIG,
                         "absent parties, under an encoding without noise: beside an answer with "
                         "all of them it would show what is theirs");
    return p->asked.asks != NULL ? say_asks(p, err) : say_one(p, err);
}

/* Of a model whose head a program has made, that program, which begins with zeros. */
static enum status begin_program(struct server_predict *p, struct program *program,
                                 struct error *err)
{
    const struct nn_spec *spec = &p->asked.model->spec;
    const struct program_shape shape = {.inputs = spec->width[0],
                                        .outputs = spec->width[spec->layers],
                                        .rows_max = p->about.batch,
                                        .plan = &p->plan};
    enum status s;

    if (spec->layers == 0 || spec->layer[0].kind != NN_OUTSIDE)
        return STATUS_OK;
    if (program == NULL)
        return error_set(err, STATUS_CONFIG,
                         "model.head_program: there is none, and the model's head is a program's");
    s = server_program_begin(&p->program, program, &shape, err);
    if (s == STATUS_OK && p->program.outside.floats != spec->layer[0].units)
        return error_set(
            err, STATUS_CONFIG,
            "model.head_program: its state is not as large as that of the model's head");
    return s;
}

static enum status make_head(struct server_predict *p)
{
    const struct nn_head_outside *outside = &p->program.outside;
    const uint32_t batch = p->about.batch;
    struct nn_head shape;
    enum status s;

    nn_head_shape(&shape, &p->plan);
    s = arena_init(&p->arena, nn_head_bytes_outside(&p->plan, batch, outside) +
                                  sizeof(float) * batch * ((size_t)shape.inputs + shape.targets) +
                                  4 * MEM_ALIGNMENT);
    if (s == STATUS_OK)
        s = nn_head_init_outside(&p->head, &p->plan, batch, &p->arena, outside, NULL);
    if (s != STATUS_OK)
        return s;
    p->fused = arena_alloc(&p->arena, (size_t)batch * shape.inputs, sizeof(float));
    p->target = arena_alloc(&p->arena, (size_t)batch * shape.targets, sizeof(float));
    CHECK(p->fused != NULL && p->target != NULL);
    memset(p->target, 0, (size_t)batch * shape.targets * sizeof(float));
    p->places = contribution_places(&p->asks, &p->about);
    p->scores = mem_alloc(p->about.open ? batch : p->places, shape.outputs * sizeof(float));
    return p->scores != NULL ? STATUS_OK : STATUS_MEMORY;
}

static enum status make_sums(struct server_predict *p)
{
    const enum plan_aggregation agg = p->plan.protocol.aggregation;
    enum status s;

    p->shape = (struct secagg_shape){
        .concat = plan_keeps_apart(&p->plan),
        .parties = p->plan.shape.parties,
        .values_max = p->about.batch * p->plan.model.embedding,
        .segments = p->plan.protocol.coded.segments,
        .privacy = p->plan.protocol.coded.privacy,
    };
    s = encode_init(&p->shape.encode, &p->plan, p->shape.parties);
    if (s != STATUS_OK)
        return s;
    p->check_bytes = secagg_check_bytes(agg, &p->shape);
    p->payload_max = secagg_payload_bytes(agg, &p->shape, p->shape.values_max);
    return server_relay_new(p);
}

static size_t rounds_of(const struct server_predict *p)
{
    return p->about.open
               ? 1
               : ((size_t)p->about.rows + p->about.batch - 1) / p->about.batch * p->asks.n;
}

static enum status init(struct server_predict *p, const struct server_setup *setup,
                        struct server_federation *fed, struct error *err)
{
    const struct package *m;
    enum status s;

    p->fed = fed;
    p->asked = *setup->asked;
    m = p->asked.model;
    buf_init(&p->text, WIRE_JOB_TEXT_MAX);
    if (m->plan.shape.parties != setup->roster->n)
        return error_set(err, STATUS_CONFIG,
                         "the model of run %s is of %u parties, the roster has "
                         "%zu",
                         m->run, m->plan.shape.parties, setup->roster->n);
    s = prediction_plan(&p->plan, &m->plan, m->reach, err);
    if (s == STATUS_OK)
        s = say_about(p, err);
    if (s != STATUS_OK)
        return s;
    s = begin_program(p, setup->start.program, err);
    if (s != STATUS_OK)
        return s;
    s = make_head(p);
    if (s == STATUS_OK)
        s = make_sums(p);
    if (s == STATUS_OK)
        s = server_missing_new(&p->missing, rounds_of(p));
    if (s != STATUS_OK)
        return error_set(err, s, "predictions: %s", status_words(s));
    p->head.center = m->center;
    p->head.spread = m->spread;
    p->head.temperature = m->temperature;
    s = package_weights(m, &p->head.net, err);
    return s == STATUS_OK ? program_tell(p->program.program, err) : s; /* of a lost head */
}

enum status server_predict_new(struct server_predict **out, const struct server_setup *setup,
                               struct server_federation *fed, struct error *err)
{
    struct server_predict *p = mem_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for predictions");
    s = init(p, setup, fed, err);
    if (s != STATUS_OK) {
        server_predict_free(p);
        return s;
    }
    *out = p;
    return STATUS_OK;
}

void server_predict_free(struct server_predict *p)
{
    if (p == NULL)
        return;
    server_program_end(&p->program);
    secagg_server_free(p->sum);
    server_relay_free(p);
    server_missing_free(&p->missing);
    contribution_deinit(&p->asks);
    digest_deinit(&p->hash);
    arena_deinit(&p->arena);
    mem_free(p->scores);
    buf_deinit(&p->text);
    mem_free(p);
}

/* The least that answer where others stay away.  Of exact sums nobody is left out. */
static uint32_t smallest(const struct server_predict *p, uint32_t all)
{
    const uint32_t least = aggregation_of(&p->plan)->least(&p->plan), asked = p->asked.min_parties;

    if (asked == 0 || prediction_is_exact(&p->plan) || p->asked.asks != NULL)
        return all;
    return asked < least ? least : asked < all ? asked : all;
}

/* Ids of predictions are compared with nobody's: they are told. */
struct server_terms server_predict_terms(const struct server_predict *p,
                                         const struct server_setup *setup)
{
    static const struct table none = {0};
    return (struct server_terms){
        .roster = setup->roster,
        .kind = p->asked.asks != NULL ? JOB_CONTRIBUTE : JOB_PREDICT,
        .text = {p->text.data, p->text.len},
        .digest = p->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = p->plan.protocol.patience_ms,
        .deadline_ms = p->plan.protocol.deadline_ms,
        .smallest = smallest(p, (uint32_t)setup->roster->n),
        .colluders = plan_withstands(&p->plan),
        .train = &none,
        .test = &none,
        .counts = setup->counts,
        .id_mismatches = setup->id_mismatches,
    };
}

uint64_t server_predict_rounds(const struct server_predict *p)
{
    return p->rounds;
}

struct predict_scored server_predict_scored(const struct server_predict *p)
{
    return (struct predict_scored){
        .asked = &p->asked,
        .loss = p->head.loss,
        .outputs = p->head.outputs,
        .columns = p->head.loss == NN_LOSS_SIGMOID ? 2 : p->head.outputs,
        .scores = p->scores,
        .rows = p->about.open ? 0 : (uint32_t)p->place, /* of an open job they have been told */
        .place = p->place,
        .batch = p->about.batch,
        .missing = p->missing.of,
        .asks = p->asked.asks != NULL ? &p->asks : NULL,
        .about = &p->about,
    };
}
