/* serve.c -- requests, the turn of a model, and the open job.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/serve.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/daemon/models.h"
#include "common/nn/head.h"
#include "server/serve/figures.h"
#include "server/serve/words.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t now_of(const struct serve *s)
{
    return s->calls.clock_us();
}

static const struct config_server *config_of(const struct serve *s)
{
    return &s->whole->config;
}

/* --- what calls are told --- */

static void print(struct serve *s, const struct waiting_call *c, struct http_answer *out)
{
    out->status = words_status(c);
    out->retry_s = out->status == 503 ? 1 : 0;
    if (out->status == 429)
        out->retry_s = (unsigned)((s->client[c->client].day_until_us - now_of(s)) / 1000000 + 1);
    if (words_print(&out->body, c, &s->whole->roster) != STATUS_OK) {
        out->body.len = 0;
        out->status = 500;
    }
}

static void count(struct serve *s, const struct waiting_call *c, unsigned status)
{
    s->counts.calls++;
    s->counts.late += status == 504;
    s->counts.failed += status == 503;
    for (uint32_t i = 0; i < c->n; i++)
        s->counts.rows += c->row[i].fault == FAULT_NONE;
    latency_add(&s->latency, now_of(s) - c->came_us);
}

static void over(void *owner, struct waiting_call *c)
{
    struct serve *s = owner;
    struct http_answer a = {.status = 200, .type = "application/json"};

    buf_init(&a.body, HTTP_ANSWER_MAX);
    print(s, c, &a);
    count(s, c, a.status);
    http_reply(c->owner, &a);
    buf_deinit(&a.body);
}

static const float *kept(void *owner, const char *id, size_t n)
{
    return kept_find(&((struct serve *)owner)->kept, id, n);
}

static void scored(void *owner, const char *id, size_t n, const float *scores, const bool *missing)
{
    struct serve *s = owner;

    if (s->write_us == 0)
        s->write_us = now_of(s) + SERVE_WRITE_MS * 1000;
    kept_add(&s->kept, id, n, scores, missing);
}

/* Parties count ids that they do not have, and which these were nobody here learns: so what a
 * client may ask of them is counted, whatever they have. */
static bool may_ask(void *owner, size_t client)
{
    struct serve *s = owner;
    struct serve_client *c = &s->client[client];
    const uint64_t most = config_of(s)->serve.client_rows_day, now = now_of(s);

    if (most == 0 || client == TOKENS_OPERATOR)
        return true;
    if (now >= c->day_until_us) {
        c->day_until_us = now + 1000000ull * SERVE_DAY_S;
        c->day_rows = 0;
    }
    if (c->day_rows >= most)
        return false;
    c->day_rows++;
    return true;
}

/* --- requests --- */

/* Of a path that begins with it: the run's name ends where `behind` begins, and that is all. */
static bool run_of(char run[PACKAGE_RUN_MAX + 1], const char *path, const char *behind)
{
    const char *name = path + strlen(SERVE_MODELS "/");
    const size_t n = strcspn(name, "/");

    if (n > PACKAGE_RUN_MAX || strcmp(name + n, behind) != 0)
        return false;
    snprintf(run, PACKAGE_RUN_MAX + 1, "%.*s", (int)n, name);
    return n > 0;
}

/* Is there such a model?  One that was removed, or put out of use, is not asked from now on. */
static bool find_run(const struct serve *s, char run[PACKAGE_RUN_MAX + 1])
{
    char path[CONFIG_PATH_MAX];
    struct error err = {0};
    struct stat is;

    if (models_asked(run)[0] == 0 && models_served(s->whole->home, run, &err) != STATUS_OK)
        return false;
    if (run[0] == 0 || !models_name(run))
        return false;
    snprintf(path, sizeof path, "%.*s/models/%s/model.safetensors", CONFIG_PATH_MAX - 96,
             s->whole->home, run);
    return lstat(path, &is) == 0;
}

/* May its rows be looked at now, or only once a thread has read what is kept? */
static bool is_ready(const struct serve *s, const char *run)
{
    if (s->turning || strcmp(s->run, run) != 0 || (s->kept.syncing && s->kept.reads))
        return false;
    return s->kept.syncing || !kept_changed(&s->kept);
}

static void note_call(struct serve *s, size_t client, uint32_t rows)
{
    s->client[client].calls++;
    s->client[client].rows += rows;
}

