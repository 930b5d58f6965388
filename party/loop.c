/* loop.c -- libuv to events, actions to libuv, at a party.
 *
 * One connection at a time; when it is lost it is dialled again after a jittered, growing pause.
 * Long work and every commit of the ledger run on a worker thread, and the connection is paused
 * meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/peers.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/options.h"
#include "common/net/net.h"
#include "party/inject.h"
#include "party/policy.h"
#include "party/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    REDIAL_FIRST_MS = 50,
    REDIAL_MAX_MS = 5000,
    INLINE_FLOPS = 10000000, /* about a millisecond: more goes to the worker thread */
};

struct loop {
    struct party_run run;
    uv_loop_t uv;
    uv_timer_t timer, redial, delay;
    uv_signal_t sigterm, sigint, sighup;
    uv_work_t work, keep;
    struct net_tls *tls;
    struct net_conn *conn;
    bool open; /* TLS is up and the server is the roster's */
    uint64_t redial_ms;
    struct actions actions;
    bool working, over, charging; /* working: on the worker thread now; charging: with the ledger */
    bool held_timer, held_stop, held_lost, held_kept; /* events held back meanwhile */
    bool unsent; /* of what the session asked for, for want of memory */
    struct error held_why;
    struct wire_bytes kept; /* a checkpoint on its way, on a thread of its own */
    struct error keep_result;
    struct action_charge charge;
    struct error charged;
    struct wire_unpacker unpacker;
    size_t frame_max;
    struct buf frame, delayed; /* delayed: a frame that inject.delay holds back */
    struct wire_msg delayed_msg;
};

static void tell(struct loop *l, const struct event *e);
static void dial(struct loop *l);
static void plan_redial(struct loop *l);

/* --- sending --- */

static void send_frame(struct loop *l, const struct wire_msg *m, const struct buf *frame)
{
    if (l->open && !l->unsent && net_send(l->conn, frame->data, frame->len) == STATUS_OK)
        party_results_count(&l->run.results, TRAFFIC_UP, m, frame->len, net_conn_traffic(l->conn));
}

static void on_delay(uv_timer_t *t)
{
    struct loop *l = t->data;

    send_frame(l, &l->delayed_msg, &l->delayed);
    l->delayed.len = 0;
}

static void do_send(struct loop *l, const struct action *a)
{
    uint64_t start = clock_us();
    uint64_t wait_ms = party_run_delay_ms(&l->run, &a->msg);
    struct buf *frame = wait_ms > 0 ? &l->delayed : &l->frame;
    enum status s;

    if (l->run.in->config.inject.crash_at_round > 0)
        inject_crash(&l->run.in->config.inject, a->msg.kind,
                     party_session_report(l->run.session)->rounds);
    s = wire_pack(frame, &a->msg);
    CHECK(s == STATUS_OK || s == STATUS_MEMORY); /* what it does not take is a mistake here */
    l->unsent |= s != STATUS_OK;
    if (wait_ms > 0 && !l->unsent) {
        l->delayed_msg = a->msg;
        uv_timer_start(&l->delay, on_delay, wait_ms, 0);
        return;
    }
    send_frame(l, &a->msg, frame);
    spans_add(party_session_spans(l->run.session), SPAN_SERIALISE, clock_us() - start);
}

/* --- work and charges --- */

static void on_timer(uv_timer_t *t)
{
    struct loop *l = t->data;
    struct event e = {.kind = EVENT_TIMER};

    if (l->working)
        l->held_timer = true;
    else
        tell(l, &e);
}

static void on_thread(uv_work_t *w)
{
    struct loop *l = w->data;

    if (l->charging)
        l->charged.status = books_charge(&l->run.books, &l->charge, &l->charged);
    else
        party_session_work(l->run.session);
}

static void tell_kept(struct loop *l)
{
    struct event e = {.kind = EVENT_KEPT, .error = &l->keep_result};

    l->held_kept = l->working;
    if (!l->working)
        tell(l, &e);
}

