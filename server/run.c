/* run.c -- the server's run from its state directory to its summary.
 *
 * Sums are in the journal before anything of them is sent; a checkpoint is written now and then,
 * and before the first round.  A restart reads the checkpoint, then the journal from there on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/run.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/daemon/aligned.h"
#include "common/daemon/models.h"
#include "common/daemon/runs.h"
#include "common/wire/purpose.h"
#include "server/align/align.h"
#include "server/contributed.h"
#include "server/train/checkpoint.h"

#include <stdio.h>

/* --- what the session asks --- */

static struct journal *journal_of(void *owner)
{
    return ((struct server_run *)owner)->journal;
}

static bool trail(void *owner, uint64_t applied, uint8_t out[WIRE_DIGEST_BYTES])
{
    return journal_trail(journal_of(owner), applied, out);
}

static uint64_t first(void *owner)
{
    return journal_first(journal_of(owner));
}

static enum status watch_ask(void *owner, const struct transcript_ask *a, struct error *err)
{
    return transcript_ask(((struct server_run *)owner)->transcript, a, err);
}

static enum status watch_upload(void *owner, const struct transcript_upload *u, struct error *err)
{
    return transcript_upload(((struct server_run *)owner)->transcript, u, err);
}

static enum status watch_sum(void *owner, const struct transcript_sum *m, struct error *err)
{
    return transcript_sum(((struct server_run *)owner)->transcript, m, err);
}

static enum status watch_again(void *owner, const struct transcript_again *g, struct error *err)
{
    return transcript_again(((struct server_run *)owner)->transcript, g, err);
}

static enum status watch_arrival(void *owner, const struct transcript_arrival *r, struct error *err)
{
    return transcript_arrival(((struct server_run *)owner)->transcript, r, err);
}

static enum status watch_end(void *owner, const struct transcript_end *e, struct error *err)
{
    return transcript_end(((struct server_run *)owner)->transcript, e, err);
}

static uint64_t compared(void *owner, const uint8_t key[WIRE_KEY_BYTES])
{
    return guesses_count(&((struct server_run *)owner)->guesses, key);
}

static bool known_element(void *owner, const uint8_t key[WIRE_KEY_BYTES],
                          const uint8_t list[WIRE_DIGEST_BYTES],
                          const uint8_t element[EQUALITY_BYTES])
{
    return guesses_known(&((struct server_run *)owner)->guesses, key, list, element);
}

static enum status note_compared(void *owner, const uint8_t *const *keys,
                                 const uint8_t *const *elements, size_t n,
                                 const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    return guesses_note(&((struct server_run *)owner)->guesses, keys, elements, n, list, err);
}

static enum status note_equal(void *owner, const uint8_t *const *keys, size_t n,
                              const uint8_t list[WIRE_DIGEST_BYTES], struct error *err)
{
    return guesses_equal(&((struct server_run *)owner)->guesses, keys, n, list, err);
}

static enum status count_alignment(void *owner, const struct alignment *about,
                                   enum alignment_count what, struct error *err)
{
    const struct server_run *r = owner;
    const uint32_t most = r->in->config.align.times_max;

    if (what == ALIGNMENT_TOLD)
        return aligned_tell(r->in->home, most, err);
    return what == ALIGNMENT_PASS
               ? aligned_begin(r->in->home, about->name, true, 1, most, err)
               : aligned_begin(r->in->home, about->name, about->replace, about->keys_n, most, err);
}

static enum status alignment_rows(void *owner, uint32_t pass, const uint8_t **rows,
                                  struct error *err)
{
    struct roll *roll = ((const struct server_run *)owner)->in->listed.roll;
    const enum status s = roll_pass(roll, pass, err);

    *rows = roll->rows;
    return s;
}

static enum status take_alignment(void *owner, uint32_t pass, uint32_t common,
                                  const uint32_t *places, struct error *err)
{
    return roll_take(((const struct server_run *)owner)->in->listed.roll, pass, common, places,
                     err);
}

static enum status raise_floor(void *owner, uint64_t to, struct error *err)
{
    return generation_raise(&((struct server_run *)owner)->generation, to, err);
}

static struct generation_floor floor_of(struct server_run *r)
{
    return (struct generation_floor){r, r->generation.value, raise_floor};
}

/* --- life --- */

/* Nothing of it is gone on with: each row is answered once, and an alignment begins again. */
static bool is_short(const struct server_run *r)
{
    return r->in->predicts || r->in->listed.aligns;
}