/* NULL: refused. */
static struct waiting_call *read_call(struct serve *s, const struct http_request *r,
                                      const char *run, struct http_answer *out)
{
    struct error err = {0};
    struct words_asked asked;
    const enum status st = words_read(&asked, r->body, r->n, config_of(s)->serve.deadline_ms, &err);
    struct waiting_call *c = asked.call;

    if (st != STATUS_OK) {
        words_refuse(out, st == STATUS_DATA ? 400 : 500, err.text);
        return NULL;
    }
    if (!waiting_has_room(&s->waiting, r->client, c->n)) {
        s->counts.refused++;
        waiting_call_free(c);
        words_refuse(out, 429, "too many rows wait");
        return NULL;
    }
    c->owner = r->later;
    c->client = r->client;
    c->came_us = now_of(s);
    c->until_us = c->came_us + 1000ull * asked.deadline_ms;
    snprintf(c->run, sizeof c->run, "%s", run);
    return c;
}

static bool predict(struct serve *s, const struct http_request *r, const char *run,
                    struct http_answer *out)
{
    struct waiting_call *c;

    if (s->stopping) {
        words_refuse(out, 503, "the server stops");
        return true;
    }
    if (r->n > HTTP_PORT_BODY_MAX) { /* over the socket, where a job's text may be longer */
        words_refuse(out, 413, "the request is too long");
        return true;
    }
    c = read_call(s, r, run, out);
    if (c == NULL)
        return true;
    note_call(s, r->client, c->n);
    if (waiting_add(&s->waiting, c, is_ready(s, run), s->kind)) {
        print(s, c, out);
        count(s, c, out->status);
        s->counts.kept++;
        waiting_call_free(c);
        return true;
    }
    s->calls.wake(s->calls.owner);
    return false;
}

bool serve_is_its(const char *path)
{
    return strcmp(path, SERVE_STATS) == 0 || strcmp(path, SERVE_MODELS) == 0 ||
           strncmp(path, SERVE_MODELS "/", strlen(SERVE_MODELS "/")) == 0;
}

bool serve_answer(void *serve, const struct http_request *r, struct http_answer *out)
{
    struct serve *s = serve;
    char run[PACKAGE_RUN_MAX + 1];
    const bool gets = strcmp(r->method, "GET") == 0, posts = strcmp(r->method, "POST") == 0,
               of_models = strncmp(r->path, SERVE_MODELS "/", strlen(SERVE_MODELS "/")) == 0;

    if (gets && strcmp(r->path, SERVE_STATS) == 0)
        figures_stats(s, out);
    else if (gets && strcmp(r->path, SERVE_MODELS) == 0)
        figures_models(s, out);
    else if (gets && of_models && run_of(run, r->path, "") && find_run(s, run))
        figures_model(s, run, out);
    else if (posts && of_models && run_of(run, r->path, "/predict") && find_run(s, run))
        return predict(s, r, run, out);
    else
        words_refuse(out, 404, "there is nothing of that name");
    return true;
}

/* --- what a thread reads and writes --- */

/* Who has waited for longest has the turn, unless a job is open. */
static bool turns(const struct serve *s)
{
    const char *run = waiting_for(&s->waiting);

    return run != NULL && !s->opened && strcmp(run, s->run) != 0;
}

bool serve_due(const struct serve *s)
{
    if (s->kept.syncing || s->turning || now_of(s) < s->retry_us)
        return false;
    if (turns(s))
        return true;
    return kept_due(&s->kept) &&
           (s->kept.lines.len == 0 || s->stopping || !s->opened || now_of(s) >= s->write_us);
}

void serve_sync_begin(struct serve *s)
{
    s->write_us = 0;
    s->found = (struct error){0};
    /* What was added for the model before goes to the disk first. */
    s->turning = turns(s) && s->kept.lines.len == 0;
    if (s->turning) {
        waiting_turn(&s->waiting);
        snprintf(s->run, sizeof s->run, "%s", waiting_for(&s->waiting));
        kept_turn(&s->kept, s->run, 0);
    }
    kept_sync_begin(&s->kept);
}

static enum status read_model(struct serve *s)
{
    struct package p;
    struct nn_head head;
    enum status st;

