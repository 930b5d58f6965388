/* init.c -- a training job is made, and unmade.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

#include "common/crypto/secret.h"

static enum status init_parts(struct server_train *s)
{
    enum status st = server_trainer_init(&s->trainer, s->setup.plan, &s->setup);

    if (st == STATUS_OK)
        st = server_shares_new(&s->shares, &s->sum, &s->fed->error);
    if (st == STATUS_OK)
        st = server_stream_new(&s->stream, s->setup.plan, s->sum.shape.values_max);
    return st == STATUS_OK ? server_watch_new(&s->watcher, &s->setup.watch, &s->sum) : st;
}

enum status server_train_init(struct server_train *s, const struct server_setup *setup,
                              struct server_federation *fed, struct error *err)
{
    enum status st;

    s->fed = fed;
    s->setup = *setup;
    s->round.mode = &server_plain;
    buf_init(&s->keep.bytes, SERVER_KEEP_MAX);
    buf_init(&s->recall.replay, WIRE_PAYLOAD_MAX);
    st = server_sum_init(&s->sum, setup->plan, err);
    if (st != STATUS_OK)
        return st;
    st = server_trainer_begin_program(&s->trainer, setup, err);
    if (st != STATUS_OK)
        return st;
    st = init_parts(s);
    if (st != STATUS_OK)
        return error_set(err, st, "session: %s", status_words(st));
    rng_fill(&s->trainer.rounding, s->keep.playing, sizeof s->keep.playing);
    if (setup->start.weights != NULL)
        st = server_trainer_load(&s->trainer, err);
    if (st != STATUS_OK)
        return st;
    s->report.agenda = s->trainer.agenda;
    server_trainer_begin(&s->trainer, fed->terms.digest);
    return STATUS_OK;
}

const uint8_t *server_train_trail(const struct server_train *s)
{
    const bool shared = s->setup.plan != NULL && trail_is_shared(s->setup.plan);

    return shared ? s->trainer.trail.value : s->keep.playing;
}

void server_train_deinit(struct server_train *s)
{
    server_sum_deinit(&s->sum);
    server_trainer_deinit(&s->trainer);
    server_shares_free(s->shares);
    server_stream_free(s->stream);
    server_watch_free(&s->watcher);
    buf_deinit(&s->recall.replay);
    if (s->keep.bytes.data != NULL)
        secret_wipe(s->keep.bytes.data, s->keep.bytes.cap);
    buf_deinit(&s->keep.bytes);
}
