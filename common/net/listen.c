/* listen.c -- the listening socket and the connections that are not known yet (threats E4).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/listen.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <string.h>

enum { BACKLOG = 256 };

struct net_listener {
    uv_tcp_t tcp;
    struct net_tls *context;
    struct net_events events;
    void *owner;
    unsigned pending_per_address, pending_n;
    struct net_conn *pending;
    uint64_t refused;
    uv_tcp_t unwanted; /* takes a connection for which there was no memory */
    bool dropping, stalled;
    unsigned handles;
    char address[ADDR_HOST_MAX + ADDR_PORT_MAX + 3];
};

void listen_forget(struct net_conn *c)
{
    struct net_listener *l = c->listener;

    if (l == NULL)
        return;
    if (c->pending_prev != NULL)
        c->pending_prev->pending_next = c->pending_next;
    else
        l->pending = c->pending_next;
    if (c->pending_next != NULL)
        c->pending_next->pending_prev = c->pending_prev;
    l->pending_n--;
    c->pending_prev = c->pending_next = NULL;
    c->listener = NULL;
}

static void remember(struct net_listener *l, struct net_conn *c)
{
    c->listener = l;
    c->pending_next = l->pending;
    if (l->pending != NULL)
        l->pending->pending_prev = c;
    l->pending = c;
    l->pending_n++;
}

static bool has_room(const struct net_listener *l, const struct net_conn *c)
{
    unsigned same = 0;

    if (l->pending_n >= tls_context_limits(l->context)->pending_max)
        return false;
    for (const struct net_conn *p = l->pending; p != NULL; p = p->pending_next)
        same += addr_same_host(&p->peer, &c->peer);
    return same < l->pending_per_address;
}

/* Its owner has not heard of it and will not.  The log line comes ever more rarely, so that a flood
 * of connections is not a flood of lines. */
static void refuse(struct net_listener *l, struct net_conn *c)
{
    l->refused++;
    if ((l->refused & (l->refused - 1)) == 0)
        log_warn("%s: refused, too many connections without a hello (%u, %llu refused so far)",
                 c->address, l->pending_n, (unsigned long long)l->refused);
    c->events = (struct net_events){0};
    conn_close_now(c);
}

static void on_connection(uv_stream_t *server, int status);

static void on_listener_closed(uv_handle_t *handle)
{
    struct net_listener *l = handle->data;

    if (--l->handles > 0)
        return;
    net_tls_free(l->context);
    mem_free(l);
}

static void on_dropped(uv_handle_t *handle)
{
    struct net_listener *l = handle->data;

    l->dropping = false;
    if (l->stalled && !uv_is_closing((uv_handle_t *)&l->tcp)) {
        l->stalled = false;
        on_connection((uv_stream_t *)&l->tcp, 0);
    }
    on_listener_closed(handle);
}

/* libuv listens no further until a connection that it has reported is taken, so it is taken and
 * closed. */
static void drop(struct net_listener *l)
{
    if (l->dropping) {
        l->stalled = true;
        return;
    }
    log_error("%s: accept: out of memory", l->address);
    CHECK(uv_tcp_init(l->tcp.loop, &l->unwanted) == 0); /* it only fills in the structure */
    l->unwanted.data = l;
    l->dropping = true;
    l->handles++;
    uv_accept((uv_stream_t *)&l->tcp, (uv_stream_t *)&l->unwanted);
    uv_close((uv_handle_t *)&l->unwanted, on_dropped);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct net_listener *l = server->data;
    struct net_conn *c;
    int n = sizeof c->peer;

    if (status < 0) {
        log_warn("%s: accept: %s", l->address, uv_strerror(status));
        return;
    }
    c = conn_new(server->loop, l->context, &l->events, l->owner);
    if (c == NULL) {
        drop(l);
        return;
    }
    if (uv_accept(server, (uv_stream_t *)&c->tcp) != 0 ||
        uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&c->peer, &n) != 0) {
        c->events = (struct net_events){0};
        conn_close_now(c); /* it has gone again */
        return;
    }
    addr_format(c->address, &c->peer);
    if (!has_room(l, c)) {
        refuse(l, c);
        return;
    }
    remember(l, c);
    conn_start(c, NULL);
}

static enum status resolve(struct sockaddr_storage *out, uv_loop_t *loop, const char *host_port,
                           struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addr_parts parts;
    uv_getaddrinfo_t req;
    enum status s = addr_split(&parts, host_port, err);
    int rc;

    if (s != STATUS_OK || addr_from_number(out, &parts))
        return s;
    /* Without a callback it blocks, which a daemon may do before it serves anybody. */
    rc = uv_getaddrinfo(loop, &req, NULL, parts.host, parts.port, &hints);
    if (rc != 0)
        return error_set(err, STATUS_CONFIG, "%s: %s", host_port, uv_strerror(rc));
    memset(out, 0, sizeof *out);
    memcpy(out, req.addrinfo->ai_addr, req.addrinfo->ai_addrlen);
    uv_freeaddrinfo(req.addrinfo);
    return STATUS_OK;
}

enum status net_listen(struct net_listener **out, uv_loop_t *loop, const char *host_port,
                       struct net_tls *tls, unsigned pending_per_address,
                       const struct net_events *events, void *owner, struct error *err)
{
    struct sockaddr_storage address;
    struct net_listener *l;
    enum status s = resolve(&address, loop, host_port, err);
    int rc, n = sizeof address;

    if (s != STATUS_OK)
        return s;
    l = mem_alloc(1, sizeof *l);
    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "%s: out of memory", host_port);
    l->context = tls;
    tls_context_hold(tls);
    l->events = *events;
    l->owner = owner;
    l->pending_per_address = pending_per_address;
    rc = uv_tcp_init(loop, &l->tcp);
    if (rc != 0) {
        net_tls_free(tls);
        mem_free(l);
        return error_set(err, STATUS_NET, "%s: %s", host_port, uv_strerror(rc));
    }
    l->tcp.data = l;
    l->handles = 1;
    rc = uv_tcp_bind(&l->tcp, (struct sockaddr *)&address, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&address, &n);
    if (rc != 0) {
        uv_close((uv_handle_t *)&l->tcp, on_listener_closed);
        return error_set(err, STATUS_NET, "listen: %s: %s", host_port, uv_strerror(rc));
    }
    addr_format(l->address, &address);
    *out = l;
    return STATUS_OK;
}

const char *net_listener_address(const struct net_listener *l)
{
    return l->address;
}

void net_listener_close(struct net_listener *l)
{
    while (l->pending != NULL) {
        struct net_conn *c = l->pending;
        listen_forget(c);
        if (c->state < CONN_OPEN) /* its owner cannot know it */
            conn_close_now(c);
    }
    uv_close((uv_handle_t *)&l->tcp, on_listener_closed);
}