static void tell_held(struct loop *l)
{
    struct event e = {.kind = EVENT_LOST, .error = &l->held_why};

    if (l->held_lost) {
        l->held_lost = false;
        tell(l, &e);
    }
    if (l->held_kept && !l->working)
        tell_kept(l);
    if (l->working)
        return; /* the rest when that is done */
    if (l->held_stop || l->held_timer) {
        e.kind = l->held_stop ? EVENT_STOP : EVENT_TIMER;
        l->held_stop = l->held_timer = false;
        tell(l, &e);
    }
}

static void after_thread(uv_work_t *w, int status)
{
    struct loop *l = w->data;
    struct event e = {.kind = l->charging ? EVENT_CHARGED : EVENT_DONE, .error = &l->charged};

    (void)status;
    l->working = l->charging = false;
    tell(l, &e);
    if (l->working)
        return;
    tell_held(l);
    if (l->over || l->working)
        return;
    if (l->conn != NULL)
        net_conn_pause(l->conn, false);
    else
        plan_redial(l);
}

static void to_thread(struct loop *l)
{
    l->working = true;
    if (l->conn != NULL)
        net_conn_pause(l->conn, true);
    CHECK(uv_queue_work(&l->uv, &l->work, on_thread, after_thread) == 0);
}

static void do_work(struct loop *l, double flops)
{
    struct event e = {.kind = EVENT_DONE};

    if (flops > INLINE_FLOPS) {
        to_thread(l);
        return;
    }
    party_session_work(l->run.session);
    tell(l, &e);
}

static void keep_on_thread(uv_work_t *w)
{
    struct loop *l = w->data;

    l->keep_result.status = party_run_keep(&l->run, &l->kept, &l->keep_result);
}

static void kept(uv_work_t *w, int status)
{
    (void)status;
    tell_kept(w->data);
}

static void do_keep(struct loop *l, const struct action *a)
{
    l->kept = a->kept;
    l->keep_result = (struct error){0};
    CHECK(uv_queue_work(&l->uv, &l->keep, keep_on_thread, kept) == 0);
}

static void do_charge(struct loop *l, const struct action_charge *c)
{
    struct error err = {0};

    if (c->give_back) { /* at the end of the run: nobody waits for an answer */
        if (books_charge(&l->run.books, c, &err) != STATUS_OK)
            log_warn("%s", err.text);
        return;
    }
    books_judge(&l->run.books, &party_session_report(l->run.session)->plan);
    l->charge = *c;
    l->charged = (struct error){0};
    l->charging = true;
    to_thread(l);
}

/* --- endings --- */

static void close_everything(struct loop *l)
{
    l->over = true;
    if (l->conn != NULL)
        net_conn_close(l->conn, true);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->redial, NULL);
    uv_close((uv_handle_t *)&l->delay, NULL);
    uv_close((uv_handle_t *)&l->sigterm, NULL);
    uv_close((uv_handle_t *)&l->sigint, NULL);
    uv_close((uv_handle_t *)&l->sighup, NULL);
    options_heed_nothing();
}

static void do_finish(struct loop *l, const struct action *a)
{
    l->run.outcome = a->outcome;
    l->run.error = *a->error;
    close_everything(l);
}