static bool keeps(const struct server_run *r)
{
    return r->in->config.state_key[0] != 0 && !is_short(r);
}

/* Under async no sum is a step that could be taken again. */
static bool journals(const struct server_run *r)
{
    return keeps(r) && r->in->config.plan.protocol.straggler != STRAGGLER_ASYNC;
}

static struct journal_place place_of(const struct server_run *r)
{
    return (struct journal_place){r->in->config.state, r->in->config.state_key};
}

static enum status replay(void *owner, const struct journal_record *record)
{
    struct server_run *r = owner;
    uint64_t sweeps = server_session_report(r->session)->measured.sweeps;
    enum status s = server_session_replay(r->session, record, &r->error);
    const struct server_report *rep = server_session_report(r->session);
    struct error err = {0};

    if (s == STATUS_OK && rep->measured.sweeps > sweeps &&
        server_results_replayed(&r->results, rep, clock_us(), &err) != STATUS_OK)
        log_error("%s", err.text);
    return s;
}

static enum status read_journal(struct server_run *r, struct error *err)
{
    struct journal_place at = place_of(r);
    uint64_t steps = server_session_report(r->session)->steps, then;
    enum status s =
        journal_open(&r->journal, &at, server_session_plan_digest(r->session), steps, err);

    if (s == STATUS_OK)
        s = journal_read(r->journal, steps, replay, r, err);
    if (s != STATUS_OK) {
        if (r->error.status != STATUS_OK)
            *err = r->error;
        return s;
    }
    then = server_session_report(r->session)->steps;
    if (then > 0)
        log_info("going on after %llu training steps, %llu of them from the journal",
                 (unsigned long long)then, (unsigned long long)(then - steps));
    return STATUS_OK;
}

/* Before there is a checkpoint that needs it. */
static enum status need_base(const struct server_run *r, struct error *err)
{
    const char *from = r->in->config.plan.training.from;

    if (from[0] == 0 || !keeps(r))
        return STATUS_OK;
    return models_need(r->in->home, from, r->in->config.stand ? runs_name(r->in->config.state) : "",
                       err);
}

static enum status begin_session(struct server_run *r, struct error *err)
{
    const struct server_inputs *in = r->in;
    const struct server_aligned aligned = {
        .about = &in->listed.about,
        .ids_max = in->config.align.ids_max,
        .all_max = in->config.align.all_max,
        .list = {r, alignment_rows, take_alignment, count_alignment}};
    struct server_setup setup = {
        .asked = in->predicts ? &in->asked : NULL,
        .aligns = in->listed.aligns ? &aligned : NULL,
        .plan = &in->config.plan,
        .roster = &in->roster,
        .labels.train = &in->train,
        .labels.test = &in->test,
        .labels.train_target = in->target.train,
        .labels.test_target = in->target.test,
        .labels.validate = in->target.validate.from != NULL ? &in->target.validate : NULL,
        .start = {.program = in->head.program,
                  .weights = in->head.weights.len > 0 ? in->head.weights.data : NULL,
                  .weights_n = in->head.weights.len,
                  .seeded = r->options->seeded,
                  .seed = r->options->seed},
        .clock_us = clock_us,
        .checkpoint_rounds = keeps(r) ? in->config.checkpoint_rounds : 0,
        .counts = {r, r->guesses.secret, compared, known_element, note_compared, note_equal},
        .id_mismatches = in->config.id_mismatches,
        .floor = floor_of(r),
    };
    bool found = false;
    enum status s;

    if (in->config.stand)
        setup.roster = &r->whole->roster; /* the federation's, which outlives jobs */
    if (journals(r))
        setup.store = (struct server_store){r, trail, first};
    if (r->transcript != NULL)
        setup.watch = (struct server_watch){r,           watch_ask,     watch_upload, watch_sum,
                                            watch_again, watch_arrival, watch_end};
    s = in->config.stand ? server_session_next(r->session, &setup, err)
                         : server_session_new(&r->session, &setup, err);
    /* A run that is not complete stays as it is while the models before it predict. */
    if (s == STATUS_OK && !is_short(r))
        s = server_checkpoint_load(&in->config, r->session, &found, err);
    if (s == STATUS_OK)
        s = need_base(r, err);
    /* What a restart could not make again, the head's first weights and the schedule's seed, is on
     * disk before anybody hears of it. */
    if (s == STATUS_OK && keeps(r) && !found)
        s = server_checkpoint_save(&in->config, r->session, err);
    if (s == STATUS_OK && journals(r))
        s = read_journal(r, err);
    if (s == STATUS_OK) /* of a run that is gone on with, or a model that it goes on from */
        s = program_tell(in->head.program, err);
    if (s == STATUS_OK)
        server_results_go_on(&r->results, server_session_report(r->session));
    return s;
}

