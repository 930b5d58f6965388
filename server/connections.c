/* connections.c -- libuv's connections to events, and messages to connections.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/connections.h"

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/peers.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/options.h"
#include "common/wire/purpose.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { JOIN_MS = 10000 }; /* from TLS to a join (threats E4) */

static const struct config_server *config_of(const struct connections *c)
{
    return &c->run->in->config;
}

static const struct roster *roster_of(const struct connections *c)
{
    return &c->run->in->roster;
}

/* --- sending --- */

/* inject.crash_at_round: this training round (from 1) is never opened. */
static void crash_if_asked(const struct connections *c, const struct wire_broadcast *b)
{
    uint32_t at = config_of(c)->inject.crash_at_round;

    if (at > 0 && purpose_of(b->purpose)->trains && b->place + 1 >= at)
        raise(SIGKILL);
}

enum status connections_send(struct connections *c, const struct action *a)
{
    enum status s;

    if (a->msg.kind == WIRE_BROADCAST && a->msg.broadcast.opens)
        crash_if_asked(c, &a->msg.broadcast);
    s = wire_pack(&c->frame, &a->msg);
    for (size_t i = 0; i < a->to_n && s == STATUS_OK; i++) {
        struct link *k = c->party[a->to[i]];
        if (k != NULL)
            link_send(k, &c->run->results.traffic, &c->frame, &a->msg);
    }
    return s;
}

static void refuse(struct connections *c, struct link *k, enum status_kind kind, const char *text)
{
    link_refuse(k, &c->run->results.traffic, &c->frame, kind, text);
}

/* The link no longer speaks for its party; its connection ends on its own. */
static void detach(struct connections *c, struct link *k)
{
    if (k->joined && c->party[k->peer] == k)
        c->party[k->peer] = NULL;
    k->joined = false;
}

void connections_drop(struct connections *c, const struct action *a)
{
    struct link *k = c->party[a->peer];

    if (k == NULL)
        return;
    detach(c, k);
    refuse(c, k, status_kind(a->error.status), a->error.text);
}

/* --- what a connection does --- */

static void check_peer(struct connections *c, struct link *k, int peer)
{
    const char *address = net_conn_address(k->conn);

    if (peer < 0 || c->barred[peer]) {
        link_warn(k, &c->few, "%s: its key is not in the roster", address);
        refuse(c, k, STATUS_KIND_CONFIG, "this certificate's key is not in the server's roster");
    } else if (!net_conn_has_name(k->conn, roster_of(c)->party[peer].name)) {
        link_warn(k, &c->few, "%s: the certificate does not carry the name %s", address,
                  roster_of(c)->party[peer].name);
        refuse(c, k, STATUS_KIND_CONFIG,
               "this certificate does not carry the name that the roster has for its key");
    } else if (c->run->options->seeded && !peers_trusted(&config_of(c)->insecure_peers, address)) {
        log_warn("%s: not on loopback and not in insecure_peers, while --insecure-seed is given",
                 address);
        refuse(c, k, STATUS_KIND_POLICY,
               "the server runs with --insecure-seed and this address is not in insecure_peers");
    }
}

static void on_open(void *owner, struct net_conn *conn, const uint8_t spki[NET_SPKI_BYTES])
{
    struct connections *c = owner;
    struct link *k = mem_alloc(1, sizeof *k);
    int peer = roster_find_key(roster_of(c), spki);

    if (k == NULL || c->closed) {
        mem_free(k);
        net_conn_close(conn, false);
        return;
    }
    *k = (struct link){.conn = conn,
                       .next = c->links,
                       .peer = peer < 0 ? 0 : (uint32_t)peer,
                       .opened_us = clock_us()};
    c->links = k;
    net_conn_set_data(conn, k);
    if (driver_works(c->driver))
        net_conn_pause(conn, true);
    check_peer(c, k, peer);
}

