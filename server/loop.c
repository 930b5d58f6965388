/* loop.c -- the server's session under a reactor: what it does for the session, and what it tells
 * it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/reactor/reactor.h"
#include "common/wire/purpose.h"
#include "server/connections.h"
#include "server/run.h"

enum { TICK_MS = 500 }; /* progress line, late joins */

struct loop {
    struct server_run run;
    struct reactor reactor;
    struct connections connections;
    uv_timer_t tick;
};

/* --- what the session asks for --- */

static enum status send_message(struct loop *l, const struct action *a)
{
    struct spans *spans = server_session_spans(l->run.session);
    const uint64_t start = clock_us();
    const struct wire_broadcast *b = &a->msg.broadcast;
    enum status s = connections_send(&l->connections, a);

    if (s != STATUS_OK)
        return s;
    spans_add(spans, SPAN_SERIALISE, clock_us() - start);
    if (a->msg.kind != WIRE_BROADCAST || !b->opens)
        return STATUS_OK;
    spans_phase(spans, (enum traffic_phase)purpose_of(b->purpose)->phase, start);
    if (purpose_of(b->purpose)->trains)
        server_results_round(&l->run.results, (uint32_t)a->to_n,
                             agenda_batch_rows(&server_session_report(l->run.session)->agenda,
                                               &l->run.in->config.plan, b->place),
                             server_session_terms(l->run.session), start);
    return STATUS_OK;
}

static void report(struct loop *l)
{
    const struct server_report *rep = server_session_report(l->run.session);
    struct spans *spans = server_session_spans(l->run.session);
    struct error err = {0};
    uint64_t now = clock_us();

    spans_phase(spans, spans->phase, now); /* brings the seconds up to date */
    if (server_results_evaluation(&l->run.results, rep, spans_phase_s(spans, TRAFFIC_TRAIN), now,
                                  &err) != STATUS_OK)
        log_error("%s", err.text);
    server_results_progress(&l->run.results, rep, now, true);
}

static void close_everything(struct loop *l)
{
    connections_close(&l->connections);
    uv_close((uv_handle_t *)&l->tick, NULL);
    reactor_close(&l->reactor);
}

static void finish(struct loop *l, const struct action *a)
{
    spans_stop(server_session_spans(l->run.session), clock_us());
    l->run.outcome = a->outcome;
    l->run.error = a->error;
    close_everything(l);
}

static enum status act(void *owner, const struct action *a)
{
    struct loop *l = owner;

    switch (a->kind) {
    case ACTION_SEND: return send_message(l, a);
    case ACTION_DROP: connections_drop(&l->connections, a); break;
    case ACTION_REPORT: report(l); break;
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
    l->tick.data = l;
    uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
}

enum status server_loop_run(const struct server_inputs *in, const struct server_options *o,
                            struct error *err)
{
    struct loop *l = mem_alloc(1, sizeof *l);
    enum status s;

    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    l->run.in = in;
    l->run.options = o;
    init(l);
    s = folder_make(in->config.state, err);
    if (s == STATUS_OK)
        s = server_run_begin(&l->run, err);
    if (s == STATUS_OK)
        s = connections_open(&l->connections, &l->reactor.uv, err);
    if (s == STATUS_OK) {
        spans_phase(server_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
        driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_START});
    } else {
        close_everything(l);
    }
    reactor_run(&l->reactor);
    if (s == STATUS_OK)
        s = server_run_end(&l->run, err);
    server_run_deinit(&l->run);
    connections_deinit(&l->connections);
    mem_free(l);
    return s;
}