static void tell(struct loop *l, const struct event *e)
{
    const struct action *work = NULL, *charge = NULL;

    CHECK(!l->working); /* the session belongs to the worker thread now */
    if (l->over)
        return;
    l->actions.n = 0;
    party_session_step(l->run.session, clock_us(), e, &l->actions);
    for (size_t i = 0; i < l->actions.n && !l->over; i++) {
        const struct action *a = &l->actions.item[i];
        switch (a->kind) {
        case ACTION_SEND: do_send(l, a); break;
        case ACTION_ARM:
            l->held_timer = false; /* an older one that ran out meanwhile counts no more */
            uv_timer_start(&l->timer, on_timer, a->after_ms, 0);
            break;
        case ACTION_DISARM: uv_timer_stop(&l->timer); break;
        case ACTION_WORK:
            work = a;
            break; /* work and charges last: they may tell the session more */
        case ACTION_CHARGE:
            if (a->charge.give_back)
                do_charge(l, &a->charge);
            else
                charge = a;
            break;
        case ACTION_KEEP: do_keep(l, a); break;
        case ACTION_FINISH: do_finish(l, a); break;
        case ACTION_DROP:
        case ACTION_REPORT: CHECK(!"a party drops nobody and reports nothing");
        }
    }
    if (l->unsent && !l->over) { /* and nothing else that was asked for is done */
        l->unsent = false;
        tell(l, &(struct event){.kind = EVENT_UNSENT});
        return;
    }
    if (charge != NULL)
        do_charge(l, &charge->charge);
    if (work != NULL)
        do_work(l, work->flops);
}

/* --- the connection --- */

/* Something is wrong with the server itself: no use in trying again. */
static void give_up(struct loop *l, enum status s, const char *why)
{
    struct error err = {0};
    struct event e = {.kind = EVENT_LOST, .error = &err};

    error_set(&err, s, "%s: %s", net_conn_address(l->conn), why);
    l->open = false;
    net_conn_close(l->conn, false);
    if (l->working) {
        l->held_lost = true;
        l->held_why = err;
    } else {
        tell(l, &e);
    }
}

static void on_open(void *owner, struct net_conn *c, const uint8_t spki[NET_SPKI_BYTES])
{
    struct loop *l = owner;
    struct event e = {.kind = EVENT_JOINED};
    const struct config_party *mine = &l->run.in->config;
    const struct config_inject *i = &mine->inject;
    struct net_shape shape = {i->link_delay_ms, i->link_jitter_ms, i->link_rate_mbit};

    l->redial_ms = REDIAL_FIRST_MS;
    if (memcmp(spki, l->run.in->roster.server.key, NET_SPKI_BYTES) != 0) {
        give_up(l, STATUS_AUTH, "the server's key is not the one in the roster");
    } else if (mine->policy.roster_sha256[0] == 0 && !peers_on_loopback(net_conn_address(c))) {
        give_up(l, STATUS_POLICY,
                "policy.roster_sha256 is not set: only a server on loopback is accepted");
    } else if (l->run.options->seeded &&
               !peers_trusted(&mine->insecure_peers, net_conn_address(c))) {
        give_up(l, STATUS_POLICY,
                "--insecure-seed with a server that is neither on loopback nor in insecure_peers");
    } else {
        l->open = true;
        party_results_connected(&l->run.results);
        net_conn_accept(c, l->frame_max);
        if (shape.delay_ms > 0 || shape.jitter_ms > 0 || shape.rate_mbit > 0)
            net_conn_shape(c, &shape);
        log_info("connected to %s", net_conn_address(c));
        tell(l, &e);
    }
}

/* Once a plan is known, and under fedvs what all hellos say, frames may be larger. */
static void follow_plan(struct loop *l)
{
    size_t most = party_session_report(l->run.session)->down_max;

    if (most <= l->frame_max || l->over)
        return;
    if (wire_unpacker_grow(&l->unpacker, most) != STATUS_OK) {
        give_up(l, STATUS_MEMORY, "no memory for the plan's messages");
        return;
    }
    l->frame_max = most;
    net_conn_set_frame_max(l->conn, most);
}

