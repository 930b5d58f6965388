/* loop.c -- the server's session under a reactor: what it does for the session, and what it tells
 * it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/reactor/reactor.h"
#include "server/connections.h"
#include "server/control.h"
#include "server/run.h"
#include "server/stand.h"

#include <stdio.h>
#include <string.h>

enum {
    TICK_MS = 500,  /* progress line, late joins */
    AGAIN_MS = 5000 /* a job that could not be begun */
};

struct loop {
    struct server_run run;
    struct reactor reactor;
    struct connections connections;
    uv_timer_t tick;
    /* Of a server that stands. */
    struct stand stand;
    struct control control;
    struct http *http;
    uv_timer_t next; /* a job, once nobody is in the midst of anything */
    uv_work_t load;
    /* Predictions on request. */
    struct http *port; /* NULL: there is none */
    uv_timer_t serve;
    uv_work_t sync;
    bool syncing;
};

static bool stands(const struct loop *l)
{
    return l->run.in->config.stand;
}

static void on_next(uv_timer_t *t);
static void on_serve(uv_timer_t *t);

/* --- what the session asks for --- */

static enum status send_message(struct loop *l, const struct action *a)
{
    const uint64_t start = clock_us();
    enum status s = connections_send(&l->connections, a);

    if (s == STATUS_OK)
        server_run_sent(&l->run, a, start);
    return s;
}

static void close_everything(struct loop *l)
{
    if (l->stand.run != NULL)
        serve_stop(&l->stand.serve);
    connections_close(&l->connections);
    http_close(l->http);
    http_close(l->port);
    l->http = l->port = NULL;
    uv_close((uv_handle_t *)&l->serve, NULL);
    uv_close((uv_handle_t *)&l->tick, NULL);
    uv_close((uv_handle_t *)&l->next, NULL);
    reactor_close(&l->reactor);
}

/* Not now, but from the loop: whoever calls may be in the midst of a step. */
static void look_for_jobs(struct loop *l)
{
    uv_timer_start(&l->next, on_next, 0, 0);
}

static void finish(struct loop *l, const struct action *a)
{
    spans_stop(server_session_spans(l->run.session), clock_us());
    l->run.outcome = a->outcome;
    l->run.error = a->error;
    if (driver_over(&l->reactor.driver) && stands(l))
        serve_stop(&l->stand.serve);
    if (l->stand.stage == STAND_PLAYS)
        stand_end(&l->stand, driver_over(&l->reactor.driver));
    if (driver_over(&l->reactor.driver))
        close_everything(l);
    else
        look_for_jobs(l);
}

static enum status act(void *owner, const struct action *a)
{
    struct loop *l = owner;

    switch (a->kind) {
    case ACTION_SEND: return send_message(l, a);
    case ACTION_DROP: connections_drop(&l->connections, a); break;
    case ACTION_LEAVE: CHECK(!"a server stays"); break;
    case ACTION_REPORT: server_run_report(&l->run); break;
    case ACTION_FORGET: journal_forget(l->run.journal, a->step); break;
    case ACTION_FINISH: finish(l, a); break;
    case ACTION_CHARGE:
    case ACTION_ARM:
    case ACTION_DISARM:
    case ACTION_KEEP:
    case ACTION_APPEND:
    case ACTION_TURN:
    case ACTION_RECALL:
    case ACTION_WORK: CHECK(!"the server keeps no ledger, and the reactor does the others");
    }
    return STATUS_OK;
}

static void step(void *owner, const struct event *e, struct actions *out)
{
    struct loop *l = owner;

    server_session_step(l->run.session, clock_us(), e, out);
    connections_follow_sizes(&l->connections);
}

static void work(void *owner, const struct action *a, struct error *result)
{
    result->status = server_run_work(&((struct loop *)owner)->run, a, result);
}

static void keep(void *owner, const struct wire_bytes *kept, struct error *result)
{
    result->status = server_run_keep(&((struct loop *)owner)->run, kept, result);
}

/* --- what it is told --- */

static void pause_reading(void *owner, bool on)
{
    connections_pause(&((struct loop *)owner)->connections, on);
}

