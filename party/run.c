/* run.c -- a party's run from its state directory to its summary.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/run.h"

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/crypto/secret.h"
#include "common/daemon/aligned.h"
#include "common/daemon/models.h"
#include "common/daemon/runs.h"
#include "common/flow/alignment.h"
#include "common/flow/job.h"
#include "common/flow/contribution.h"
#include "party/align/align.h"
#include "party/checkpoint.h"
#include "party/inject.h"
#include "party/predict/predict.h"
#include "party/train/train.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t spent(void *owner, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    return books_expected(&((struct party_run *)owner)->books, out);
}

static bool takes(void *owner, const struct account_entry *mechanism)
{
    return ledger_takes(((struct party_run *)owner)->books.ledger, mechanism);
}

static enum status spare(void *owner, const struct plan *plan, const struct account_entry *planned,
                         struct error *err)
{
    struct books *b = &((struct party_run *)owner)->books;

    books_judge(b, plan);
    return books_spare(b, planned, err);
}

static enum status may_answer(void *owner, uint32_t rows, struct error *err)
{
    return books_may_answer(&((struct party_run *)owner)->books, rows, err);
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

static enum status count_alignment(void *owner, const struct alignment *about,
                                   enum alignment_count what, struct error *err)
{
    struct party_run *r = owner;

    return books_align(&r->books, about, r->roll.listed, what, err);
}

static enum status open_alignment(void *owner, const struct alignment *about, uint32_t *n,
                                  struct error *err)
{
    struct party_run *r = owner;
    enum status s;

    roll_close(&r->roll);
    s = roll_open(&r->roll, &r->in->listed.ids, r->in->config.state, about, false, err);
    *n = r->roll.listed;
    return s;
}

static enum status alignment_rows(void *owner, uint32_t pass, const uint8_t **rows,
                                  struct error *err)
{
    struct party_run *r = owner;
    const enum status s = roll_pass(&r->roll, pass, err);

    *rows = r->roll.rows;
    return s;
}

static enum status take_alignment(void *owner, uint32_t pass, uint32_t common,
                                  const uint32_t *places, struct error *err)
{
    return roll_take(&((struct party_run *)owner)->roll, pass, common, places, err);
}

static enum status keep_alignment(void *owner, const uint8_t transcript[WIRE_DIGEST_BYTES],
                                  struct error *err)
{
    const struct party_run *r = owner;

    return roll_keep(&r->roll, r->in->config.state, transcript, err);
}

static enum status from(void *owner, const struct plan *plan, struct package *out,
                        struct error *err)
{
    const struct party_run *r = owner;
    const char *by = r->in->config.stand ? runs_name(r->folder) : "";
    enum status s = models_load_from(r->in->config.state, plan, by, out, err);

    if (s == STATUS_OK && out->role != PACKAGE_BOTTOM)
        s = error_set(err, STATUS_CONFIG, "training.from: run %s has a head here", out->run);
    return s;
}

/* --- one job after another --- */

static const struct table no_rows;

static bool stands(const struct party_run *r)
{
    return r->in->config.stand;
}

/* One job, of which nothing is gone on with. */
static bool is_short(const struct party_run *r)
{
    return r->in->predicts || r->in->listed.alone;
}

/* Every side has a run under the name that its model gets (common/daemon/models.h). */
static enum status enter_run(struct party_run *r, const uint8_t digest[WIRE_DIGEST_BYTES],
                             struct error *err)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, digest, WIRE_DIGEST_BYTES);
    snprintf(r->folder, sizeof r->folder, "%.*s/runs/%.16s", CONFIG_PATH_MAX - 32,
             r->in->config.state, hex);
    secret_buf_deinit(&r->saved);
    secret_buf_deinit(&r->saved_before);
    holdings_init(&r->holdings, &r->in->config, r->folder);
    return runs_room(r->in->config.state, r->folder, err);
}

static enum status recall_run(struct party_run *r, struct party_setup *setup, struct error *err)
{
    enum status s = party_checkpoint_load(r->in, r->folder, &r->saved, err);

    setup->answers = (struct party_answers){.model = NULL};
    setup->data.train = &r->in->train;
    setup->data.test = &r->in->test;
    if (s == STATUS_OK)
        s = party_checkpoint_load_before(r->in, r->folder, &r->saved_before, err);
    r->fresh = s == STATUS_OK && r->saved.len == 0;
    if (r->fresh)
        s = holdings_remove(&r->holdings, err); /* nobody goes on with them */
    if (s == STATUS_OK && r->saved.len > 0)
        setup->saved = (struct party_saved){.last = r->saved.data,
                                            .last_n = r->saved.len,
                                            .before = r->saved_before.data,
                                            .before_n = r->saved_before.len,
                                            .unpaid = !r->paid};
    return s;
}

