/* loop.c -- libuv to events, actions to libuv.
 *
 * One link per connection; a link becomes a party's when its join has been read, and then replaces
 * that party's older link.  While work runs on a worker thread every connection is paused and other
 * events are held back, so that the session sees one thing at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/loop.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/peers.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/options.h"
#include "server/link.h"
#include "server/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    JOIN_MS = 10000,         /* from TLS to a join (threats E4) */
    TICK_MS = 500,           /* progress line, late joins */
    INLINE_FLOPS = 10000000, /* about a millisecond: more goes to a worker thread */
};

struct loop {
    struct server_run run;
    uv_loop_t uv;
    uv_timer_t timer, tick;
    uv_signal_t sigterm, sigint, sighup;
    uv_work_t work, keep;
    struct net_tls *tls;
    struct net_listener *listener;
    struct link *links, *party[WIRE_MEMBERS_MAX];
    bool barred[WIRE_MEMBERS_MAX]; /* no longer in the roster file */
    struct actions actions;
    bool working, over;        /* working: on a worker thread now */
    bool unsent;               /* of what the session asked for, for want of memory */
    bool held_stop, held_kept; /* events held back meanwhile; the timer is disarmed before work */
    struct wire_bytes kept;    /* a checkpoint on its way, on a thread of its own */
    struct error keep_result;
    bool held_lost[WIRE_MEMBERS_MAX];
    struct wire_unpacker unpacker;
    struct buf frame;
    size_t up_max;
    struct log_few strangers;
};

static void tell(struct loop *l, const struct event *e);

/* --- sending --- */

/* inject.crash_at_round: this training round (from 1) is never opened. */
static void crash_if_asked(const struct loop *l, const struct wire_broadcast *b)
{
    uint32_t at = l->run.in->config.inject.crash_at_round;

    if (at > 0 && b->purpose == PURPOSE_TRAIN && b->place + 1 >= at)
        raise(SIGKILL);
}

static void do_send(struct loop *l, const struct action *a)
{
    struct spans *spans = server_session_spans(l->run.session);
    uint64_t start = clock_us();

    if (a->msg.kind == WIRE_BROADCAST && a->msg.broadcast.opens)
        crash_if_asked(l, &a->msg.broadcast);
    const enum status s = wire_pack(&l->frame, &a->msg);
    CHECK(s == STATUS_OK || s == STATUS_MEMORY); /* what it does not take is a mistake here */
    l->unsent |= s != STATUS_OK;
    if (s != STATUS_OK)
        return;
    for (size_t i = 0; i < a->to_n; i++) {
        struct link *k = l->party[a->to[i]];
        if (k != NULL)
            link_send(k, &l->run.results.traffic, &l->frame, &a->msg);
    }
    spans_add(spans, SPAN_SERIALISE, clock_us() - start);
    if (a->msg.kind != WIRE_BROADCAST || !a->msg.broadcast.opens)
        return;
    spans_phase(spans, (enum traffic_phase)wire_purpose_phase(a->msg.broadcast.purpose), start);
    if (a->msg.broadcast.purpose == PURPOSE_TRAIN)
        server_results_round(&l->run.results, (uint32_t)a->to_n,
                             agenda_batch_rows(&server_session_report(l->run.session)->agenda,
                                               &l->run.in->config.plan, a->msg.broadcast.place),
                             server_session_terms(l->run.session), start);
}

static void refuse(struct loop *l, struct link *k, enum status_kind kind, const char *text)
{
    link_refuse(k, &l->run.results.traffic, &l->frame, kind, text);
}

/* The link no longer speaks for its party; its connection ends on its own. */
static void detach(struct loop *l, struct link *k)
{
    if (k->joined && l->party[k->peer] == k)
        l->party[k->peer] = NULL;
    k->joined = false;
}

/* --- actions --- */

static void pause_all(struct loop *l, bool paused)
{
    for (struct link *k = l->links; k != NULL; k = k->next)
        net_conn_pause(k->conn, paused);
}

