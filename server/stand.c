/* stand.c -- from a queue to runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/stand.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/crypto/digest.h"
#include "common/daemon/runs.h"
#include "common/flow/job.h"
#include "server/asked.h"
#include "server/contributed.h"
#include "server/missing.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *home_of(const struct stand *s)
{
    return s->run->whole->home;
}

/* --- how a job ends --- */

/* Nobody waits for it by a number; those who wait for rows are told. */
static void say_open_end(struct stand *s, enum queue_state how, enum wire_outcome outcome,
                         const struct error *why)
{
    if (how == QUEUE_FAILED)
        log_error("predictions on request: failed: %s", why->text);
    serve_ended(&s->serve, outcome, why);
}

/* One line, whatever became of it; false: the queue does not know.  A queue that cannot be written
 * keeps the job as it was: it is played again by the next process. */
static bool say_end(struct stand *s, enum queue_state how, const char *outcome, const char *why)
{
    struct error err = {0};

    if (how == QUEUE_FAILED)
        log_error("job %u: %s: %s", s->job.number, outcome, why);
    else
        log_info("job %u: %s", s->job.number, outcome);
    if (queue_ended(&s->queue, s->job.number, how, outcome, why, &err) == STATUS_OK)
        return true;
    log_error("job %u: %s", s->job.number, err.text);
    return false;
}

static void forget_inputs(struct stand *s)
{
    log_also(NULL);
    if (s->log != NULL)
        fclose(s->log);
    s->log = NULL;
    server_inputs_deinit(&s->in);
    s->in = (struct server_inputs){.predicts = false};
    s->text.len = 0;
    s->cancelled = s->open = false;
    s->stage = STAND_IDLE;
}

/* Who is missing from the answers, as the queue has it. */
static void say_without(struct stand *s)
{
    char names[QUEUE_ABSENT_MAX];

    if (s->job.kind != QUEUE_PREDICT)
        return;
    missing_names(names, sizeof names, &s->in);
    if (names[0] != 0)
        log_info("job %u: answered without %s", s->job.number, names);
    queue_without(&s->queue, s->job.number, names);
}

/* --- from the queue to inputs --- */

static void begin_open(struct stand *s)
{
    s->open = s->opened = true;
    s->job = (struct queue_job){.kind = QUEUE_PREDICT};
    snprintf(s->job.model, sizeof s->job.model, "%s", s->serve.run);
    s->loaded = (struct error){0};
    s->stage = STAND_LOADING;
    serve_opens(&s->serve);
}

bool stand_next(struct stand *s)
{
    const struct queue_job *j = s->stage == STAND_IDLE ? queue_first(&s->queue) : NULL;
    struct error err = {0};

    if (s->stage == STAND_IDLE && serve_wants(&s->serve) && (j == NULL || !s->opened)) {
        begin_open(s);
        return true;
    }
    if (j == NULL)
        return false;
    s->opened = false;
    if (queue_began(&s->queue, j->number, &err) != STATUS_OK) {
        log_error("job %u: %s", j->number, err.text);
        return false;
    }
    s->job = *j;
    s->loaded = (struct error){0};
    s->stage = STAND_LOADING;
    return true;
}

static enum status load_training(struct stand *s, struct error *err)
{
    struct server_errand errand = {
        .options = s->command, .whole = s->run->whole, .seed = s->job.seed};
    enum status st = queue_text(&s->queue, &s->job, &s->text, err);

    errand.plan = (const char *)s->text.data;
    errand.plan_n = s->text.len;
    return st == STATUS_OK ? server_inputs_errand(&s->in, &errand, err) : st;
}

static enum status load_predictions(struct stand *s, struct error *err)
{
    char ids[CONFIG_PATH_MAX];
    const struct contributed_want want = {s->job.orders, s->job.columns, s->job.seed};
    struct stat text;
    struct server_wanted wanted = {.run = s->job.model,
                                   .ids = ids,
                                   .alignment = s->job.alignment[0] != 0 ? s->job.alignment : NULL,
                                   .absent = s->job.absent[0] != 0 ? s->job.absent : NULL,
                                   .by = s->job.by,
                                   .min_parties = s->job.min_parties,
                                   .contributed = s->job.kind == QUEUE_CONTRIBUTE ? &want : NULL};

    queue_text_path(ids, &s->queue, &s->job);
    if (wanted.alignment != NULL && stat(ids, &text) == 0 && text.st_size == 0)
        wanted.ids = NULL; /* all of it */
    return server_asked_errand(&s->in, s->run->whole, &wanted, err);
}

