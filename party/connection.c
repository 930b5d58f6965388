/* connection.c -- libuv's connection to events, and messages to it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/connection.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/peers.h"
#include "common/daemon/keyfiles.h"
#include "common/daemon/options.h"
#include "common/wire/purpose.h"
#include "party/inject.h"

#include <string.h>

enum { REDIAL_FIRST_MS = 50, REDIAL_MAX_MS = 5000, REDIAL_REFUSED_MS = 30000 };

static const struct config_party *config_of(const struct connection *c)
{
    return &c->run->in->config;
}

/* --- sending --- */

static void send_frame(struct connection *c, const struct wire_msg *m, const struct buf *frame)
{
    if (c->open && net_send(c->conn, frame->data, frame->len) == STATUS_OK)
        party_results_count(&c->run->results, TRAFFIC_UP, m, frame->len, net_conn_traffic(c->conn));
}

static void on_delay(uv_timer_t *t)
{
    struct connection *c = t->data;

    send_frame(c, &c->delayed_msg, &c->delayed);
    c->delayed.len = 0;
}

enum status connection_send(struct connection *c, const struct action *a)
{
    uint64_t start = clock_us();
    uint64_t wait_ms = party_run_delay_ms(c->run, &a->msg);
    struct buf *frame = wait_ms > 0 ? &c->delayed : &c->frame;
    enum status s;

    if (config_of(c)->inject.crash_at_round > 0)
        inject_crash(&config_of(c)->inject, a->msg.kind,
                     party_session_report(c->run->session)->progress.rounds);
    s = wire_pack(frame, &a->msg);
    if (s != STATUS_OK)
        return s;
    if (wait_ms > 0) {
        c->delayed_msg = a->msg;
        uv_timer_start(&c->delay, on_delay, wait_ms, 0);
        return STATUS_OK;
    }
    send_frame(c, &a->msg, frame);
    spans_add(party_session_spans(c->run->session), SPAN_SERIALISE, clock_us() - start);
    return STATUS_OK;
}

/* --- what the connection does --- */

/* It ends, and the session hears why. */
static void give_up(struct connection *c, const struct error *why)
{
    const struct event e = {.kind = EVENT_LOST, .error = why};

    c->open = false;
    if (c->conn != NULL)
        net_conn_close(c->conn, false);
    driver_tell(c->driver, &e);
}

/* Something is wrong with the server itself: no use in trying again. */
static void blame(struct connection *c, enum status s, const char *why)
{
    struct error err = {0};

    error_set(&err, s, "%s: %s", net_conn_address(c->conn), why);
    give_up(c, &err);
}

static void opened(struct connection *c)
{
    const struct config_inject *i = &config_of(c)->inject;
    struct net_shape shape = {i->link_delay_ms, i->link_jitter_ms, i->link_rate_mbit};

    c->open = true;
    party_results_connected(&c->run->results);
    net_conn_accept(c->conn, c->frame_max);
    if (shape.delay_ms > 0 || shape.jitter_ms > 0 || shape.rate_mbit > 0)
        net_conn_shape(c->conn, &shape);
    log_info("connected to %s", net_conn_address(c->conn));
    driver_tell(c->driver, &(struct event){.kind = EVENT_JOINED});
}

static void on_open(void *owner, struct net_conn *conn, const uint8_t spki[NET_SPKI_BYTES])
{
    struct connection *c = owner;
    const struct config_party *mine = config_of(c);

    if (memcmp(spki, c->run->in->roster.server.key, NET_SPKI_BYTES) != 0)
        blame(c, STATUS_AUTH, "the server's key is not the one in the roster");
    else if (mine->policy.roster_sha256[0] == 0 && !peers_on_loopback(net_conn_address(conn)))
        blame(c, STATUS_POLICY,
              "policy.roster_sha256 is not set: only a server on loopback is accepted");
    else if (c->run->options->seeded &&
             !peers_trusted(&mine->insecure_peers, net_conn_address(conn)))
        blame(c, STATUS_POLICY,
              "--insecure-seed with a server that is neither on loopback nor in insecure_peers");
    else
        opened(c);
}