static void on_timer(uv_timer_t *t)
{
    struct loop *l = t->data;
    struct event e = {.kind = EVENT_TIMER};

    tell(l, &e);
}

static void stop(struct loop *l)
{
    struct event e = {.kind = EVENT_STOP};

    if (l->working)
        l->held_stop = true;
    else
        tell(l, &e);
}

static void work_on_thread(uv_work_t *w)
{
    server_session_work(((struct loop *)w->data)->run.session);
}

static void tell_kept(struct loop *l)
{
    struct event e = {.kind = EVENT_KEPT, .error = &l->keep_result};

    l->held_kept = l->working;
    if (!l->working)
        tell(l, &e);
}

static void keep_on_thread(uv_work_t *w)
{
    struct loop *l = w->data;

    l->keep_result.status = server_run_keep(&l->run, &l->kept, &l->keep_result);
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

/* Each may start work again: what is left is told when that has ended. */
static void tell_held(struct loop *l)
{
    struct event e = {.kind = EVENT_LOST};

    for (uint32_t i = 0; i < l->run.in->roster.n && !l->working; i++) {
        if (l->held_lost[i]) {
            l->held_lost[i] = false;
            e.peer = i;
            e.error = &l->run.error;
            tell(l, &e);
        }
    }
    if (l->held_kept && !l->working)
        tell_kept(l);
    if (l->held_stop && !l->working) {
        l->held_stop = false;
        e.kind = EVENT_STOP;
        tell(l, &e);
    }
}

static void work_ended(uv_work_t *w, int status)
{
    struct loop *l = w->data;
    struct event e = {.kind = EVENT_DONE};

    (void)status;
    l->working = false;
    tell(l, &e);
    if (!l->working)
        tell_held(l);
    if (!l->working)
        pause_all(l, false);
}

static void do_work(struct loop *l, double flops)
{
    struct event e = {.kind = EVENT_DONE};

    if (flops <= INLINE_FLOPS) {
        server_session_work(l->run.session);
        tell(l, &e);
        return;
    }
    l->working = true;
    pause_all(l, true);
    CHECK(uv_queue_work(&l->uv, &l->work, work_on_thread, work_ended) == 0);
}

static void do_drop(struct loop *l, const struct action *a)
{
    struct link *k = l->party[a->peer];

    if (k == NULL)
        return;
    detach(l, k);
    refuse(l, k, status_kind(a->error->status), a->error->text);
}

static void do_report(struct loop *l)
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
    l->over = true;
    if (l->listener != NULL)
        net_listener_close(l->listener);
    l->listener = NULL;
    for (struct link *k = l->links; k != NULL; k = k->next)
        net_conn_close(k->conn, true);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->tick, NULL);
    uv_close((uv_handle_t *)&l->sigterm, NULL);
    uv_close((uv_handle_t *)&l->sigint, NULL);
    uv_close((uv_handle_t *)&l->sighup, NULL);
    options_heed_nothing();
}

static void do_finish(struct loop *l, const struct action *a)
{
    spans_stop(server_session_spans(l->run.session), clock_us());
    l->run.outcome = a->outcome;
    l->run.error = *a->error;
    close_everything(l);
}

/* What the members say of their bottoms may ask for larger messages (fedvs). */
static void follow_sizes(struct loop *l)
{
    size_t up = server_session_up_max(l->run.session),
           down = server_session_down_max(l->run.session);

    if (up <= l->up_max && down + WIRE_OFFER_MAX <= l->frame.max)
        return;
    l->frame.max = down + WIRE_OFFER_MAX;
    if (wire_unpacker_grow(&l->unpacker, up) != STATUS_OK) {
        log_error("no memory for messages of %zu bytes: who sends one is refused", up);
        return;
    }
    l->up_max = up;
    for (size_t i = 0; i < l->run.in->roster.n; i++) {
        if (l->party[i] == NULL)
            continue;
        net_conn_set_frame_max(l->party[i]->conn, up);
        net_conn_set_queue_max(l->party[i]->conn, 2 * down);
    }
}