/* inject.link: an emulated link, for experiments. */
static void shape_link(const struct connections *c, const struct link *k)
{
    const struct config_inject *i = &config_of(c)->inject;
    struct net_shape shape = {i->link_delay_ms, i->link_jitter_ms, i->link_rate_mbit};

    if (shape.delay_ms > 0 || shape.jitter_ms > 0 || shape.rate_mbit > 0)
        net_conn_shape(k->conn, &shape);
}

static void take_join(struct connections *c, struct link *k, const struct wire_msg *m, size_t frame)
{
    struct link *old = c->party[k->peer];
    struct event e = {.kind = EVENT_JOINED, .peer = k->peer, .msg = m};

    if (m->kind != WIRE_JOIN) {
        link_warn(k, &c->few, "%s: %s before join", net_conn_address(k->conn),
                  wire_kind_name(m->kind));
        refuse(c, k, STATUS_KIND_PEER, "the first message must be join");
        return;
    }
    if (old != NULL) {
        link_warn(old, &c->few, "%s: a second connection replaces the first",
                  roster_of(c)->party[k->peer].name);
        detach(c, old);
        refuse(c, old, STATUS_KIND_PEER, "replaced by a newer connection of the same key");
    }
    net_conn_accept(k->conn, c->up_max);
    shape_link(c, k);
    net_conn_set_queue_max(k->conn, c->queue_max);
    k->joined = true;
    link_count(k, &c->run->results.traffic, TRAFFIC_UP, m, frame);
    c->party[k->peer] = k;
    driver_tell(c->driver, &e);
}

static void not_read(struct connections *c, struct link *k, const struct error *why)
{
    const bool was = k->joined;
    const struct event lost = {.kind = EVENT_LOST, .peer = k->peer, .error = why};

    link_warn(k, &c->few, "%s: %s",
              was ? roster_of(c)->party[k->peer].name : net_conn_address(k->conn), why->text);
    detach(c, k);
    refuse(c, k, STATUS_KIND_PEER, why->text);
    if (was)
        driver_tell(c->driver, &lost);
}

static void on_frame(void *owner, struct net_conn *conn, uint8_t *bytes, size_t n)
{
    struct connections *c = owner;
    struct link *k = net_conn_data(conn);
    struct error err = {0};
    struct wire_msg m;
    struct event e = {.kind = EVENT_MESSAGE, .msg = &m};

    if (k == NULL || c->closed || k->refused)
        return;
    if (!k->joined && n > WIRE_JOIN_MAX) {
        link_warn(k, &c->few, "%s: a first message of %zu bytes", net_conn_address(conn), n);
        refuse(c, k, STATUS_KIND_PEER, "the first message is longer than any join");
        return;
    }
    if (wire_unpack(&m, &c->unpacker, bytes, n, &err) != STATUS_OK) {
        not_read(c, k, &err);
        return;
    }
    e.peer = k->peer;
    if (!k->joined) {
        take_join(c, k, &m, n);
        return;
    }
    link_count(k, &c->run->results.traffic, TRAFFIC_UP, &m, n);
    driver_tell(c->driver, &e);
}

static void unlink_link(struct connections *c, struct link *k)
{
    struct link **at = &c->links;

    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
}

static void on_close(void *owner, struct net_conn *conn, const struct error *why)
{
    struct connections *c = owner;
    struct link *k = net_conn_data(conn);
    struct event e = {.kind = EVENT_LOST, .error = why};
    bool mine = k != NULL && k->joined && c->party[k->peer] == k;

    if (why->status != STATUS_OK && !c->closed)
        link_warn(k, &c->few, "%s", why->text);
    if (k == NULL)
        return;
    e.peer = k->peer;
    detach(c, k);
    unlink_link(c, k);
    mem_free(k);
    if (mine)
        driver_tell(c->driver, &e);
}

/* --- all of them --- */

void connections_pause(struct connections *c, bool paused)
{
    for (struct link *k = c->links; k != NULL; k = k->next)
        net_conn_pause(k->conn, paused);
}