/* Once a plan is known, and under fedvs what all hellos say, frames may be larger.  False: there is
 * no memory for them. */
static bool follow_plan(struct connection *c)
{
    size_t most;

    if (!c->grows || c->closed)
        return true;
    c->grows = false;
    most = party_session_report(c->run->session)->down_max;
    if (most <= c->frame_max)
        return true;
    if (wire_unpacker_grow(&c->unpacker, most) != STATUS_OK)
        return false;
    c->frame_max = most;
    if (c->conn != NULL)
        net_conn_set_frame_max(c->conn, most);
    return true;
}

static void on_frame(void *owner, struct net_conn *conn, uint8_t *bytes, size_t n)
{
    struct connection *c = owner;
    struct error err = {0};
    struct wire_msg m;
    struct event e = {.kind = EVENT_MESSAGE, .msg = &m};

    if (c->closed || !c->open)
        return;
    if (wire_unpack(&m, &c->unpacker, bytes, n, &err) != STATUS_OK) {
        blame(c, err.status, err.text);
        return;
    }
    party_results_count(&c->run->results, TRAFFIC_DOWN, &m, n, net_conn_traffic(conn));
    /* Whatever the server says next, the round of a held-back message has closed. */
    uv_timer_stop(&c->delay);
    if (m.kind == WIRE_BROADCAST)
        spans_phase(party_session_spans(c->run->session),
                    m.broadcast.opens ? (enum traffic_phase)purpose_of(m.broadcast.purpose)->phase
                                      : TRAFFIC_TRAIN,
                    clock_us());
    c->refused = m.kind == WIRE_REFUSE;
    if (!c->refused)
        c->redial_ms = REDIAL_FIRST_MS;
    driver_tell(c->driver, &e);
    c->grows |= m.kind == WIRE_OFFER || m.kind == WIRE_HELLOS;
    if (!driver_works(c->driver) && !follow_plan(c)) /* or else when that is done */
        blame(c, STATUS_MEMORY, "no memory for the plan's messages");
}

/* What is under way may still be an earlier job's: when it is done, it is dialled again. */
static void on_redial(uv_timer_t *t)
{
    struct connection *c = t->data;

    if (!driver_works(c->driver))
        connection_dial(c);
}

static void plan_redial(struct connection *c)
{
    const uint64_t most = c->refused ? REDIAL_REFUSED_MS : REDIAL_MAX_MS;
    uint64_t wait =
        c->away_ms + c->redial_ms / 2 + rng_below(&c->run->chance, c->redial_ms / 2 + 1);

    c->away_ms = 0;
    c->redial_ms = c->redial_ms * 2 < most ? c->redial_ms * 2 : most;
    uv_timer_start(&c->redial, on_redial, wait, 0);
}

static void log_close(bool was_open, const struct error *why)
{
    if (why->status != STATUS_OK)
        log_write(was_open || status_kind(why->status) != STATUS_KIND_NET ? LOG_LEVEL_WARN
                                                                          : LOG_LEVEL_DEBUG,
                  "%s", why->text);
    else if (was_open)
        log_warn("the server closed the connection");
}

static void on_close(void *owner, struct net_conn *conn, const struct error *why)
{
    struct connection *c = owner;
    struct error as_net = *why;
    const struct event e = {.kind = EVENT_LOST, .error = &as_net};
    const bool was_open = c->open, works = driver_works(c->driver);

    (void)conn;
    /* Bytes that were damaged on their way break a stream that was good: another one may be. */
    if (was_open && why->status == STATUS_PROTOCOL)
        as_net.status = STATUS_NET;
    c->conn = NULL;
    c->open = false;
    uv_timer_stop(&c->delay);
    if (c->closed)
        return;
    if (c->away_ms == 0)
        log_close(was_open, why);
    if (works || was_open || status_kind(why->status) != STATUS_KIND_NET)
        driver_tell(c->driver, &e);
    /* Or else when the work is done and the session knows of the loss, which may begin some. */
    if (!driver_works(c->driver) && !c->closed)
        plan_redial(c);
}