static void tell(struct loop *l, const struct event *e)
{
    double flops = -1;

    CHECK(!l->working); /* the session belongs to the worker thread now */
    if (l->over)
        return;
    l->actions.n = 0;
    server_session_step(l->run.session, clock_us(), e, &l->actions);
    follow_sizes(l);
    for (size_t i = 0; i < l->actions.n; i++) {
        const struct action *a = &l->actions.item[i];
        switch (a->kind) {
        case ACTION_SEND: do_send(l, a); break;
        case ACTION_ARM: uv_timer_start(&l->timer, on_timer, a->after_ms, 0); break;
        case ACTION_DISARM: uv_timer_stop(&l->timer); break;
        case ACTION_WORK: flops = a->flops; break; /* last: it may tell the session more */
        case ACTION_KEEP: do_keep(l, a); break;
        case ACTION_DROP: do_drop(l, a); break;
        case ACTION_REPORT: do_report(l); break;
        case ACTION_FINISH: do_finish(l, a); break;
        case ACTION_CHARGE: CHECK(!"the server keeps no ledger");
        }
    }
    if (l->unsent && !l->over) { /* and nothing else that was asked for is done */
        l->unsent = false;
        tell(l, &(struct event){.kind = EVENT_UNSENT});
    } else if (flops >= 0) {
        do_work(l, flops);
    }
}

/* --- connections --- */

static void on_open(void *owner, struct net_conn *c, const uint8_t spki[NET_SPKI_BYTES])
{
    struct loop *l = owner;
    struct link *k = mem_alloc(1, sizeof *k);
    int peer = roster_find_key(&l->run.in->roster, spki);
    const char *address = net_conn_address(c);

    if (k == NULL || l->over) {
        mem_free(k);
        net_conn_close(c, false);
        return;
    }
    *k = (struct link){.conn = c,
                       .next = l->links,
                       .peer = peer < 0 ? 0 : (uint32_t)peer,
                       .opened_us = clock_us()};
    l->links = k;
    net_conn_set_data(c, k);
    if (l->working)
        net_conn_pause(c, true);
    if (peer < 0 || l->barred[peer]) {
        link_warn(k, &l->strangers, "%s: its key is not in the roster", address);
        refuse(l, k, STATUS_KIND_CONFIG, "this certificate's key is not in the server's roster");
    } else if (!net_conn_has_name(c, l->run.in->roster.party[peer].name)) {
        link_warn(k, &l->strangers, "%s: the certificate does not carry the name %s", address,
                  l->run.in->roster.party[peer].name);
        refuse(l, k, STATUS_KIND_CONFIG,
               "this certificate does not carry the name that the roster has for its key");
    } else if (l->run.options->seeded &&
               !peers_trusted(&l->run.in->config.insecure_peers, address)) {
        log_warn("%s: not on loopback and not in insecure_peers, while --insecure-seed is given",
                 address);
        refuse(l, k, STATUS_KIND_POLICY,
               "the server runs with --insecure-seed and this address is not in insecure_peers");
    }
}

/* inject.link: an emulated link, for experiments. */
static void shape_link(const struct loop *l, const struct link *k)
{
    const struct config_inject *i = &l->run.in->config.inject;
    struct net_shape shape = {i->link_delay_ms, i->link_jitter_ms, i->link_rate_mbit};

    if (shape.delay_ms > 0 || shape.jitter_ms > 0 || shape.rate_mbit > 0)
        net_conn_shape(k->conn, &shape);
}