static enum status load_open(struct stand *s, struct error *err)
{
    const enum status st = server_asked_open(&s->in, s->run->whole, s->job.model, err);

    if (st == STATUS_OK)
        serve_question(&s->serve, &s->in.asked);
    return st;
}

static enum status load_alignment(struct stand *s, struct error *err)
{
    struct alignment_order order;
    enum status st = queue_text(&s->queue, &s->job, &s->text, err);

    if (st == STATUS_OK)
        st = alignment_asked(&order, s->text.data, s->text.len, err);
    return st == STATUS_OK ? server_inputs_align_errand(&s->in, s->run->whole, &order, err) : st;
}

void stand_load(struct stand *s)
{
    if (s->open) {
        s->loaded.status = load_open(s, &s->loaded);
        return;
    }
    switch (s->job.kind) {
    case QUEUE_TRAIN: s->loaded.status = load_training(s, &s->loaded); break;
    case QUEUE_PREDICT:
    case QUEUE_CONTRIBUTE: s->loaded.status = load_predictions(s, &s->loaded); break;
    case QUEUE_ALIGN: s->loaded.status = load_alignment(s, &s->loaded); break;
    }
}

/* --- and to a run --- */

/* A run of training has the name that its model gets, on every side; other jobs have their
 * number's. */
static enum status name_run(struct stand *s, char name[PACKAGE_RUN_MAX + 1], struct error *err)
{
    uint8_t digest[DIGEST_BYTES];
    char hex[DIGEST_HEX_CHARS + 1];
    struct buf text;
    enum status st;

    if (s->open) { /* one folder for all of them */
        snprintf(name, PACKAGE_RUN_MAX + 1, "serve");
        return STATUS_OK;
    }
    if (s->job.kind != QUEUE_TRAIN) {
        snprintf(name, PACKAGE_RUN_MAX + 1, "%s-%u", queue_kind_names[s->job.kind], s->job.number);
        return STATUS_OK;
    }
    buf_init(&text, PLAN_TEXT_MAX);
    st = plan_print(&s->in.config.plan, &text);
    if (st == STATUS_OK)
        job_digest(digest, JOB_TRAIN, text.data, text.len);
    buf_deinit(&text);
    if (st != STATUS_OK)
        return error_set(err, st, "%s", status_words(st));
    digest_hex(hex, digest, sizeof digest);
    snprintf(name, PACKAGE_RUN_MAX + 1, "%.16s", hex);
    return STATUS_OK;
}

static enum status enter_folder(struct stand *s, struct error *err)
{
    struct config_server *c = &s->in.config;
    char name[PACKAGE_RUN_MAX + 1];
    enum status st = name_run(s, name, err);

    if (st == STATUS_OK && !s->open)
        st = queue_named(&s->queue, s->job.number, name, err);
    if (st != STATUS_OK)
        return st;
    snprintf(c->state, sizeof c->state, "%.*s/runs/%s", CONFIG_PATH_MAX - 64, home_of(s), name);
    st = runs_room(home_of(s), c->state, err);
    return st == STATUS_OK ? folder_make(c->state, err) : st;
}

/* What is logged while it is played; of one that goes on, since it has. */
static enum status open_log(struct stand *s, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    enum status st;

    snprintf(path, sizeof path, "%.*s/log.txt", CONFIG_PATH_MAX - 16, s->in.config.state);
    st = file_create(&s->log, path, 0600, err);
    if (st != STATUS_OK)
        return st;
    log_also(s->log);
    if (!s->open)
        log_info("job %u: %s", s->job.number, queue_kind_names[s->job.kind]);
    return STATUS_OK;
}

static bool needs_nobody(const struct stand *s)
{
    return s->in.predicts && !s->open && s->in.missing.n == 0;
}

static enum status begin_run(struct stand *s, struct error *err)
{
    struct server_run *r = s->run;
    enum status st = enter_folder(s, err);

    if (st == STATUS_OK)
        st = open_log(s, err);
    if (st != STATUS_OK)
        return st;
    s->options.scores = NULL;
    s->options.latency = s->open ? &s->serve.latency : NULL;
    if (!s->open && (s->job.kind == QUEUE_PREDICT || s->job.kind == QUEUE_CONTRIBUTE)) {
        snprintf(s->scores, sizeof s->scores, "%.*s/%s.csv", CONFIG_PATH_MAX - 32,
                 s->in.config.state, s->job.kind == QUEUE_PREDICT ? "scores" : "answers");
        s->options.scores = s->scores;
    }
    if (needs_nobody(s))
        return server_results_kept(&s->in, &s->options, err);
    r->in = &s->in;
    r->options = &s->options;
    st = server_run_begin(r, err);
    if (st != STATUS_OK)
        server_run_rest(r);
    return st;
}