static enum status open_transcript(struct server_run *r, struct error *err)
{
    struct buf plan;
    enum status s = transcript_open(&r->transcript, r->options->transcript, err);

    if (s != STATUS_OK)
        return s;
    buf_init(&plan, PLAN_TEXT_MAX);
    s = plan_print(&r->in->config.plan, &plan);
    if (s == STATUS_OK)
        s = transcript_plan(r->transcript, plan.data, plan.len, err);
    else
        error_set(err, s, "transcript: %s", status_words(s));
    buf_deinit(&plan);
    return s;
}

enum status server_run_open(struct server_run *r, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    enum status s;

    snprintf(path, sizeof path, "%.*s/lock", CONFIG_PATH_MAX - 16, r->in->home);
    s = file_lock(&r->lock, path, err);
    if (s == STATUS_OK)
        s = sign_key_load(&r->key, r->in->config.identity.key, err);
    if (s == STATUS_OK)
        s = guesses_open(&r->guesses, r->in->home, &r->key, true, err);
    if (s == STATUS_OK)
        s = generation_open(&r->generation, r->in->home, err);
    return s;
}

enum status server_run_stand(struct server_run *r, struct error *err)
{
    const struct server_setup nothing = {.roster = &r->in->roster, .floor = floor_of(r)};
    enum status s = server_session_new(&r->session, &nothing, err);

    r->whole = r->in;
    return s == STATUS_OK ? server_results_init(&r->results, r->in, r->options, clock_us()) : s;
}

enum status server_run_begin(struct server_run *r, struct error *err)
{
    enum status s;

    program_pardon(r->in->head.program);
    server_results_deinit(&r->results);
    s = server_results_init(&r->results, r->in, r->options, clock_us());
    if (s == STATUS_OK && r->options->transcript != NULL)
        s = open_transcript(r, err);
    return s == STATUS_OK ? begin_session(r, err) : s;
}

void server_run_rest(struct server_run *r)
{
    server_session_rest(r->session);
    journal_close(r->journal);
    r->journal = NULL;
    r->error = (struct error){0};
    r->in = r->results.in = r->whole;
}

/* The journal first: a checkpoint without one opens, a journal without its checkpoint does not. */
enum status server_run_forget(struct server_run *r, struct error *err)
{
    struct journal_place at = place_of(r);
    enum status s = STATUS_OK;

    if (!r->written_down)
        return STATUS_OK;
    r->written_down = false;
    if (journals(r))
        s = journal_remove(&at, err);
    return s == STATUS_OK ? server_checkpoint_remove(&r->in->config, err) : s;
}

/* The journal first, so that no checkpoint is ever ahead of it. */
static enum status save_at_the_end(struct server_run *r, struct error *err)
{
    enum status s = STATUS_OK;

    if (!server_session_sound(r->session))
        return STATUS_OK;
    if (r->journal != NULL)
        s = journal_turn(r->journal, server_session_report(r->session)->steps, err);
    return s == STATUS_OK ? server_checkpoint_save(&r->in->config, r->session, err) : s;
}

static enum status end_predictions(struct server_run *r, struct error *err)
{
    const bool complete = r->outcome == OUTCOME_COMPLETED;
    struct error unwritten = {0};
    enum status s = STATUS_OK;

    if (r->in->asks.n == 0) {
        s = server_results_keep(r->in, r->session, &unwritten);
        if (complete && s == STATUS_OK)
            s = server_results_predictions(r->in, r->options->scores, &unwritten);
    } else if (complete && r->options->scores != NULL) {
        s = contributed_write(r->in, server_session_predictions(r->session), r->options->scores,
                              &unwritten);
    }
    if (s == STATUS_OK)
        s = server_results_end(&r->results, r->session, wire_outcome_name(r->outcome), &r->error,
                               clock_us(), &unwritten);
    *err = s != STATUS_OK ? unwritten : r->error;
    return err->status;
}

static enum status end_alignment(struct server_run *r, struct error *err)
{
    const struct server_alignment a = server_align_result(server_session_alignment(r->session));
    struct error unwritten = {0};
    enum status s = STATUS_OK;

