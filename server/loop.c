/* loop.c -- the server's session under a reactor: what it does for the session, and what it tells
 * it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/folder.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/reactor/reactor.h"
#include "server/connections.h"
#include "server/control.h"
#include "server/run.h"
#include "server/stand.h"

#include <stdio.h>

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
};

static bool stands(const struct loop *l)
{
    return l->run.in->config.stand;
}

static void on_next(uv_timer_t *t);

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
    connections_close(&l->connections);
    http_close(l->http);
    l->http = NULL;
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
    connections_reload(&((struct loop *)owner)->connections);
}

static void on_tick(uv_timer_t *t)
{
    struct loop *l = t->data;
    uint64_t now = clock_us();

    connections_tick(&l->connections, now);
    if (!driver_works(&l->reactor.driver) && l->run.options->progress)
        server_results_progress(&l->run.results, server_session_report(l->run.session), now, false);
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
    if (stand_next(&l->stand))
        CHECK(uv_queue_work(&l->reactor.uv, &l->load, load, loaded) == 0);
    else if (l->stand.stage == STAND_IDLE && queue_first(&l->stand.queue) != NULL)
        uv_timer_start(t, on_next, AGAIN_MS, 0); /* a queue that could not be written */
}

static void submitted(void *owner)
{
    look_for_jobs(owner);
}

static void cancelled(void *owner)
{
    driver_tell(&((struct loop *)owner)->reactor.driver, &(struct event){.kind = EVENT_CANCEL});
}

static enum status open_control(struct loop *l, struct error *err)
{
    char path[CONFIG_PATH_MAX], token[HTTP_TOKEN_MAX];
    const struct http_setup setup = {
        .path = path, .token = token, .answer = control_answer, .owner = &l->control};
    enum status s = control_token(token, l->run.in->home, err);

    l->control = (struct control){&l->stand, submitted, cancelled, l};
    snprintf(path, sizeof path, "%.*s/control", CONFIG_PATH_MAX - 16, l->run.in->home);
    if (s == STATUS_OK)
        s = http_open(&l->http, &l->reactor.uv, &setup, err);
    secret_wipe(token, sizeof token);
    return s;
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
    l->tick.data = l->next.data = l->load.data = l;
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
    return s == STATUS_OK && stands(l) ? open_control(l, err) : s;
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