static void say_unbegun(struct stand *s, const struct error *why)
{
    if (s->open)
        say_open_end(s, QUEUE_FAILED, OUTCOME_FAILED, why);
    else
        (void)say_end(s, QUEUE_FAILED, "failed", why->text);
}

bool stand_begin(struct stand *s)
{
    struct error err = s->loaded;

    CHECK(s->stage == STAND_LOADING);
    if (s->cancelled)
        (void)say_end(s, QUEUE_CANCELLED, "stopped", "");
    else if (err.status != STATUS_OK || begin_run(s, &err) != STATUS_OK)
        say_unbegun(s, &err);
    else if (needs_nobody(s)) {
        say_without(s);
        (void)say_end(s, QUEUE_DONE, "completed", "");
    } else
        s->stage = STAND_PLAYS;
    if (s->stage != STAND_PLAYS)
        forget_inputs(s);
    return s->stage == STAND_PLAYS;
}

static enum queue_state state_of(enum wire_outcome outcome)
{
    switch (outcome) {
    case OUTCOME_COMPLETED:
    case OUTCOME_TARGET: return QUEUE_DONE;
    case OUTCOME_STOPPED: return QUEUE_CANCELLED;
    case OUTCOME_BUDGET:
    case OUTCOME_FAILED: break;
    }
    return QUEUE_FAILED;
}

static void put_back(struct stand *s)
{
    struct error err = {0};

    log_info("job %u: waits for the next process", s->job.number);
    if (queue_waits_again(&s->queue, s->job.number, &err) != STATUS_OK)
        log_error("job %u: %s", s->job.number, err.text);
}

void stand_leave(struct stand *s)
{
    CHECK(s->stage == STAND_LOADING);
    if (!s->open)
        put_back(s);
    forget_inputs(s);
}

void stand_end(struct stand *s, bool stopped)
{
    const enum wire_outcome outcome = s->run->outcome;
    enum queue_state how = state_of(outcome);
    struct error err = {0}, unwritten = {0};
    enum status st;

    CHECK(s->stage == STAND_PLAYS);
    s->stage = STAND_OVER;
    st = server_run_end(s->run, &err);
    if (st != STATUS_OK)
        how = QUEUE_FAILED;
    if (s->open) {
        say_open_end(s, how, outcome, &err);
        return;
    }
    if (stopped && how == QUEUE_CANCELLED && !s->cancelled) {
        put_back(s);
        return;
    }
    if (how == QUEUE_DONE)
        say_without(s);
    /* Only then: a process that finds the job in the queue finds what to go on from as well. */
    if (say_end(s, how, wire_outcome_name(outcome), err.text) &&
        server_run_forget(s->run, &unwritten) != STATUS_OK)
        log_error("job %u: %s", s->job.number, unwritten.text);
}

void stand_rest(struct stand *s)
{
    if (s->stage != STAND_OVER)
        return;
    server_run_rest(s->run);
    forget_inputs(s);
}

enum status stand_cancel(struct stand *s, uint32_t number, bool *running, struct error *err)
{
    const struct queue_job *j = queue_find(&s->queue, number);
    const bool present = s->stage != STAND_IDLE && !s->open && number == s->job.number;

    *running = false;
    if (j == NULL)
        return error_set(err, STATUS_DATA, "there is no job %u", number);
    if (j->state > QUEUE_RUNNING || (present && s->stage == STAND_OVER))
        return error_set(err, STATUS_DATA, "job %u is over", number);
    if (!present) /* it waits, or it is over and that could not be written */
        return queue_ended(&s->queue, number, QUEUE_CANCELLED, "stopped", "", err);
    s->cancelled = true;
    *running = s->stage == STAND_PLAYS;
    return STATUS_OK;
}

/* --- life --- */

enum status stand_open(struct stand *s, struct server_run *run, const struct options *command,
                       struct error *err)
{
    s->run = run;
    s->command = command;
    s->options = *run->options;
    buf_init(&s->text, QUEUE_PLAN_MAX);
    return queue_open(&s->queue, run->whole->home, err);
}

void stand_close(struct stand *s)
{
    queue_close(&s->queue);
    serve_close(&s->serve);
    forget_inputs(s);
    buf_deinit(&s->text);
}