    if (r->outcome == OUTCOME_COMPLETED && a.transcript != NULL)
        s = roll_keep(r->in->listed.roll, r->in->home, a.transcript, &unwritten);
    if (s == STATUS_OK)
        s = server_results_end(&r->results, r->session, wire_outcome_name(r->outcome), &r->error,
                               clock_us(), &unwritten);
    *err = s != STATUS_OK ? unwritten : r->error;
    return err->status;
}

static enum status end_training(struct server_run *r, struct error *err)
{
    bool complete = r->outcome == OUTCOME_COMPLETED || r->outcome == OUTCOME_TARGET;
    bool begun = server_session_opened(r->session);
    struct error unwritten = {0};
    enum status s = STATUS_OK, written;

    if (!complete && begun) /* first of all: nothing else may keep the run from going on */
        s = save_at_the_end(r, err);
    if (complete && begun)
        server_results_verdict(&r->results, server_session_report(r->session));
    written = server_results_end(&r->results, r->session, wire_outcome_name(r->outcome), &r->error,
                                 clock_us(), &unwritten);
    if (complete && begun && written == STATUS_OK)
        written = server_results_package(&r->results, r->session, &unwritten);
    if (complete && begun && written == STATUS_OK)
        written = server_results_scores(&r->results, r->session, &unwritten);
    r->written_down = (complete || !begun) && written == STATUS_OK;
    if (s == STATUS_OK)
        *err = written != STATUS_OK ? unwritten : r->error;
    return err->status;
}

enum status server_run_end(struct server_run *r, struct error *err)
{
    enum status s;

    r->written_down = false;
    program_round(r->in->head.program); /* nobody waits any more */
    if (r->in->listed.aligns)
        s = end_alignment(r, err);
    else
        s = r->in->predicts ? end_predictions(r, err) : end_training(r, err);
    return s == STATUS_OK ? program_tell(r->in->head.program, err) : s;
}

void server_run_deinit(struct server_run *r)
{
    server_session_free(r->session);
    journal_close(r->journal);
    transcript_close(r->transcript);
    server_results_deinit(&r->results);
    guesses_close(&r->guesses);
    sign_key_deinit(&r->key);
    file_unlock(r->lock);
}

/* --- work --- */

static enum status write_all(struct server_run *r, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < r->written.n && s == STATUS_OK; i++) {
        const struct action *a = &r->written.item[i];
        CHECK(a->kind == ACTION_APPEND || a->kind == ACTION_TURN);
        s = a->kind == ACTION_APPEND ? journal_append(r->journal, a->record, err)
                                     : journal_turn(r->journal, a->step, err);
    }
    return s;
}

void server_run_sent(struct server_run *r, const struct action *a, uint64_t start)
{
    struct spans *spans = server_session_spans(r->session);
    const struct wire_broadcast *b = &a->msg.broadcast;

    spans_add(spans, SPAN_SERIALISE, clock_us() - start);
    if (a->msg.kind != WIRE_BROADCAST || !b->opens)
        return;
    spans_phase(spans, (enum traffic_phase)purpose_of(b->purpose)->phase, start);
    if (purpose_of(b->purpose)->trains)
        server_results_round(&r->results, (uint32_t)a->to_n,
                             agenda_batch_rows(&server_session_report(r->session)->agenda,
                                               &r->in->config.plan, b->place),
                             server_session_terms(r->session), start);
}

void server_run_report(struct server_run *r)
{
    const struct server_report *rep = server_session_report(r->session);
    struct spans *spans = server_session_spans(r->session);
    struct error err = {0};
    uint64_t now = clock_us();

    spans_phase(spans, spans->phase, now); /* brings the seconds up to date */
    if (server_results_evaluation(&r->results, rep, spans_phase_s(spans, TRAFFIC_TRAIN), now,
                                  &err) != STATUS_OK)
        log_error("%s", err.text);
    server_results_progress(&r->results, rep, now, true);
}

enum status server_run_work(struct server_run *r, const struct action *a, struct error *err)
{
    if (a->kind == ACTION_RECALL)
        return journal_gradients(r->journal, a->step, a->recall.bytes_max, a->recall.out,
                                 a->recall.steps, err);
    r->written.n = 0;
    server_session_work(r->session, &r->written);
    return write_all(r, err);
}

enum status server_run_keep(const struct server_run *r, const struct wire_bytes *kept,
                            struct error *err)
{
    return server_checkpoint_write(&r->in->config, server_session_plan_digest(r->session), kept,
                                   err);
}