static void on_frame(void *owner, struct net_conn *c, uint8_t *bytes, size_t n)
{
    struct loop *l = owner;
    struct error err = {0};
    struct wire_msg m;
    struct event e = {.kind = EVENT_MESSAGE, .msg = &m};

    if (l->over || !l->open)
        return;
    if (wire_unpack(&m, &l->unpacker, bytes, n, &err) != STATUS_OK) {
        give_up(l, err.status, err.text);
        return;
    }
    party_results_count(&l->run.results, TRAFFIC_DOWN, &m, n, net_conn_traffic(c));
    /* Whatever the server says next, the round of a held-back message has closed. */
    uv_timer_stop(&l->delay);
    if (m.kind == WIRE_BROADCAST)
        spans_phase(party_session_spans(l->run.session),
                    m.broadcast.opens ? (enum traffic_phase)wire_purpose_phase(m.broadcast.purpose)
                                      : TRAFFIC_TRAIN,
                    clock_us());
    tell(l, &e);
    if (m.kind == WIRE_OFFER || m.kind == WIRE_HELLOS)
        follow_plan(l);
}

static void on_redial(uv_timer_t *t)
{
    dial(t->data);
}

static void plan_redial(struct loop *l)
{
    uint64_t wait = l->redial_ms / 2 + rng_below(&l->run.chance, l->redial_ms / 2 + 1);

    l->redial_ms = l->redial_ms * 2 < REDIAL_MAX_MS ? l->redial_ms * 2 : REDIAL_MAX_MS;
    uv_timer_start(&l->redial, on_redial, wait, 0);
}

static void on_close(void *owner, struct net_conn *c, const struct error *why)
{
    struct loop *l = owner;
    struct error as_net = *why;
    struct event e = {.kind = EVENT_LOST, .error = &as_net};
    bool was_open = l->open;

    (void)c;
    /* Bytes that were damaged on their way break a stream that was good: another one may be. */
    if (was_open && why->status == STATUS_PROTOCOL)
        as_net.status = STATUS_NET;
    l->conn = NULL;
    l->open = false;
    uv_timer_stop(&l->delay);
    if (l->over)
        return;
    if (why->status != STATUS_OK)
        log_write(was_open || status_kind(why->status) != STATUS_KIND_NET ? LOG_LEVEL_WARN
                                                                          : LOG_LEVEL_DEBUG,
                  "%s", why->text);
    else if (was_open)
        log_warn("the server closed the connection");
    if (l->working) { /* dialled again when the work is done and the session knows of the loss */
        if (!l->held_lost)
            l->held_why = as_net;
        l->held_lost = true;
        return;
    }
    if (was_open || status_kind(why->status) != STATUS_KIND_NET) {
        tell(l, &e);
    }
    if (!l->over)
        plan_redial(l);
}

static void dial(struct loop *l)
{
    static const struct net_events events = {on_open, on_frame, on_close};
    struct net_side side = {&l->uv, l->tls, &events, l};
    struct error err = {0};

    if (l->over || l->conn != NULL)
        return;
    if (net_dial(&l->conn, &side, l->run.in->config.server, l->run.in->roster.server.name, &err) ==
        STATUS_OK)
        return;
    l->conn = NULL;
    log_warn("%s", err.text);
    plan_redial(l);
}

/* --- signals --- */

static void on_stop(uv_signal_t *s, int number)
{
    struct loop *l = s->data;
    struct event e = {.kind = EVENT_STOP};

    log_info("signal %d: ending in order", number);
    if (l->working) {
        l->held_stop = true;
        party_session_interrupt(l->run.session);
    } else {
        tell(l, &e);
    }
}

/* For a reason of this side's. */
static void end_run(struct loop *l, struct error *why)
{
    struct event e = {.kind = EVENT_LOST, .error = why};

    if (!l->working) {
        tell(l, &e);
        return;
    }
    l->held_lost = true; /* and what the work was for is not sent */
    l->held_why = *why;
    l->open = false;
    if (l->conn != NULL)
        net_conn_close(l->conn, false);
}

static void reload_roster(struct loop *l)
{
    struct error err = {0};
    bool changed;
    enum status s = party_inputs_roster(l->run.in, &changed, &err);

    if (s == STATUS_POLICY)
        end_run(l, &err);
    else if (s != STATUS_OK)
        log_error("reload: %s", err.text);
    else if (changed)
        log_warn("reload: the roster is another one: this run goes on with the one it began with");
}

