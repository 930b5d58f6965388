/* run.c -- a party's run from its state directory to its summary.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/run.h"

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/crypto/secret.h"
#include "party/checkpoint.h"
#include "party/inject.h"
#include "party/predict/predict.h"
#include "party/train/train.h"

#include <stdio.h>

static size_t spent(void *owner, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    return books_entries(&((struct party_run *)owner)->books, out);
}

static bool takes(void *owner, const struct account_entry *mechanism)
{
    return ledger_takes(((struct party_run *)owner)->books.ledger, mechanism);
}

static uint64_t sequence(void *owner)
{
    return ledger_sequence(((struct party_run *)owner)->books.ledger);
}

static uint64_t seen(void *owner, uint32_t party)
{
    const struct party_run *r = owner;

    return ledger_seen(r->books.ledger, r->in->roster.party[party].key);
}

static uint64_t compared(void *owner, const uint8_t key[WIRE_KEY_BYTES])
{
    return guesses_count(&((struct party_run *)owner)->guesses, key);
}

static bool known_element(void *owner, const uint8_t key[WIRE_KEY_BYTES],
                          const uint8_t list[WIRE_DIGEST_BYTES],
                          const uint8_t element[EQUALITY_BYTES])
{
    return guesses_known(&((struct party_run *)owner)->guesses, key, list, element);
}

static enum status note_compared(void *owner, const uint8_t *const *keys,
                                 const uint8_t *const *elements, size_t n,
                                 const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    return guesses_note(&((struct party_run *)owner)->guesses, keys, elements, n, list, err);
}

static enum status note_equal(void *owner, const uint8_t *const *keys, size_t n,
                              const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    return guesses_equal(&((struct party_run *)owner)->guesses, keys, n, list, err);
}

static enum status begin_session(struct party_run *r, struct error *err)
{
    const struct config_party *c = &r->in->config;
    static const struct party_job *const trains[] = {&party_train_job, NULL},
                                         *const predicts[] = {&party_predict_job, NULL};
    static const struct table none = {0};
    const bool predict = r->in->predicts;
    struct party_setup setup = {
        .jobs = predict ? predicts : trains,
        .saved = {.last = r->saved.len > 0 ? r->saved.data : NULL,
                  .last_n = r->saved.len,
                  .before = r->saved_before.data,
                  .before_n = r->saved_before.len},
        .config = c,
        .roster = &r->in->roster,
        .self = r->in->self,
        .key = &r->in->key,
        .data = {.train = &r->in->train,
                 /* Ids of predictions are compared with nobody's. */
                 .test = predict ? &none : &r->in->test,
                 .labels = r->in->labels.rows > 0 ? &r->in->labels : NULL,
                 .persons = &r->in->persons},
        .start = {.weights = r->in->weights.data,
                  .weights_n = r->in->weights.len,
                  .seeded = r->options->seeded,
                  .seed = r->options->seed},
        .ledger = {.owner = r,
                   .spent = spent,
                   .takes = takes,
                   .sequence = sequence,
                   .seen = seen,
                   .records = books_records(&r->books)},
        .owner = r,
        .clock_us = clock_us,
        .checkpoint_rounds = c->state_key[0] != 0 ? c->checkpoint_rounds : 0,
        .answers = {&r->in->model, predict ? &r->in->test : NULL},
        .holdings = holdings_for_session(&r->holdings),
        .counts = {r, r->guesses.secret, compared, known_element, note_compared, note_equal},
    };

    return party_session_new(&r->session, &setup, err);
}