/* A text that is none is the job's to refuse. */
static enum status recall_answers(struct party_run *r, const struct wire_job *job,
                                  struct party_setup *setup, struct error *err)
{
    struct error none = {0};
    struct contribution asks = {0};
    struct prediction about;
    const uint32_t parties = (uint32_t)r->in->roster.n;
    enum status s;

    setup->answers = (struct party_answers){.model = NULL};
    setup->data.train = setup->data.test = &no_rows; /* ids are told, and compared with nobody's */
    r->results.predicts = true;
    r->fresh = true; /* there is nothing to go on with: what it leaves is forgotten, or a result */
    if (r->in->config.data_predict[0] == 0)
        return STATUS_OK;
    s = job_is(job, JOB_CONTRIBUTE) ? contribution_parse(&asks, &about, &job->text, parties, &none)
                                    : prediction_parse(&about, job->text.data, job->text.n, &none);
    contribution_deinit(&asks);
    if (s != STATUS_OK)
        return STATUS_OK;
    return asked_for(&r->asked, r->in, &r->books, &about, &setup->answers, err);
}

/* Nothing is compared beforehand, and nothing gone on with: each playing has a key of its own. */
static void recall_alignment(struct party_run *r, struct party_setup *setup)
{
    setup->answers = (struct party_answers){.model = NULL};
    setup->data.train = setup->data.test = &no_rows;
    r->results.aligns = true;
    r->fresh = true;
}

static enum status recall(void *owner, const struct wire_job *job,
                          const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                          struct error *err)
{
    struct party_run *r = owner;
    enum status s = enter_run(r, digest, err);

    r->playing = true;
    r->fresh = r->marked = false;
    r->paid = runs_is_paid(r->folder);
    program_pardon(r->in->bottom.program);
    if (s != STATUS_OK)
        return s;
    s = party_results_again(&r->results, clock_us());
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    spans_phase(party_session_spans(r->session), TRAFFIC_SETUP, clock_us());
    log_info("run %s: a job of kind %s is offered", runs_name(r->folder), job->kind);
    if (job_is(job, JOB_ALIGN))
        recall_alignment(r, setup);
    else if (job_is(job, JOB_PREDICT) || job_is(job, JOB_CONTRIBUTE))
        s = recall_answers(r, job, setup, err);
    else
        s = recall_run(r, setup, err);
    setup->ledger.records = books_records(&r->books); /* with the rows that the job asks for */
    return s;
}

/* --- life --- */

static enum status begin_session(struct party_run *r, struct error *err)
{
    const struct config_party *c = &r->in->config;
    static const struct party_job *const trains[] = {&party_train_job, NULL},
                                         *const predicts[] = {&party_predict_job,
                                                              &party_contribute_job, NULL},
                                         *const aligns[] = {&party_align_job, NULL},
                                         *const all[] = {&party_train_job, &party_predict_job,
                                                         &party_contribute_job, &party_align_job,
                                                         NULL};
    const bool predict = r->in->predicts;
    struct party_setup setup = {
        .jobs = stands(r)             ? all
                : predict             ? predicts
                : r->in->listed.alone ? aligns
                                      : trains,
        .recall = stands(r) ? recall : NULL,
        .saved = {.last = r->saved.len > 0 ? r->saved.data : NULL,
                  .last_n = r->saved.len,
                  .before = r->saved_before.data,
                  .before_n = r->saved_before.len,
                  .unpaid = !r->paid},
        .config = c,
        .roster = &r->in->roster,
        .self = r->in->self,
        .key = &r->in->key,
        .data = {.train = &r->in->train,
                 /* Ids of predictions are compared with nobody's. */
                 .test = predict ? &no_rows : &r->in->test,
                 .labels = r->in->labels.rows > 0 ? &r->in->labels : NULL,
                 .persons = &r->in->persons,
                 .schema = &r->in->schema},
        .start = {.weights = r->in->bottom.weights.data,
                  .weights_n = r->in->bottom.weights.len,
                  .program = r->in->bottom.program,
                  .seeded = r->options->seeded,
                  .seed = r->options->seed,
                  .from = from},
        .ledger = {.owner = r,
                   .spent = spent,
                   .takes = takes,
                   .spare = spare,
                   .may_answer = may_answer,
                   .sequence = sequence,
                   .seen = seen,
                   .records = books_records(&r->books)},
        .owner = r,
        .clock_us = clock_us,
        .checkpoint_rounds = c->state_key[0] != 0 ? c->checkpoint_rounds : 0,
        .answers = {.model = &r->in->model,
                    .rows = predict ? &r->in->test : NULL,
                    .persons = &r->in->persons},
        .holdings = holdings_for_session(&r->holdings),
        .listed = {.any = r->in->listed.ids.n > 0,
                   .list = {r, alignment_rows, take_alignment, count_alignment},
                   .open = open_alignment,
                   .keep = keep_alignment},
        .counts = {r, r->guesses.secret, compared, known_element, note_compared, note_equal},
    };

