/* loop.c -- a party's session under a reactor: what it does for the session, and what it tells it.
 *
 * Long work and every commit of the ledger that the session waits for run on a thread of the pool,
 * and the connection is paused meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/reactor/reactor.h"
#include "party/connection.h"
#include "party/run.h"

struct loop {
    struct party_run run;
    struct reactor reactor;
    struct connection connection;
    struct error gone; /* one that stands: why it may not, as the roster is */
};

static bool stands(const struct loop *l)
{
    return l->run.in->config.stand;
}

/* --- what the session asks for --- */

/* At the end of the run: nobody waits for an answer. */
static void give_back(struct loop *l, const struct action_charge *c)
{
    struct error err = {0};

    if (party_run_charge(&l->run, c, &err) != STATUS_OK)
        log_warn("%s", err.text);
}

static void close_everything(struct loop *l)
{
    connection_close(&l->connection);
    reactor_close(&l->reactor);
}

static void finish(struct loop *l, const struct action *a)
{
    l->run.outcome = a->outcome;
    l->run.error = a->error;
    if (stands(l)) /* before the next offer, which may be here already */
        party_run_job_ended(&l->run);
    if (driver_over(&l->reactor.driver))
        close_everything(l);
}

static enum status send_message(struct loop *l, const struct action *a)
{
    if (a->msg.kind == WIRE_KEPT && a->msg.kept.final)
        party_run_final(&l->run);
    else
        party_run_trains_on(&l->run);
    return connection_send(&l->connection, a);
}

static enum status act(void *owner, const struct action *a)
{
    struct loop *l = owner;

    switch (a->kind) {
    case ACTION_SEND: return send_message(l, a);
    case ACTION_CHARGE: give_back(l, &a->charge); break;
    case ACTION_FINISH: finish(l, a); break;
    case ACTION_LEAVE: connection_leave(&l->connection, a->after_ms); break;
    case ACTION_DROP:
    case ACTION_REPORT:
    case ACTION_ARM:
    case ACTION_DISARM:
    case ACTION_KEEP:
    case ACTION_APPEND:
    case ACTION_TURN:
    case ACTION_RECALL:
    case ACTION_FORGET:
    case ACTION_WORK: CHECK(!"a party drops nobody and has no journal; the reactor does the rest");
    }
    return STATUS_OK;
}

static void step(void *owner, const struct event *e, struct actions *out)
{
    party_session_step(((struct loop *)owner)->run.session, clock_us(), e, out);
}

static void work(void *owner, const struct action *a, struct error *result)
{
    struct loop *l = owner;

    if (a->kind == ACTION_WORK) {
        party_session_work(l->run.session);
        return;
    }
    result->status = party_run_charge(&l->run, &a->charge, result);
}

static void keep(void *owner, const struct wire_bytes *kept, struct error *result)
{
    result->status = party_run_keep(&((struct loop *)owner)->run, kept, result);
}

static void interrupt(void *owner)
{
    party_session_interrupt(((struct loop *)owner)->run.session);
}

/* --- what it is told --- */

static void pause_reading(void *owner, bool on)
{
    connection_pause(&((struct loop *)owner)->connection, on);
}

static void reload(void *owner)
{
    struct loop *l = owner;
    struct error err = {0};
    bool changed;
    enum status s;

    connection_reload(&l->connection);
    s = party_inputs_roster(l->run.in, &changed, &err);
    if (s == STATUS_POLICY && stands(l)) {
        l->gone = err; /* another process begins with the roster as it is now */
        driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_STOP});
    } else if (s == STATUS_POLICY) {
        connection_end_run(&l->connection, &err);
    }
    if (s != STATUS_OK && s != STATUS_POLICY)
        log_error("reload: %s", err.text);
    else if (s == STATUS_OK && changed)
        log_warn("reload: the roster is another one: this run goes on with the one it began with");
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
        .interrupt = interrupt,
    };

    l->run.lock = -1;
    l->connection.run = &l->run;
    l->connection.driver = &l->reactor.driver;
    reactor_init(&l->reactor, &calls, l);
    connection_init(&l->connection, &l->reactor.uv);
}

enum status party_loop_run(const struct party_inputs *in, const struct party_options *o,
                           struct error *err)
{
    struct loop *l = mem_alloc(1, sizeof *l);
    enum status s;

    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    l->run.in = in;
    l->run.options = o;
    init(l);
    s = connection_load_tls(&l->connection, err);
    if (s == STATUS_OK)
        s = party_run_begin(&l->run, err);
    if (s == STATUS_OK)
        s = connection_begin(&l->connection, err);
    if (s == STATUS_OK) {
        spans_phase(party_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
        if (stands(l))
            driver_stand(&l->reactor.driver);
        driver_tell(&l->reactor.driver, &(struct event){.kind = EVENT_START});
        connection_dial(&l->connection);
    } else {
        close_everything(l);
    }
    reactor_run(&l->reactor);
    if (s == STATUS_OK && !stands(l))
        s = party_run_end(&l->run, err);
    if (s == STATUS_OK && stands(l)) {
        *err = l->gone;
        s = err->status;
    }
    party_run_deinit(&l->run);
    connection_deinit(&l->connection);
    mem_free(l);
    return s;
}