static void take_join(struct loop *l, struct link *k, const struct wire_msg *m, size_t frame)
{
    struct link *old = l->party[k->peer];
    struct event e = {.kind = EVENT_JOINED, .peer = k->peer, .msg = m};

    if (m->kind != WIRE_JOIN) {
        link_warn(k, &l->strangers, "%s: %s before join", net_conn_address(k->conn),
                  wire_kind_name(m->kind));
        refuse(l, k, STATUS_KIND_PEER, "the first message must be join");
        return;
    }
    if (old != NULL) {
        log_warn("%s: a second connection replaces the first",
                 l->run.in->roster.party[k->peer].name);
        detach(l, old);
        refuse(l, old, STATUS_KIND_PEER, "replaced by a newer connection of the same key");
    }
    net_conn_accept(k->conn, l->up_max);
    shape_link(l, k);
    net_conn_set_queue_max(k->conn, 2 * server_session_down_max(l->run.session));
    k->joined = true;
    link_count(k, &l->run.results.traffic, TRAFFIC_UP, m, frame);
    l->party[k->peer] = k;
    tell(l, &e);
}

static void on_frame(void *owner, struct net_conn *c, uint8_t *bytes, size_t n)
{
    struct loop *l = owner;
    struct link *k = net_conn_data(c);
    struct error err = {0};
    struct wire_msg m;
    struct event e = {.kind = EVENT_MESSAGE, .msg = &m};

    if (k == NULL || l->over || k->refused)
        return;
    if (!k->joined && n > WIRE_JOIN_MAX) {
        link_warn(k, &l->strangers, "%s: a first message of %zu bytes", net_conn_address(c), n);
        refuse(l, k, STATUS_KIND_PEER, "the first message is longer than any join");
        return;
    }
    if (wire_unpack(&m, &l->unpacker, bytes, n, &err) != STATUS_OK) {
        bool was = k->joined;
        struct event lost = {.kind = EVENT_LOST, .peer = k->peer, .error = &err};
        link_warn(k, &l->strangers, "%s: %s",
                  was ? l->run.in->roster.party[k->peer].name : net_conn_address(c), err.text);
        detach(l, k);
        refuse(l, k, STATUS_KIND_PEER, err.text);
        if (was)
            tell(l, &lost);
        return;
    }
    e.peer = k->peer;
    if (!k->joined) {
        take_join(l, k, &m, n);
        return;
    }
    link_count(k, &l->run.results.traffic, TRAFFIC_UP, &m, n);
    tell(l, &e);
}