    return party_session_new(&r->session, &setup, err);
}

enum status party_run_begin(struct party_run *r, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    enum status s = folder_make(r->in->config.state, err);

    snprintf(r->folder, sizeof r->folder, "%s", r->in->config.state);
    snprintf(path, sizeof path, "%.*s/lock", CONFIG_PATH_MAX - 16, r->in->config.state);
    if (s == STATUS_OK)
        s = file_lock(&r->lock, path, err);
    if (s == STATUS_OK)
        s = books_open(&r->books, r->in, err);
    if (s == STATUS_OK) /* the ledger has read it from end to end */
        s = values_settle(&r->in->train.values, err);
    if (s == STATUS_OK)
        s = values_settle(&r->in->test.values, err);
    if (s == STATUS_OK)
        s = guesses_open(&r->guesses, r->in->config.state, &r->in->key, true, err);
    /* A run that is not complete stays as it is while its models before it predict. */
    if (s == STATUS_OK && !is_short(r) && !stands(r))
        s = party_checkpoint_load(r->in, r->folder, &r->saved, err);
    if (s == STATUS_OK && !is_short(r) && !stands(r))
        s = party_checkpoint_load_before(r->in, r->folder, &r->saved_before, err);
    /* Of a run that one goes on with the mark is true; else it is of an older one. */
    if (s == STATUS_OK && !is_short(r) && !stands(r) && r->saved.len == 0)
        s = runs_unmark(r->folder, err);
    r->paid = is_short(r) || stands(r) || runs_is_paid(r->folder);
    holdings_init(&r->holdings, &r->in->config, r->folder);
    if (s == STATUS_OK)
        s = begin_session(r, err);
    if (s == STATUS_OK && !is_short(r) && !stands(r) && !party_session_report(r->session)->shared)
        s = holdings_remove(&r->holdings, err); /* of a run that this one does not go on with */
    if (s != STATUS_OK)
        return s;
    r->delay_mean_s = inject_mean_s(&r->in->config.inject, r->in->self, r->in->roster.n);
    s = rng_init_system(&r->chance);
    if (s == STATUS_OK)
        s = party_results_init(&r->results, r->in, r->options, r->folder, clock_us());
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

/* Why the job went as it did, on this side: a program that failed has changed nothing that others
 * see, and is told now. */
static struct error why_ended(const struct party_run *r)
{
    struct error why = r->error;

    if (why.status == STATUS_OK)
        why.status = program_tell(r->in->bottom.program, &why);
    return why;
}

/* Nothing of it is gone on with: each row is predicted once and charged, and an alignment begins
 * again. */
static enum status end_short(struct party_run *r, struct error *err)
{
    const struct error why = why_ended(r);
    const struct party_ending end = {wire_outcome_name(r->outcome), &why, clock_us()};
    struct error unwritten = {0};
    enum status s;

    spans_stop(party_session_spans(r->session), end.now_us);
    s = party_results_end(&r->results, r->session, &r->books, &end, &unwritten);
    *err = s != STATUS_OK ? unwritten : why;
    return err->status;
}

/* Is what this party has its part of a model that the others have, too? */
static bool is_of_the_run(const struct party_run *r, bool needed)
{
    const struct party_progress *p = &party_session_report(r->session)->progress;

    return p->has_part && (p->left_out || (p->final && (!needed || stands(r))));
}

/* A standing party may be stopped when its model is final and before the server has said that the
 * run is over: that model is in use, and the run may yet go on with it.  Who was left out has the
 * model of fewer steps, however many the server says: it is there for those who name the run, and
 * not what this party answers with from now on. */
static enum status keep_model(struct party_run *r, bool needed, struct error *err)
{
    const struct party_report *rep = party_session_report(r->session);

    r->kept.over = rep->progress.left_out || !needed;
    r->kept.use = rep->progress.final;
    return party_results_package(&r->results, r->session, &r->kept, err);
}

static enum status end_training(struct party_run *r, struct error *err)
{
    const struct party_report *rep = party_session_report(r->session);
    const struct error why = why_ended(r);
    struct party_ending end = {wire_outcome_name(r->outcome), &why, clock_us()};
    const bool needed = party_checkpoint_needed(rep, r->outcome);
    struct error unwritten = {0};
    enum status s = STATUS_OK, written;

    spans_stop(party_session_spans(r->session), end.now_us);
    program_round(r->in->bottom.program); /* nobody waits any more */
    if (needed) /* first of all: nothing else may keep the run from going on */
        s = party_checkpoint_save(r->in, r->folder, r->session, err);
    written = party_results_end(&r->results, r->session, &r->books, &end, &unwritten);
    if (is_of_the_run(r, needed) && written == STATUS_OK)
        written = keep_model(r, needed, &unwritten);
    if (rep->progress.final && !rep->progress.has_part)
        log_warn("nothing shows that this party has paid for a round of this run: it keeps no "
                 "model of it");
    /* The next run's folder is the same; and what is gone on with ends here once more. */
    if (!needed && !stands(r) && written == STATUS_OK)
        written = runs_unmark(r->folder, &unwritten);
    if (!needed && written == STATUS_OK)
        written = party_checkpoint_remove(r->in, r->folder, &unwritten);
    if ((!needed || !rep->shared) && written == STATUS_OK)
        written = holdings_remove(&r->holdings, &unwritten);
    if (s == STATUS_OK)
        *err = written != STATUS_OK ? unwritten : why;
    return err->status;
}

enum status party_run_end(struct party_run *r, struct error *err)
{
    if (r->results.predicts || r->results.aligns)
        return end_short(r, err);
    return end_training(r, err);
}

void party_run_final(struct party_run *r)
{
    const struct party_progress *p = &party_session_report(r->session)->progress;
    struct error err = {0};

    /* Else its process ends with the run, and the next one goes on to that end. */
    if (!stands(r) || !p->final || !p->has_part)
        return;
    r->kept.over = r->kept.use = false;
    if (party_results_package(&r->results, r->session, &r->kept, &err) != STATUS_OK)
        log_error("%s", err.text); /* at the end it is tried again */
}

void party_run_trains_on(struct party_run *r)
{
    const struct party_report *rep = party_session_report(r->session);
    struct error err = {0};

    if (r->kept.run[0] == 0 || rep->progress.final || rep->trail == NULL ||
        memcmp(rep->trail, r->kept.trail, sizeof r->kept.trail) != 0)
        return;
    if (models_withdraw(r->in->config.state, r->kept.run, &err) != STATUS_OK)
        log_error("%s", err.text);
    r->kept.run[0] = 0;
}

/* Of a job that has not begun here there is nothing to keep. */
static bool leaves_files(struct party_run *r)
{
    const struct party_report *rep = party_session_report(r->session);

    return !rep->unmet &&
           (rep->progress.begun || rep->progress.rounds > 0 || rep->progress.lacking);
}

/* What it kept before it said anything was for its next start.  The folder stays where an earlier
 * playing has left something. */
static void forget_files(struct party_run *r)
{
    struct error err = {0};

    if (party_checkpoint_remove(r->in, r->folder, &err) != STATUS_OK ||
        holdings_remove(&r->holdings, &err) != STATUS_OK ||
        (r->marked && runs_unmark(r->folder, &err) != STATUS_OK))
        log_warn("run %s: %s", runs_name(r->folder), err.text);
    rmdir(r->folder);
}

void party_run_job_ended(struct party_run *r)
{
    const char *name = runs_name(r->folder);
    struct error err = r->error, kept = {0};
    enum status s = STATUS_OK;

    if (!r->playing)
        return;
    r->playing = false;
    if (!leaves_files(r)) {
        if (r->fresh)
            forget_files(r);
    } else {
        s = folder_make(r->folder, &err);
        if (s == STATUS_OK)
            s = party_run_end(r, &err);
        if (!r->paid && runs_keep_few_unpaid(r->in->config.state, r->folder, &kept) != STATUS_OK)
            log_warn("run %s: %s", name, kept.text);
    }
    if (err.status != STATUS_OK || s != STATUS_OK)
        log_error("run %s: %s: %s", name, wire_outcome_name(r->outcome), err.text);
    else
        log_info("run %s: %s", name, wire_outcome_name(r->outcome));
    roll_close(&r->roll);
    if (r->in->bottom.program != NULL) /* and the next one's process may begin to start */
        program_end(r->in->bottom.program, program_job(r->in->bottom.program));
}

void party_run_deinit(struct party_run *r)
{
    party_session_free(r->session);
    asked_deinit(&r->asked);
    holdings_deinit(&r->holdings);
    books_close(&r->books);
    roll_close(&r->roll);
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
    enum status s = stands(r) ? folder_make(r->folder, err) : STATUS_OK;

    return s == STATUS_OK ? party_checkpoint_write(r->in, r->folder, kept, err) : s;
}

enum status party_run_charge(struct party_run *r, const struct action_charge *c, struct error *err)
{
    struct books *b = c->predicts && stands(r) ? &r->asked.books : &r->books;
    enum status s = STATUS_OK;

    books_judge(b, &party_session_report(r->session)->plan);
    if (!r->paid && !c->give_back) {
        s = runs_mark_paid(r->folder, err);
        r->paid = r->marked = s == STATUS_OK;
    }
    return s == STATUS_OK ? books_charge(b, c, err) : s;
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