static void reload(void *owner)
{
    struct loop *l = owner;
    const struct tokens *t = &l->stand.serve.tokens;

    connections_reload(&l->connections);
    if (!stands(l) || l->http == NULL || !serve_reload(&l->stand.serve))
        return;
    http_set_tokens(l->http, (const char(*)[HTTP_TOKEN_MAX])t->token, t->n);
    if (l->port != NULL)
        http_set_tokens(l->port, (const char(*)[HTTP_TOKEN_MAX])t->token, t->n);
}

static void on_tick(uv_timer_t *t)
{
    struct loop *l = t->data;
    uint64_t now = clock_us();

    connections_tick(&l->connections, now);
    if (!driver_works(&l->reactor.driver) && l->run.options->progress)
        server_results_progress(&l->run.results, server_session_report(l->run.session), now, false);
}

/* --- predictions on request --- */

/* The open job is to look around: a call waits, or has gone, or a job of the queue has come. */
static void tell_asked(struct loop *l)
{
    if (l->stand.stage == STAND_PLAYS && l->stand.open)
        driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_ASKED});
}

static void sync_kept(uv_work_t *w)
{
    serve_sync_work(&((struct loop *)w->data)->stand.serve);
}

static void synced(uv_work_t *w, int status)
{
    struct loop *l = w->data;

    (void)status;
    l->syncing = false;
    serve_sync_end(&l->stand.serve);
    if (driver_over(&l->reactor.driver))
        return;
    tell_asked(l);
    look_for_jobs(l);
}

/* What a thread has to do, it does now. */
static void look_after(struct loop *l)
{
    const uint64_t now = clock_us();
    uint64_t next;

    if (!l->syncing && serve_due(&l->stand.serve)) {
        l->syncing = true;
        serve_sync_begin(&l->stand.serve);
        CHECK(uv_queue_work(&l->reactor.uv, &l->sync, sync_kept, synced) == 0);
    }
    next = serve_next(&l->stand.serve);
    uv_timer_start(&l->serve, on_serve, next > now ? (next - now + 999) / 1000 : 0, 0);
}

static void on_serve(uv_timer_t *t)
{
    struct loop *l = t->data;
    const enum phase phase = server_session_report(l->run.session)->presence.phase;

    serve_tick(&l->stand.serve, l->stand.open && phase_plays(phase));
    look_after(l);
    tell_asked(l);
    look_for_jobs(l);
}

static void wake(void *owner)
{
    struct loop *l = owner;

    look_after(l);
    tell_asked(l);
    if (l->stand.stage == STAND_IDLE)
        look_for_jobs(l);
}

static bool others(void *owner)
{
    return queue_first(&((struct loop *)owner)->stand.queue) != NULL;
}

/* --- jobs of a server that stands --- */

static void load(uv_work_t *w)
{
    stand_load(&((struct loop *)w->data)->stand);
}

static void loaded(uv_work_t *w, int status)
{
    struct loop *l = w->data;

    (void)status;
    if (driver_over(&l->reactor.driver)) {
        stand_leave(&l->stand);
        return;
    }
    if (!stand_begin(&l->stand)) {
        look_for_jobs(l);
        return;
    }
    spans_phase(server_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
    driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_START});
}

static void on_next(uv_timer_t *t)
{
    struct loop *l = t->data;

    stand_rest(&l->stand);
    look_after(l);
    if (!l->syncing && stand_next(&l->stand)) /* kept answers are on the disk, and free */
        CHECK(uv_queue_work(&l->reactor.uv, &l->load, load, loaded) == 0);
    else if (l->stand.stage == STAND_IDLE && queue_first(&l->stand.queue) != NULL)
        uv_timer_start(t, on_next, AGAIN_MS, 0); /* a queue that could not be written */
}

static void submitted(void *owner)
{
    look_for_jobs(owner);
    tell_asked(owner);
}

static void cancelled(void *owner)
{
    driver_tell(&((struct loop *)owner)->reactor.driver, &(struct event){.kind = EVENT_CANCEL});
}

/* Port 0 takes a free one: which, whoever asks reads here. */
static enum status open_port(struct loop *l, struct http_setup setup, struct error *err)
{
    const char *address = l->run.in->config.http;
    char path[CONFIG_PATH_MAX], text[CONFIG_PATH_MAX];
    enum status s;