static void on_reload(uv_signal_t *s, int number)
{
    struct loop *l = s->data;
    struct net_identity id = keyfiles_identity(&l->run.in->config.identity);
    struct error err = {0};

    (void)number;
    if (net_tls_reload(l->tls, &id, &err) != STATUS_OK)
        log_error("reload: %s", err.text);
    else if (l->conn == NULL || !l->open || net_conn_recheck(l->conn))
        log_info("certificates and CRL read again");
    reload_roster(l);
}

/* --- life --- */

static enum status init_wire(struct loop *l, struct error *err)
{
    enum status s;

    l->frame_max = WIRE_SETUP_MAX;
    buf_init(&l->frame, WIRE_PAYLOAD_MAX);
    buf_init(&l->delayed, WIRE_PAYLOAD_MAX);
    s = wire_unpacker_init(&l->unpacker, l->frame_max);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

static enum status init_tls(struct loop *l, struct error *err)
{
    struct net_identity id = keyfiles_identity(&l->run.in->config.identity);
    uint8_t own[NET_SPKI_BYTES];
    int64_t expires_in_s;
    enum status s = net_tls_new(&l->tls, false, &id, err);

    if (s != STATUS_OK)
        return s;
    net_tls_own(l->tls, own, &expires_in_s);
    if (memcmp(own, l->run.in->roster.party[l->run.in->self].key, sizeof own) != 0)
        return error_set(err, STATUS_CONFIG, "identity.cert: not the certificate of identity.key");
    if (expires_in_s < 14 * 86400)
        log_warn("this certificate expires in %lld days", (long long)(expires_in_s / 86400));
    return STATUS_OK;
}

static void init_handles(struct loop *l)
{
    uv_timer_init(&l->uv, &l->timer);
    uv_timer_init(&l->uv, &l->redial);
    uv_timer_init(&l->uv, &l->delay);
    uv_signal_init(&l->uv, &l->sigterm);
    uv_signal_init(&l->uv, &l->sigint);
    uv_signal_init(&l->uv, &l->sighup);
    l->timer.data = l->redial.data = l->delay.data = l->work.data = l->keep.data = l;
    l->sigterm.data = l->sigint.data = l->sighup.data = l;
    uv_signal_start(&l->sigterm, on_stop, SIGTERM);
    uv_signal_start(&l->sigint, on_stop, SIGINT);
    uv_signal_start(&l->sighup, on_reload, SIGHUP);
    options_heed_reload();
}

static void deinit(struct loop *l)
{
    party_run_deinit(&l->run);
    wire_unpacker_deinit(&l->unpacker);
    buf_deinit(&l->frame);
    buf_deinit(&l->delayed);
    net_tls_free(l->tls);
    CHECK(uv_loop_close(&l->uv) == 0);
    mem_free(l);
}

enum status party_loop_run(const struct party_inputs *in, const struct party_options *o,
                           struct error *err)
{
    struct event start = {.kind = EVENT_START};
    struct loop *l = mem_alloc(1, sizeof *l);
    enum status s;

    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    l->run.in = in;
    l->run.options = o;
    l->run.lock = -1;
    l->redial_ms = REDIAL_FIRST_MS;
    CHECK(uv_loop_init(&l->uv) == 0);
    init_handles(l);
    s = init_tls(l, err);
    if (s == STATUS_OK)
        s = party_run_begin(&l->run, err);
    if (s == STATUS_OK)
        s = init_wire(l, err);
    if (s == STATUS_OK) {
        spans_phase(party_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
        tell(l, &start);
        dial(l);
    } else {
        close_everything(l);
    }
    uv_run(&l->uv, UV_RUN_DEFAULT);
    if (s == STATUS_OK)
        s = party_run_end(&l->run, err);
    deinit(l);
    return s;
}