/* The most of any job: what is on its way may still be an earlier one's. */
static void follow_queues(struct connections *c, size_t most)
{
    if (most <= c->queue_max)
        return;
    c->queue_max = most;
    for (size_t i = 0; i < roster_of(c)->n; i++) {
        if (c->party[i] != NULL)
            net_conn_set_queue_max(c->party[i]->conn, most);
    }
}

void connections_follow_sizes(struct connections *c)
{
    size_t up, down;

    server_session_frames(c->run->session, &up, &down);
    follow_queues(c, 2 * down);
    if (up <= c->up_max && down + WIRE_OFFER_MAX <= c->frame.max)
        return;
    c->frame.max = down + WIRE_OFFER_MAX;
    if (wire_unpacker_grow(&c->unpacker, up) != STATUS_OK) {
        log_error("no memory for messages of %zu bytes: who sends one is refused", up);
        return;
    }
    c->up_max = up;
    for (size_t i = 0; i < roster_of(c)->n; i++) {
        if (c->party[i] != NULL)
            net_conn_set_frame_max(c->party[i]->conn, up);
    }
}

void connections_tick(struct connections *c, uint64_t now_us)
{
    for (struct link *k = c->links; k != NULL; k = k->next)
        if (!k->joined && now_us - k->opened_us > JOIN_MS * 1000ull)
            net_conn_close(k->conn, false);
}

void connections_reload(struct connections *c)
{
    struct net_identity id = keyfiles_identity(&config_of(c)->identity);
    struct error err = {0};
    struct roster fresh;

    if (net_tls_reload(c->tls, &id, &err) != STATUS_OK ||
        roster_load(&fresh, config_of(c)->roster, &err) != STATUS_OK) {
        log_error("reload: %s", err.text);
        return;
    }
    for (size_t i = 0; i < roster_of(c)->n; i++)
        c->barred[i] = roster_find_key(&fresh, roster_of(c)->party[i].key) < 0;
    for (struct link *k = c->links; k != NULL; k = k->next) {
        if (c->barred[k->peer])
            net_conn_close(k->conn, false);
        else
            net_conn_recheck(k->conn);
    }
    log_info("certificates, CRL and roster read again");
}

/* --- life --- */

static enum status init_wire(struct connections *c, struct error *err)
{
    size_t down;
    enum status s;

    server_session_frames(c->run->session, &c->up_max, &down);
    s = wire_unpacker_init(&c->unpacker, c->up_max);
    buf_init(&c->frame, down + WIRE_OFFER_MAX);
    c->queue_max = 2 * down;
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

static enum status listen_at(struct connections *c, uv_loop_t *uv, struct error *err)
{
    static const struct net_events events = {on_open, on_frame, on_close};
    struct net_side side = {uv, c->tls, &events, c};
    char path[CONFIG_PATH_MAX];
    const char *address;
    enum status s = net_listen(&c->listener, &side, config_of(c)->listen,
                               config_of(c)->connections_per_address, err);

    if (s != STATUS_OK)
        return s;
    address = net_listener_address(c->listener);
    log_info("listening on %s", address);
    snprintf(path, sizeof path, "%.*s/address", CONFIG_PATH_MAX - 16, config_of(c)->state);
    return file_write_atomic(path, address, strlen(address), 0644, err);
}

enum status connections_open(struct connections *c, uv_loop_t *uv, struct error *err)
{
    struct net_identity id = keyfiles_identity(&config_of(c)->identity);
    enum status s = init_wire(c, err);

    if (s == STATUS_OK)
        s = net_tls_new(&c->tls, true, &id, err);
    return s == STATUS_OK ? listen_at(c, uv, err) : s;
}

void connections_close(struct connections *c)
{
    c->closed = true;
    if (c->listener != NULL)
        net_listener_close(c->listener);
    c->listener = NULL;
    for (struct link *k = c->links; k != NULL; k = k->next)
        net_conn_close(k->conn, true);
}

void connections_deinit(struct connections *c)
{
    wire_unpacker_deinit(&c->unpacker);
    buf_deinit(&c->frame);
    net_tls_free(c->tls);
}
