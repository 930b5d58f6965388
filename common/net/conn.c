/* conn.c -- how a connection begins and ends, and what its owner may ask of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/conn.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/net/dial.h"
#include "common/net/input.h"
#include "common/net/listen.h"
#include "common/net/output.h"
#include "common/net/shape.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

enum { KEEPALIVE_S = 30, USER_TIMEOUT_MS = 90000 };

static void on_handshake_late(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;
    double seconds = (double)tls_context_limits(c->context)->handshake_ms / 1000;

    if (c->state == CONN_DIALLING)
        conn_fail(c, STATUS_NET, "no connection within %g s", seconds);
    else
        conn_fail(c, STATUS_NET, "TLS handshake not finished within %g s", seconds);
}

struct net_conn *conn_new(uv_loop_t *loop, struct net_tls *context, const struct net_events *events,
                          void *owner)
{
    struct net_conn *c = mem_alloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->context = context;
    tls_context_hold(context);
    c->events = *events;
    c->owner = owner;
    c->queue_max = CONN_QUEUE_MAX;
    frame_parser_init(&c->parser, NET_FRAME_PREAUTH_MAX);
    buf_init(&c->kept_plain, TLS_RECORD_MAX);
    buf_init(&c->flying, SIZE_MAX / 2);
    buf_init(&c->waiting, SIZE_MAX / 2);
    /* These four cannot fail: they only fill in structures. */
    CHECK(uv_tcp_init(loop, &c->tcp) == 0);
    CHECK(uv_timer_init(loop, &c->read_timer) == 0);
    CHECK(uv_timer_init(loop, &c->write_timer) == 0);
    CHECK(uv_timer_init(loop, &c->recheck_timer) == 0);
    c->tcp.data = c->read_timer.data = c->write_timer.data = c->recheck_timer.data = c;
    c->handles = 4;
    CHECK(uv_timer_start(&c->read_timer, on_handshake_late,
                         tls_context_limits(context)->handshake_ms, 0) == 0);
    return c;
}

/* Small frames must not wait for acknowledgements, and a silent peer must not stay for hours. */
static void set_socket_options(struct net_conn *c)
{
    unsigned timeout = USER_TIMEOUT_MS;
    uv_os_fd_t fd;

    uv_tcp_nodelay(&c->tcp, 1);
    uv_tcp_keepalive(&c->tcp, 1, KEEPALIVE_S);
    if (uv_fileno((uv_handle_t *)&c->tcp, &fd) == 0)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

void conn_start(struct net_conn *c, const char *peer_name)
{
    int n = sizeof c->peer;

    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&c->peer, &n) == 0)
        addr_format(c->address, &c->peer);
    set_socket_options(c);
    c->state = CONN_HANDSHAKE;
    c->tls = tls_open(c->context, peer_name, &c->traffic);
    if (c->tls == NULL) {
        conn_fail(c, STATUS_MEMORY, "TLS: out of memory");
        return;
    }
    if (input_start(c))
        input_run(c);
}

static void on_recheck(uv_timer_t *timer)
{
    net_conn_recheck(timer->data);
}

void conn_opened(struct net_conn *c)
{
    const uint64_t every = tls_context_limits(c->context)->recheck_ms;

    c->state = CONN_OPEN;
    uv_timer_start(&c->recheck_timer, on_recheck, every, every);
}

/* --- the end --- */

void conn_blame(struct net_conn *c, enum status s, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list args;

    if (c->err.status != STATUS_OK)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    error_set(&c->err, s, "%s", text);
    error_wrap(&c->err, "%s", c->dial != NULL ? dial_address(c->dial) : c->address);
}

static void gone(struct net_conn *c)
{
    listen_forget(c);
    if (c->events.on_close != NULL)
        c->events.on_close(c->owner, c, &c->err);
    tls_close(c->tls);
    input_deinit(c);
    output_deinit(c);
    shape_free(c->shape);
    dial_free(c->dial);
    net_tls_free(c->context);
    mem_free(c);
}