    package_init(&p);
    st = models_load(s->whole->home, s->run, &p, &s->found);
    if (st == STATUS_OK && p.role != PACKAGE_HEAD)
        st = error_set(&s->found, STATUS_CONFIG, "run %s has a bottom", s->run);
    if (st == STATUS_OK) {
        nn_head_shape(&head, &p.plan);
        s->reads = (struct waiting_kind){head.loss, head.outputs};
        s->kept.key.outputs = head.outputs;
    }
    package_deinit(&p);
    return st;
}

void serve_sync_work(struct serve *s)
{
    if (s->turning && read_model(s) != STATUS_OK)
        return;
    kept_sync_work(&s->kept);
}

/* Somebody may have the file for as long as a job takes, or it is none: whoever tried again at once
 * would do nothing else, and begin no job.  It is said once. */
static void pause_after(struct serve *s, enum status synced, const struct error *why)
{
    if (synced != STATUS_OK)
        s->retry_us = now_of(s) + SERVE_PAUSE_MS * 1000;
    if (synced != STATUS_OK && !s->complained)
        log_error("kept answers: %s", why->text);
    s->complained = synced != STATUS_OK;
}

void serve_sync_end(struct serve *s)
{
    struct error err = {0};
    const bool turned = s->turning;
    const enum status st = kept_sync_end(&s->kept, &err);

    s->turning = false;
    if (turned && s->found.status != STATUS_OK) {
        log_error("predictions: %s", s->found.text);
        waiting_fail(&s->waiting, s->run, FAULT_FAILED);
        s->run[0] = 0;
        return;
    }
    if (turned)
        s->kind = s->reads;
    pause_after(s, st, &err);
    /* Nobody else would have a turn while they wait for their time to be over. */
    if (st != STATUS_OK && st != STATUS_CONFIG && !s->opened && kept_changed(&s->kept))
        waiting_fail(&s->waiting, s->run, FAULT_FAILED);
    if (!kept_changed(&s->kept))
        waiting_place(&s->waiting, s->run, s->kind);
    if (s->kept.lines.len > 0 && s->write_us == 0)
        s->write_us = now_of(s) + SERVE_WRITE_MS * 1000;
}

/* --- time --- */

static void note_clients(struct serve *s)
{
    for (size_t i = 0; i < s->tokens.n; i++) {
        struct serve_client *c = &s->client[i];

        if (c->calls == c->calls_noted)
            continue;
        log_info("client %s has asked for %llu rows in %llu requests", s->tokens.name[i],
                 (unsigned long long)(c->rows - c->rows_noted),
                 (unsigned long long)(c->calls - c->calls_noted));
        c->calls_noted = c->calls;
        c->rows_noted = c->rows;
    }
}

void serve_tick(struct serve *s, bool together)
{
    const uint64_t now = now_of(s);

    waiting_expire(&s->waiting, now, together || s->turning ? FAULT_LATE : FAULT_AWAY);
    if (now >= s->noted_us) {
        note_clients(s);
        s->noted_us = now + SERVE_LOG_MS * 1000;
    }
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return b > 0 && b < a ? b : a;
}

/* 0: none is to come. */
static uint64_t sync_next(const struct serve *s)
{
    if (s->retry_us > now_of(s))
        return s->retry_us;
    return s->kept.lines.len > 0 ? s->write_us : 0;
}

uint64_t serve_next(const struct serve *s)
{
    uint64_t next = sooner(s->noted_us, waiting_until(&s->waiting));

    if (!s->kept.syncing)
        next = sooner(next, sync_next(s));
    return s->paused_until_us > now_of(s) ? sooner(next, s->paused_until_us) : next;
}

void serve_stop(struct serve *s)
{
    s->stopping = true;
    waiting_fail(&s->waiting, NULL, FAULT_STOPPED);
    note_clients(s);
}

/* --- the open job --- */

bool serve_wants(const struct serve *s)
{
    return !s->stopping && !s->turning && !s->opened && now_of(s) >= s->paused_until_us &&
           waiting_any(&s->waiting);
}

void serve_opens(struct serve *s)
{
    s->opened = true;
    s->counts.jobs++;
    waiting_begins(&s->waiting);
}

/* It plays one round at least, while somebody waits for that. */
static bool closes(void *owner)
{
    const struct serve *s = owner;

    if (s->waiting.lots == 0 && waiting_any(&s->waiting))
        return s->stopping;
    return s->stopping || s->calls.others(s->calls.owner) || waiting_other(&s->waiting, s->run);
}