enum status party_run_begin(struct party_run *r, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    enum status s = folder_make(r->in->config.state, err);

    snprintf(path, sizeof path, "%.*s/lock", CONFIG_PATH_MAX - 16, r->in->config.state);
    if (s == STATUS_OK)
        s = file_lock(&r->lock, path, err);
    if (s == STATUS_OK)
        s = books_open(&r->books, r->in, err);
    if (s == STATUS_OK)
        s = guesses_open(&r->guesses, r->in->config.state, &r->in->key, true, err);
    /* A run that is not complete stays as it is while its models before it predict. */
    if (s == STATUS_OK && !r->in->predicts)
        s = party_checkpoint_load(r->in, &r->saved, err);
    if (s == STATUS_OK && !r->in->predicts)
        s = party_checkpoint_load_before(r->in, &r->saved_before, err);
    holdings_init(&r->holdings, &r->in->config);
    if (s == STATUS_OK)
        s = begin_session(r, err);
    if (s == STATUS_OK && !r->in->predicts && !party_session_report(r->session)->shared)
        s = holdings_remove(&r->holdings, err); /* of a run that this one does not go on with */
    if (s != STATUS_OK)
        return s;
    r->delay_mean_s = inject_mean_s(&r->in->config.inject, r->in->self, r->in->roster.n);
    s = rng_init_system(&r->chance);
    if (s == STATUS_OK)
        s = party_results_init(&r->results, r->in, r->options, clock_us());
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

/* Nothing of it is gone on with: each row is released once, and charged. */
static enum status end_predictions(struct party_run *r, struct error *err)
{
    const struct party_ending end = {wire_outcome_name(r->outcome), &r->error, clock_us()};
    struct error unwritten = {0};
    enum status s;

    spans_stop(party_session_spans(r->session), end.now_us);
    s = party_results_end(&r->results, r->session, &r->books, &end, &unwritten);
    *err = s != STATUS_OK ? unwritten : r->error;
    return err->status;
}

static enum status end_training(struct party_run *r, struct error *err)
{
    const struct party_report *rep = party_session_report(r->session);
    struct party_ending end = {wire_outcome_name(r->outcome), &r->error, clock_us()};
    const bool needed = party_checkpoint_needed(rep, r->outcome);
    struct error unwritten = {0};
    enum status s = STATUS_OK, written;

    spans_stop(party_session_spans(r->session), end.now_us);
    if (needed) /* first of all: nothing else may keep the run from going on */
        s = party_checkpoint_save(r->in, r->session, err);
    written = party_results_end(&r->results, r->session, &r->books, &end, &unwritten);
    if (!needed && rep->progress.final && written == STATUS_OK)
        written = party_results_package(&r->results, r->session, &unwritten);
    if (!needed && written == STATUS_OK)
        written = party_checkpoint_remove(r->in, &unwritten);
    if ((!needed || !rep->shared) && written == STATUS_OK)
        written = holdings_remove(&r->holdings, &unwritten);
    if (s == STATUS_OK)
        *err = written != STATUS_OK ? unwritten : r->error;
    return err->status;
}

enum status party_run_end(struct party_run *r, struct error *err)
{
    if (r->in->predicts)
        return end_predictions(r, err);
    return end_training(r, err);
}

void party_run_deinit(struct party_run *r)
{
    party_session_free(r->session);
    holdings_deinit(&r->holdings);
    books_close(&r->books);
    guesses_close(&r->guesses);
    secret_buf_deinit(&r->saved);
    secret_buf_deinit(&r->saved_before);
    party_results_deinit(&r->results);
    rng_deinit(&r->chance);
    file_unlock(r->lock);
}

enum status party_run_keep(const struct party_run *r, const struct wire_bytes *kept,
                           struct error *err)
{
    return party_checkpoint_write(r->in, kept, err);
}

uint64_t party_run_delay_ms(struct party_run *r, const struct wire_msg *m)
{
    const struct config_inject *c = &r->in->config.inject;
    const struct party_report *rep = party_session_report(r->session);
    struct inject_message about = {
        .kind = m->kind,
        .purpose = m->kind == WIRE_SHARE ? m->share.purpose : PURPOSE_TRAIN,
        .aggregation = rep->planned ? rep->plan.protocol.aggregation : AGGREGATION_CLEAR,
        .parties = r->in->roster.n,
        .batch = rep->planned ? rep->plan.training.batch : 1,
    };
    double mean_s = inject_factor(c, &about) * r->delay_mean_s;

    return mean_s > 0 ? (uint64_t)(1e3 * inject_draw_s(c, mean_s, &r->chance)) : 0;
}
