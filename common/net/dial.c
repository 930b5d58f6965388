/* dial.c -- the way out to the server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/dial.h"

#include "common/base/check.h"
#include "common/base/mem.h"

struct dial {
    struct net_conn *conn;
    uv_getaddrinfo_t resolve;
    uv_connect_t connect;
    struct addrinfo *found, *next;
    char *host_port, *peer_name;
};

static void try_address(struct dial *d, const struct sockaddr *address);

static void try_next(struct dial *d)
{
    struct addrinfo *a = d->next;

    d->next = a->ai_next;
    try_address(d, a->ai_addr);
}

/* A socket that has failed to connect cannot be used for the next address. */
static void on_failed_closed(uv_handle_t *handle)
{
    struct net_conn *c = handle->data;

    if (c->state == CONN_CLOSING) {
        conn_handle_closed(handle);
        return;
    }
    CHECK(uv_tcp_init(c->read_timer.loop, &c->tcp) == 0); /* it only fills in the structure */
    c->tcp.data = c;
    try_next(c->dial);
}

static void failed(struct dial *d, int error)
{
    struct net_conn *c = d->conn;

    if (d->next != NULL)
        uv_close((uv_handle_t *)&c->tcp, on_failed_closed);
    else
        conn_fail(c, STATUS_NET, "%s", uv_strerror(error));
}

static void on_connect(uv_connect_t *req, int status)
{
    struct dial *d = req->data;
    struct net_conn *c = d->conn;

    if (c->state == CONN_CLOSING)
        return;
    if (status != 0)
        failed(d, status);
    else
        conn_start(c, d->peer_name);
}

static void try_address(struct dial *d, const struct sockaddr *address)
{
    int rc;

    d->connect.data = d;
    rc = uv_tcp_connect(&d->connect, &d->conn->tcp, address, on_connect);
    if (rc != 0)
        failed(d, rc);
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct dial *d = req->data;
    struct net_conn *c = d->conn;

    d->found = found;
    if (c->state == CONN_CLOSING) {
        conn_handle_closed((uv_handle_t *)&c->tcp);
        return;
    }
    c->handles--;
    if (status != 0) {
        conn_fail(c, STATUS_NET, "%s", uv_strerror(status));
        return;
    }
    d->next = found;
    try_next(d);
}

static struct dial *dial_new(struct net_conn *c, const char *host_port, const char *peer_name)
{
    struct dial *d = mem_alloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->conn = c;
    d->host_port = mem_strdup(host_port);
    d->peer_name = mem_strdup(peer_name);
    if (d->host_port == NULL || d->peer_name == NULL) {
        dial_free(d);
        return NULL;
    }
    return d;
}

static void start(struct dial *d, const struct addr_parts *parts)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct sockaddr_storage address;
    struct net_conn *c = d->conn;
    int rc;

    if (addr_from_number(&address, parts)) {
        try_address(d, (struct sockaddr *)&address);
        return;
    }
    d->resolve.data = d;
    rc = uv_getaddrinfo(c->tcp.loop, &d->resolve, on_resolved, parts->host, parts->port, &hints);
    if (rc != 0)
        conn_fail(c, STATUS_NET, "%s", uv_strerror(rc));
    else
        c->handles++;
}

enum status net_dial(struct net_conn **out, const struct net_side *side, const char *host_port,
                     const char *peer_name, struct error *err)
{
    struct addr_parts parts;
    struct net_conn *c;
    enum status s = addr_split(&parts, host_port, err);

    if (s != STATUS_OK)
        return s;
    if (peer_name[0] == 0 || peer_name[0] == '.')
        return error_set(err, STATUS_CONFIG, "%s: '%s' cannot be the name of a server", host_port,
                         peer_name);
    c = conn_new(side->loop, side->tls, side->events, side->owner);
    if (c == NULL)
        return error_set(err, STATUS_MEMORY, "%s: out of memory", host_port);
    c->dial = dial_new(c, host_port, peer_name);
    if (c->dial == NULL) {
        c->events = (struct net_events){0};
        conn_close_now(c);
        return error_set(err, STATUS_MEMORY, "%s: out of memory", host_port);
    }
    *out = c;
    start(c->dial, &parts);
    return STATUS_OK;
}

const char *dial_address(const struct dial *d)
{
    return d->host_port;
}

void dial_cancel(struct dial *d)
{
    if (d != NULL)
        uv_cancel((uv_req_t *)&d->resolve); /* fails harmlessly when it is running or over */
}

void dial_free(struct dial *d)
{
    if (d == NULL)
        return;
    uv_freeaddrinfo(d->found);
    mem_free(d->host_port);
    mem_free(d->peer_name);
    mem_free(d);
}