void connection_dial(struct connection *c)
{
    static const struct net_events events = {on_open, on_frame, on_close};
    struct net_side side = {c->uv, c->tls, &events, c};
    struct error err = {0};

    if (c->closed || c->conn != NULL)
        return;
    if (net_dial(&c->conn, &side, config_of(c)->server, c->run->in->roster.server.name, &err) ==
        STATUS_OK)
        return;
    c->conn = NULL;
    log_warn("%s", err.text);
    plan_redial(c);
}

/* --- what the loop wants of it --- */

void connection_pause(struct connection *c, bool paused)
{
    if (c->conn == NULL) {
        if (!paused)
            plan_redial(c);
        return;
    }
    net_conn_pause(c->conn, paused);
    if (!paused && !follow_plan(c)) {
        log_error("no memory for the plan's messages");
        net_conn_close(c->conn, false);
    }
}

void connection_leave(struct connection *c, uint64_t away_ms)
{
    if (c->closed || c->conn == NULL)
        return;
    log_warn("away from the server for %.3g s, as one who is not there", (double)away_ms / 1000);
    c->away_ms = away_ms;
    net_conn_close(c->conn, false);
}

void connection_end_run(struct connection *c, const struct error *why)
{
    if (driver_works(c->driver))
        give_up(c, why);
    else
        driver_tell(c->driver, &(struct event){.kind = EVENT_LOST, .error = why});
}

void connection_reload(struct connection *c)
{
    struct net_identity id = keyfiles_identity(&config_of(c)->identity);
    struct error err = {0};

    if (net_tls_reload(c->tls, &id, &err) != STATUS_OK)
        log_error("reload: %s", err.text);
    else if (c->conn == NULL || !c->open || net_conn_recheck(c->conn))
        log_info("certificates and CRL read again");
}

/* --- life --- */

void connection_init(struct connection *c, uv_loop_t *uv)
{
    c->uv = uv;
    c->redial_ms = REDIAL_FIRST_MS;
    uv_timer_init(uv, &c->redial);
    uv_timer_init(uv, &c->delay);
    c->redial.data = c->delay.data = c;
}

enum status connection_load_tls(struct connection *c, struct error *err)
{
    struct net_identity id = keyfiles_identity(&config_of(c)->identity);
    uint8_t own[NET_SPKI_BYTES];
    int64_t expires_in_s;
    enum status s = net_tls_new(&c->tls, false, &id, err);

    if (s != STATUS_OK)
        return s;
    net_tls_own(c->tls, own, &expires_in_s);
    if (memcmp(own, c->run->in->roster.party[c->run->in->self].key, sizeof own) != 0)
        return error_set(err, STATUS_CONFIG, "identity.cert: not the certificate of identity.key");
    if (expires_in_s < 14 * 86400)
        log_warn("this certificate expires in %lld days", (long long)(expires_in_s / 86400));
    return STATUS_OK;
}

enum status connection_begin(struct connection *c, struct error *err)
{
    enum status s;

    c->frame_max = WIRE_SETUP_MAX;
    buf_init(&c->frame, WIRE_PAYLOAD_MAX);
    buf_init(&c->delayed, WIRE_PAYLOAD_MAX);
    s = wire_unpacker_init(&c->unpacker, c->frame_max);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

void connection_close(struct connection *c)
{
    c->closed = true;
    if (c->conn != NULL)
        net_conn_close(c->conn, true);
    uv_close((uv_handle_t *)&c->redial, NULL);
    uv_close((uv_handle_t *)&c->delay, NULL);
}

void connection_deinit(struct connection *c)
{
    wire_unpacker_deinit(&c->unpacker);
    buf_deinit(&c->frame);
    buf_deinit(&c->delayed);
    net_tls_free(c->tls);
}