void conn_handle_closed(uv_handle_t *handle)
{
    struct net_conn *c = handle->data;
    struct listen_time t;

    if (--c->handles > 0)
        return;
    t = listen_time_begin(c);
    gone(c);
    listen_time_end(&t);
}

void conn_close_now(struct net_conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    c->state = CONN_CLOSING;
    dial_cancel(c->dial);
    shape_close(c->shape);
    uv_close((uv_handle_t *)&c->read_timer, conn_handle_closed);
    uv_close((uv_handle_t *)&c->write_timer, conn_handle_closed);
    uv_close((uv_handle_t *)&c->recheck_timer, conn_handle_closed);
    if (!uv_is_closing((uv_handle_t *)&c->tcp)) /* dial may be about to try another address */
        uv_close((uv_handle_t *)&c->tcp, conn_handle_closed);
}

void conn_fail(struct net_conn *c, enum status s, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    conn_blame(c, s, "%s", text);
    conn_close_now(c);
}

static void on_flush_late(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;

    if (c->state == CONN_FLUSHING)
        conn_blame(c, STATUS_NET, "peer did not take the last %zu bytes", output_queued(c));
    conn_close_now(c);
}

void conn_finish(struct net_conn *c)
{
    if (c->state >= CONN_FLUSHING)
        return;
    c->state = CONN_FLUSHING;
    uv_timer_stop(&c->read_timer);
    uv_timer_start(&c->write_timer, on_flush_late, tls_context_limits(c->context)->write_stuck_ms,
                   0);
    if (c->paused)
        input_start(c); /* to see the peer's end */
    conn_drained(c);
}

static void on_shut(uv_shutdown_t *req, int status)
{
    struct net_conn *c = req->handle->data;

    if (c->state == CONN_CLOSING)
        return;
    if (status < 0)
        conn_blame(c, STATUS_NET, "%s", uv_strerror(status));
    if (status < 0 || c->peer_ended)
        conn_close_now(c);
}

void conn_drained(struct net_conn *c)
{
    if (c->state != CONN_FLUSHING || !output_idle(c) || shape_queued(c->shape) > 0)
        return;
    c->state = CONN_LINGERING;
    if (c->err.status == STATUS_OK) {
        output_begin(c);
        tls_goodbye(c->tls);
        output_flush(c);
    }
    if (c->write_error != 0 ||
        uv_shutdown(&c->shutdown_req, (uv_stream_t *)&c->tcp, on_shut) != 0) {
        conn_close_now(c);
        return;
    }
    uv_timer_start(&c->write_timer, on_flush_late, tls_context_limits(c->context)->linger_ms, 0);
}

/* --- the owner's side --- */

void net_conn_accept(struct net_conn *c, size_t frame_max)
{
    listen_forget(c);
    frame_parser_set_max(&c->parser, frame_max);
}

void net_conn_set_frame_max(struct net_conn *c, size_t frame_max)
{
    frame_parser_set_max(&c->parser, frame_max);
}

void net_conn_set_queue_max(struct net_conn *c, size_t bytes)
{
    c->queue_max = bytes;
}

void net_conn_close(struct net_conn *c, bool flush)
{
    if (flush && c->state == CONN_OPEN)
        conn_finish(c);
    else if (!flush || c->state < CONN_OPEN)
        conn_close_now(c);
}

bool net_conn_recheck(struct net_conn *c)
{
    struct error err = {0};

    if (c->state != CONN_OPEN)
        return false;
    if (tls_recheck(c->tls, &err) == STATUS_OK)
        return true;
    conn_fail(c, err.status, "%s", err.text);
    return false;
}

const struct net_traffic *net_conn_traffic(const struct net_conn *c)
{
    return &c->traffic;
}

const char *net_conn_address(const struct net_conn *c)
{
    return c->address;
}

bool net_conn_has_name(const struct net_conn *c, const char *name)
{
    return c->tls != NULL && tls_peer_has_name(c->tls, name);
}

void net_conn_set_data(struct net_conn *c, void *data)
{
    c->data = data;
}

void *net_conn_data(const struct net_conn *c)
{
    return c->data;
}
