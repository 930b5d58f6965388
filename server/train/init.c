/* init.c -- a training job is made, and unmade.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/crypto/secret.h"
#include "common/nn/safetensors.h"

/* What secagg shows is written where common/compress has left room for it. */
static void check_shown(const struct server_train *s)
{
    const struct plan *p = &s->plan;
    const size_t rows[] = {1, p->training.batch};
    struct down down;

    down_of(&down, p);
    for (size_t i = 0; i < 2 && s->round.sum.shape.shown; i++)
        CHECK(down_shown_bytes(&down, rows[i]) == secagg_shown_bytes(p->protocol.aggregation,
                                                                     &s->round.sum.shape,
                                                                     rows[i] * p->model.embedding));
}

static enum status init_protocol(struct server_train *s, struct error *err)
{
    const struct plan *p = &s->plan;
    uint32_t rows = wire_evaluate_rows(p);
    enum status st;

    s->round.sum.shape = (struct secagg_shape){
        .concat = p->model.fusion == FUSION_CONCAT,
        .partial = aggregation_partial(p),
        .shown = p->protocol.local_view == VIEW_REFRESHED,
        .parties = p->shape.parties,
        .values_max = rows * p->model.embedding,
        .segments = p->protocol.coded.segments,
        .privacy = p->protocol.coded.privacy,
    };
    st = encode_init(&s->round.sum.shape.encode, p, p->shape.parties);
    if (st != STATUS_OK)
        return error_set(err, st, "encoding: %s", status_words(st));
    check_shown(s);
    s->round.sum.check_bytes = secagg_check_bytes(p->protocol.aggregation, &s->round.sum.shape);
    s->round.sum.payload_max = secagg_payload_bytes(p->protocol.aggregation, &s->round.sum.shape,
                                                    s->round.sum.shape.values_max);
    st = server_shares_new(s);
    if (st == STATUS_OK && server_deals(s)) {
        s->trainer.sweep_row = mem_alloc(rows, sizeof *s->trainer.sweep_row);
        st = s->trainer.sweep_row == NULL ? STATUS_MEMORY : STATUS_OK;
    }
    if (st == STATUS_OK)
        st = server_stream_new(s);
    if (st == STATUS_OK)
        st = server_stored_new(s);
    if (st == STATUS_OK)
        st = server_watch_new(s);
    if (st == STATUS_OK)
        st = rng_init_system(&s->trainer.rounding);
    return st == STATUS_OK ? st : error_set(err, st, "session: %s", status_words(st));
}

/* The head's first weights, of model.load. */
static enum status load_head(struct server_train *s, struct error *err)
{
    struct nn_net *net = &s->trainer.head.top.net;
    const enum status st = safetensors_parse(net, s->setup.weights, s->setup.weights_n, err);

    if (st != STATUS_OK)
        return error_wrap(err, "model.load");
    nn_net_limit(net);
    return STATUS_OK;
}

static enum status init_model(struct server_train *s)
{
    const struct plan *p = &s->plan;
    uint8_t key[RNG_KEY_BYTES];
    struct rng init = {0};
    enum status st;

    if (s->setup.seeded) {
        rng_seed_key(key, s->setup.seed, 0, "init", 0);
        st = rng_init_key(&init, key);
    } else {
        st = rng_init_system(&init);
    }
    if (st == STATUS_OK)
        st = server_head_init(&s->trainer.head, p, wire_evaluate_rows(p), &init);
    rng_deinit(&init);
    return st;
}

static enum status init_scores(struct server_train *s)
{
    const struct plan *p = &s->plan;
    enum status st = score_board_init(&s->trainer.scores.running, p->shape.train_rows,
                                      s->trainer.head.top.outputs);

    if (st == STATUS_OK && p->shape.test_rows > 0)
        st = score_board_init(&s->trainer.scores.test, p->shape.test_rows,
                              s->trainer.head.top.outputs);
    if (st == STATUS_OK && p->training.evaluate_train)
        st = score_board_init(&s->trainer.scores.train, p->shape.train_rows,
                              s->trainer.head.top.outputs);
    return st;
}

enum status server_train_init(struct server_train *s, const struct server_setup *setup,
                              struct server_federation *fed, struct error *err)
{
    enum status st;

    s->fed = fed;
    s->setup = *setup;
    s->plan = *setup->plan;
    s->mode = &server_plain;
    agenda_make(&s->trainer.agenda, &s->plan);
    s->report.agenda = s->trainer.agenda;
    buf_init(&s->keep.bytes, SERVER_KEEP_MAX);
    buf_init(&s->keep.replay, WIRE_PAYLOAD_MAX);
    st = schedule_init(&s->trainer.schedule, s->plan.training.seed, s->plan.shape.train_rows,
                       s->plan.training.batch, s->plan.protocol.fedvs.segments);
    if (st == STATUS_OK)
        st = init_model(s);
    if (st == STATUS_OK)
        st = init_scores(s);
    if (st != STATUS_OK)
        return error_set(err, st, "session: %s", status_words(st));
    if (s->setup.weights != NULL)
        st = load_head(s, err);
    if (st != STATUS_OK)
        return st;
    st = init_protocol(s, err);
    if (st == STATUS_OK)
        trail_begin(&s->trainer.trail, &s->trainer.digest, fed->terms.digest);
    return st;
}

void server_train_deinit(struct server_train *s)
{
    secagg_server_free(s->round.sum.secagg);
    server_head_deinit(&s->trainer.head);
    schedule_deinit(&s->trainer.schedule);
    score_board_deinit(&s->trainer.scores.running);
    score_board_deinit(&s->trainer.scores.test);
    score_board_deinit(&s->trainer.scores.train);
    server_shares_free(s);
    server_stream_free(s);
    server_stored_free(s);
    server_watch_free(s);
    digest_deinit(&s->trainer.digest);
    rng_deinit(&s->trainer.rounding);
    buf_deinit(&s->keep.replay);
    if (s->keep.bytes.data != NULL)
        secret_wipe(s->keep.bytes.data, s->keep.bytes.cap);
    buf_deinit(&s->keep.bytes);
    mem_free(s->trainer.sweep_row);
}