static void unlink_link(struct loop *l, struct link *k)
{
    struct link **at = &l->links;

    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

static void on_close(void *owner, struct net_conn *c, const struct error *why)
{
    struct loop *l = owner;
    struct link *k = net_conn_data(c);
    struct event e = {.kind = EVENT_LOST, .error = why};
    bool mine = k != NULL && k->joined && l->party[k->peer] == k;

    if (why->status != STATUS_OK && !l->over)
        link_warn(k, &l->strangers, "%s", why->text);
    if (k == NULL)
        return;
    e.peer = k->peer;
    detach(l, k);
    unlink_link(l, k);
    mem_free(k);
    if (!mine)
        return;
    if (l->working)
        l->held_lost[e.peer] = true;
    else
        tell(l, &e);
}

/* --- timers and signals --- */

static void on_tick(uv_timer_t *t)
{
    struct loop *l = t->data;
    uint64_t now = clock_us();

    for (struct link *k = l->links; k != NULL; k = k->next)
        if (!k->joined && now - k->opened_us > JOIN_MS * 1000ull)
            net_conn_close(k->conn, false);
    if (!l->working && l->run.options->progress)
        server_results_progress(&l->run.results, server_session_report(l->run.session), now, false);
}

static void on_stop(uv_signal_t *s, int number)
{
    log_info("signal %d: ending in order", number);
    stop(s->data);
}

/* New certificates and CRL for new connections; live ones are checked against them.  Parties that
 * are no longer in the roster file are shut out; new ones need a restart, since the plan is for a
 * fixed set. */
static void on_reload(uv_signal_t *s, int number)
{
    struct loop *l = s->data;
    struct net_identity id = keyfiles_identity(&l->run.in->config.identity);
    struct error err = {0};
    struct roster fresh;

    (void)number;
    if (net_tls_reload(l->tls, &id, &err) != STATUS_OK) {
        log_error("reload: %s", err.text);
        return;
    }
    if (roster_load(&fresh, l->run.in->config.roster, &err) != STATUS_OK) {
        log_error("reload: %s", err.text);
        return;
    }
    for (size_t i = 0; i < l->run.in->roster.n; i++)
        l->barred[i] = roster_find_key(&fresh, l->run.in->roster.party[i].key) < 0;
    for (struct link *k = l->links; k != NULL; k = k->next) {
        if (l->barred[k->peer])
            net_conn_close(k->conn, false);
        else
            net_conn_recheck(k->conn);
    }
    log_info("certificates, CRL and roster read again");
}

/* --- life --- */

static enum status init_wire(struct loop *l, struct error *err)
{
    enum status s;

    l->up_max = server_session_up_max(l->run.session);
    s = wire_unpacker_init(&l->unpacker, l->up_max);
    buf_init(&l->frame, server_session_down_max(l->run.session) + WIRE_OFFER_MAX);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

static enum status init_net(struct loop *l, struct error *err)
{
    static const struct net_events events = {on_open, on_frame, on_close};
    struct net_side side = {&l->uv, NULL, &events, l};
    struct net_identity id = keyfiles_identity(&l->run.in->config.identity);
    char path[CONFIG_PATH_MAX];
    const char *address;
    enum status s = net_tls_new(&l->tls, true, &id, err);

    side.tls = l->tls;
    if (s == STATUS_OK)
        s = net_listen(&l->listener, &side, l->run.in->config.listen,
                       l->run.in->config.connections_per_address, err);
    if (s != STATUS_OK)
        return s;
    address = net_listener_address(l->listener);
    log_info("listening on %s", address);
    snprintf(path, sizeof path, "%.*s/address", CONFIG_PATH_MAX - 16, l->run.in->config.state);
    return file_write_atomic(path, address, strlen(address), 0644, err);
}

static void init_handles(struct loop *l)
{
    uv_timer_init(&l->uv, &l->timer);
    uv_timer_init(&l->uv, &l->tick);
    uv_signal_init(&l->uv, &l->sigterm);
    uv_signal_init(&l->uv, &l->sigint);
    uv_signal_init(&l->uv, &l->sighup);
    l->timer.data = l->tick.data = l->sigterm.data = l->sigint.data = l->sighup.data =
        l->work.data = l->keep.data = l;
    uv_signal_start(&l->sigterm, on_stop, SIGTERM);
    uv_signal_start(&l->sigint, on_stop, SIGINT);
    uv_signal_start(&l->sighup, on_reload, SIGHUP);
    options_heed_reload();
    uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
}

enum status server_loop_run(const struct server_inputs *in, const struct server_options *o,
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
    CHECK(uv_loop_init(&l->uv) == 0);
    init_handles(l);
    s = folder_make(in->config.state, err);
    if (s == STATUS_OK)
        s = server_run_begin(&l->run, err);
    if (s == STATUS_OK)
        s = init_wire(l, err);
    if (s == STATUS_OK)
        s = init_net(l, err);
    if (s == STATUS_OK) {
        spans_phase(server_session_spans(l->run.session), TRAFFIC_SETUP, clock_us());
        tell(l, &start);
    } else {
        close_everything(l);
    }
    uv_run(&l->uv, UV_RUN_DEFAULT);
    if (s == STATUS_OK)
        s = server_run_end(&l->run, err);
    server_run_deinit(&l->run);
    wire_unpacker_deinit(&l->unpacker);
    buf_deinit(&l->frame);
    net_tls_free(l->tls);
    CHECK(uv_loop_close(&l->uv) == 0);
    mem_free(l);
    return s;
}