static uint32_t take(void *owner, uint32_t most, struct wire_bytes *ids)
{
    return waiting_take(&((struct serve *)owner)->waiting, most, ids);
}

static bool again(void *owner)
{
    return waiting_again(&((struct serve *)owner)->waiting);
}

static void take_scores(void *owner, const float *scores, const bool *missing)
{
    waiting_scored(&((struct serve *)owner)->waiting, scores, missing);
}

void serve_question(struct serve *s, struct server_question *q)
{
    const uint32_t idle_ms = config_of(s)->serve.idle_ms,
                   most = (q->model->plan.protocol.patience_ms + 1) / 2;

    q->rows = s->rows;
    q->idle_ms = idle_ms < most ? idle_ms : most; /* nobody's patience is over before */
    q->feed = (struct server_feed){s, take, again, take_scores, closes};
}

/* A party's policy takes fewer rows at once than were offered, or fewer are left of its day, which
 * it alone knows: the next offer is of an eighth of them, while requests wait.  One that is taken
 * makes the next one larger again. */
static bool offers_less(struct serve *s, bool failed, const struct error *why)
{
    const uint32_t most = config_of(s)->serve.rows;
    const bool unbegun = s->waiting.lots == 0;

    if (failed && unbegun && why->status == STATUS_POLICY && s->rows > 1) {
        s->rows = (s->rows + SERVE_STEP - 1) / SERVE_STEP;
        log_info("the next open job is of %u rows at most", s->rows);
        return true;
    }
    if (!unbegun)
        s->rows = s->rows < most / SERVE_STEP ? s->rows * SERVE_STEP : most;
    return false;
}

void serve_ended(struct serve *s, enum wire_outcome outcome, const struct error *why)
{
    const bool failed = outcome == OUTCOME_FAILED || outcome == OUTCOME_BUDGET,
               refused = failed && why->status == STATUS_DATA && s->waiting.lot_n > 0,
               away = why->status == STATUS_PATIENCE || status_kind(why->status) == STATUS_KIND_NET;

    s->opened = false;
    waiting_ends(&s->waiting, refused);
    if (offers_less(s, failed, why) || !failed || refused)
        return;
    waiting_fail(&s->waiting, s->run, away ? FAULT_AWAY : FAULT_FAILED);
    s->paused_until_us = now_of(s) + SERVE_PAUSE_MS * 1000;
}

/* --- life --- */

enum status serve_open(struct serve *s, const struct server_inputs *whole,
                       const struct serve_calls *calls, struct error *err)
{
    const struct waiting_calls own = {s, kept, may_ask, scored, over};
    const struct config_server *c = &whole->config;
    enum status st = tokens_load(&s->tokens, whole->home, err);

    s->whole = whole;
    s->calls = *calls;
    s->rows = c->serve.rows;
    kept_init(&s->kept, whole->home, c->epoch, whole->roster.n);
    if (st != STATUS_OK)
        return st;
    st = waiting_init(&s->waiting, &own, c->serve.waiting);
    return st == STATUS_OK ? st : error_set(err, st, "no memory for requests");
}

bool serve_reload(struct serve *s)
{
    char before[HTTP_CLIENTS_MAX][TOKENS_NAME_MAX + 1];
    struct error err = {0};
    size_t clients = 0;

    memcpy(before, s->tokens.name, sizeof before);
    if (tokens_again(&s->tokens, s->whole->home, &err) != STATUS_OK) {
        log_error("reload: tokens stay as they were: %s", err.text);
        return false;
    }
    for (size_t i = 0; i < s->tokens.n; i++) {
        clients += s->tokens.token[i][0] != 0;
        if (strcmp(before[i], s->tokens.name[i]) != 0) /* another one has that number now */
            s->client[i] = (struct serve_client){0};
    }
    log_info("tokens read again: %zu clients besides the operator", clients - 1);
    return true;
}

/* What the last thread has left. */
static void write_rest(struct serve *s)
{
    struct error err = {0};

    if (s->kept.lines.len == 0)
        return;
    kept_sync_begin(&s->kept);
    kept_sync_work(&s->kept);
    if (kept_sync_end(&s->kept, &err) != STATUS_OK)
        log_error("kept answers: %s", err.text);
}

void serve_close(struct serve *s)
{
    write_rest(s);
    waiting_deinit(&s->waiting);
    kept_deinit(&s->kept);
    tokens_wipe(&s->tokens);
}