    if (address[0] == 0)
        return STATUS_OK;
    setup.path = NULL;
    setup.address = address;
    setup.answer = serve_answer;
    setup.owner = &l->stand.serve;
    s = http_open(&l->port, &l->reactor.uv, &setup, err);
    if (s != STATUS_OK)
        return error_wrap(err, "http"), s;
    snprintf(path, sizeof path, "%.*s/http", CONFIG_PATH_MAX - 16, l->run.in->home);
    snprintf(text, sizeof text, "%.*s:%u\n", (int)(strrchr(address, ':') - address), address,
             http_port(l->port));
    log_info("requests for predictions: %.*s", (int)strlen(text) - 1, text);
    return file_write_atomic(path, text, strlen(text), 0600, err);
}

static enum status open_http(struct loop *l, struct error *err)
{
    const struct serve_calls calls = {l, wake, others, clock_us};
    struct tokens *t = &l->stand.serve.tokens;
    char path[CONFIG_PATH_MAX];
    struct http_setup setup = {.path = path, .answer = control_answer, .owner = &l->control};
    enum status s = serve_open(&l->stand.serve, l->run.in, &calls, err);

    l->control = (struct control){&l->stand, submitted, cancelled, l};
    snprintf(path, sizeof path, "%.*s/control", CONFIG_PATH_MAX - 16, l->run.in->home);
    setup.tokens = (const char(*)[HTTP_TOKEN_MAX])t->token;
    setup.tokens_n = t->n;
    if (s == STATUS_OK)
        s = http_open(&l->http, &l->reactor.uv, &setup, err);
    return s == STATUS_OK ? open_port(l, setup, err) : s;
}

/* --- life --- */

static void init(struct loop *l)
{
    static const struct reactor_calls calls = {
        .step = step,
        .act = act,
        .work = work,
        .keep = keep,
        .pause = pause_reading,
        .reload = reload,
    };

    l->run.lock = -1;
    l->connections.run = &l->run;
    l->connections.driver = &l->reactor.driver;
    reactor_init(&l->reactor, &calls, l);
    uv_timer_init(&l->reactor.uv, &l->tick);
    uv_timer_init(&l->reactor.uv, &l->next);
    uv_timer_init(&l->reactor.uv, &l->serve);
    l->tick.data = l->next.data = l->load.data = l->serve.data = l->sync.data = l;
    uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
}

static enum status begin(struct loop *l, const struct options *command, struct error *err)
{
    enum status s = folder_make(l->run.in->home, err);

    if (s == STATUS_OK)
        s = server_run_open(&l->run, err);
    if (s == STATUS_OK && !stands(l))
        s = server_run_begin(&l->run, err);
    if (s == STATUS_OK && stands(l))
        s = server_run_stand(&l->run, err);
    if (s == STATUS_OK && stands(l))
        s = stand_open(&l->stand, &l->run, command, err);
    if (s == STATUS_OK)
        s = connections_open(&l->connections, &l->reactor.uv, err);
    return s == STATUS_OK && stands(l) ? open_http(l, err) : s;
}

static void start(struct loop *l)
{
    if (stands(l)) {
        driver_stand(&l->reactor.driver);
        look_for_jobs(l);
        return;
    }
    spans_phase(server_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
    driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_START});
}

enum status server_loop_run(const struct server_inputs *in, const struct server_options *o,
                            const struct options *command, struct error *err)
{
    struct loop *l = mem_alloc(1, sizeof *l);
    enum status s;

    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    l->run.in = in;
    l->run.options = o;
    init(l);
    s = begin(l, command, err);
    if (s == STATUS_OK)
        start(l);
    else
        close_everything(l);
    reactor_run(&l->reactor);
    if (s == STATUS_OK && !in->config.stand) {
        struct error left = {0};

        s = server_run_end(&l->run, err);
        if (server_run_forget(&l->run, &left) != STATUS_OK && s == STATUS_OK) {
            *err = left;
            s = left.status;
        }
    }
    server_run_deinit(&l->run);
    stand_close(&l->stand);
    connections_deinit(&l->connections);
    mem_free(l);
    return s;
}
