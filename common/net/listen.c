/* listen.c -- the listening socket and the connections that are not known yet (threats E4).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/listen.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/input.h"

#include <string.h>

/* BACKLOG: the kernel's queue.  Whoever is in it has its turn before it gives up dialling, since a
 * place is free every NET_YIELD_MS / NET_PENDING_MAX at the latest.  Longer, and those at its end
 * would dial in vain; shorter, and who finds it full depends on when its system asks again. */
enum {
    BACKLOG = NET_PENDING_MAX * (NET_HANDSHAKE_MS / NET_YIELD_MS - 2),
    RETRY_MS = 100,
    PAUSE_MS = 50,
};

struct net_listener {
    uv_tcp_t tcp;
    uv_timer_t retry; /* takes up a connection that had to wait */
    uv_timer_t pause; /* runs as long as the pending owe time */
    struct budget budget;
    unsigned handles;
    struct net_tls *context;
    struct net_events events;
    void *owner;
    unsigned pending_per_address, pending_n;
    struct net_conn *pending;
    bool full; /* one has been reported by libuv and waits; libuv reports no other until it is taken
                */
    uint64_t refused, delayed;
    char address[ADDR_TEXT_MAX];
};

static void on_retry(uv_timer_t *timer);

/* --- the time that they take --- */

struct listen_time listen_time_begin(const struct net_conn *c)
{
    return (struct listen_time){c->listener, c->listener != NULL ? clock_us() : 0};
}

void listen_time_end(const struct listen_time *t)
{
    if (t->listener != NULL)
        budget_spend(&t->listener->budget, &tls_context_limits(t->listener->context)->pending,
                     t->from_us, clock_us());
}

static void on_pause(uv_timer_t *timer);

/* What is owed is looked at again after PAUSE_MS at the latest. */
static bool owes(struct net_listener *l)
{
    uint64_t us = budget_wait_us(&l->budget, &tls_context_limits(l->context)->pending, clock_us());

    if (us == 0)
        return false;
    if (!uv_is_active((uv_handle_t *)&l->pause) && !uv_is_closing((uv_handle_t *)&l->pause))
        uv_timer_start(&l->pause, on_pause, us < 1000 * PAUSE_MS ? us / 1000 + 1 : PAUSE_MS, 0);
    return true;
}

bool listen_must_wait(struct net_conn *c)
{
    if (c->listener == NULL || c->state == CONN_CLOSING || !owes(c->listener))
        return false;
    c->waits = true;
    return true;
}

/* A pause of its owner's lasts; and what it is not open for (its end, perhaps) is read too. */
static void read_on(struct net_conn *c)
{
    if (!c->waits)
        return;
    c->waits = false;
    if (c->state < CONN_CLOSING && !(c->state == CONN_OPEN && c->paused))
        input_start(c);
}

static void on_pause(uv_timer_t *timer)
{
    struct net_listener *l = timer->data;

    if (owes(l))
        return;
    for (struct net_conn *c = l->pending; c != NULL; c = c->pending_next)
        read_on(c);
    if (l->full)
        on_retry(&l->retry);
}

/* --- the connections that are pending --- */

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
    read_on(c);
    if (l->full)
        uv_timer_start(&l->retry, on_retry, 0, 0);
}

void listen_shown(struct net_conn *c)
{
    if (c->listener == NULL)
        return;
    /* Its place is free once it has gone: nothing is taken out of the list here. */
    for (struct net_conn *p = c->listener->pending; p != NULL; p = p->pending_next)
        if (p != c && memcmp(p->key, c->key, sizeof c->key) == 0)
            conn_fail(p, STATUS_NET, "it has not joined, and a newer one of the same key has come");
}

static void remember(struct net_listener *l, struct net_conn *c)
{
    c->listener = l;
    c->pending_since = uv_now(l->tcp.loop);
    c->pending_next = l->pending;
    if (l->pending != NULL)
        l->pending->pending_prev = c;
    l->pending = c;
    l->pending_n++;
}

static unsigned held_by_its_host(const struct net_listener *l, const struct net_conn *c)
{
    unsigned same = 0;

    for (const struct net_conn *p = l->pending; p != NULL; p = p->pending_next)
        same += addr_same_host(&p->peer, &c->peer);
    return same;
}

/* Who has had its second and has shown no certificate gives way to the next in the kernel's queue:
 * the oldest of the host that holds the most, so that many connections from a few addresses cost
 * these addresses and not somebody who comes from another.  Without such a one it is looked for
 * again when the next one has had its second. */
static void make_room(struct net_listener *l)
{
    const uint64_t now = uv_now(l->tcp.loop), grace = tls_context_limits(l->context)->yield_ms;
    struct net_conn *yields = NULL;
    unsigned most = 0;
    uint64_t wait = UINT64_MAX;

    for (struct net_conn *c = l->pending; c != NULL; c = c->pending_next) { /* the newest first */
        const uint64_t age = now - c->pending_since;
        unsigned n;

        if (c->state != CONN_HANDSHAKE)
            continue;
        if (age < grace) {
            wait = wait < grace - age ? wait : grace - age;
            continue;
        }
        n = held_by_its_host(l, c);
        if (n >= most) {
            yields = c;
            most = n;
        }
    }
    if (yields != NULL) /* its place is free, and taken, once it has gone */
        conn_fail(yields, STATUS_NET, "TLS handshake not finished, and others wait");
    else if (wait != UINT64_MAX)
        uv_timer_start(&l->retry, on_retry, wait, 0);
}

/* The 1st, 2nd, 4th, 8th ... time: a flood of connections must not become a flood of lines. */
static bool is_worth_a_line(uint64_t times)
{
    return (times & (times - 1)) == 0;
}

/* Its owner has not heard of it and will not. */
static void refuse(struct net_listener *l, struct net_conn *c)
{
    if (is_worth_a_line(++l->refused))
        log_warn(
            "%s: refused: %u connections from there have not said hello yet (%llu refused so far)",
            c->address, l->pending_per_address, (unsigned long long)l->refused);
    c->events = (struct net_events){0};
    conn_close_now(c);
}

static void take(struct net_listener *l, struct net_conn *c)
{
    int n = sizeof c->peer;

    if (uv_accept((uv_stream_t *)&l->tcp, (uv_stream_t *)&c->tcp) != 0 ||
        uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&c->peer, &n) != 0) {
        c->events = (struct net_events){0};
        conn_close_now(c); /* it has gone again */
        return;
    }
    addr_format(c->address, &c->peer);
    if (held_by_its_host(l, c) >= l->pending_per_address) {
        refuse(l, c);
        return;
    }
    remember(l, c);
    conn_start(c, NULL);
}

/* A connection over the total, or while the pending owe time, waits in the kernel's queue instead
 * of being refused: a hundred parties that start at once are no attack, and whoever fills the
 * places without a certificate loses one a second later (make_room). */
static void take_next(struct net_listener *l)
{
    struct listen_time t = {l, clock_us()};
    struct net_conn *c;

    l->full = true;
    if (owes(l))
        return;
    if (l->pending_n >= tls_context_limits(l->context)->pending_max) {
        if (is_worth_a_line(++l->delayed))
            log_warn("%s: %u connections have not said hello yet; the next ones wait", l->address,
                     l->pending_n);
        make_room(l);
        return;
    }
    c = conn_new(l->tcp.loop, l->context, &l->events, l->owner);
    if (c == NULL) {
        log_error("%s: accept: out of memory", l->address);
        uv_timer_start(&l->retry, on_retry, RETRY_MS, 0);
        return;
    }
    l->full = false;
    take(l, c);
    listen_time_end(&t);
}

static void on_retry(uv_timer_t *timer)
{
    struct net_listener *l = timer->data;

    if (l->full) /* it has not been taken meanwhile */
        take_next(l);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct net_listener *l = server->data;

    if (status < 0)
        log_warn("%s: accept: %s", l->address, uv_strerror(status));
    else
        take_next(l);
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

static void on_listener_closed(uv_handle_t *handle)
{
    struct net_listener *l = handle->data;

    if (--l->handles > 0)
        return;
    net_tls_free(l->context);
    mem_free(l);
}

static void close_handles(struct net_listener *l)
{
    uv_close((uv_handle_t *)&l->tcp, on_listener_closed);
    uv_close((uv_handle_t *)&l->retry, on_listener_closed);
    uv_close((uv_handle_t *)&l->pause, on_listener_closed);
}

static int start(struct net_listener *l, struct sockaddr_storage *address)
{
    int n = sizeof *address;
    int rc = uv_tcp_bind(&l->tcp, (struct sockaddr *)address, 0);

    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(&l->tcp, (struct sockaddr *)address, &n);
    addr_format(l->address, address);
    return rc;
}

enum status net_listen(struct net_listener **out, const struct net_side *side,
                       const char *host_port, unsigned pending_per_address, struct error *err)
{
    struct sockaddr_storage address;
    struct net_listener *l;
    enum status s = resolve(&address, side->loop, host_port, err);
    int rc;

    if (s != STATUS_OK)
        return s;
    l = mem_alloc(1, sizeof *l);
    if (l == NULL)
        return error_set(err, STATUS_MEMORY, "%s: out of memory", host_port);
    l->context = side->tls;
    tls_context_hold(side->tls);
    l->events = *side->events;
    l->owner = side->owner;
    l->pending_per_address = pending_per_address;
    /* These three cannot fail: they only fill in structures. */
    CHECK(uv_tcp_init(side->loop, &l->tcp) == 0 && uv_timer_init(side->loop, &l->retry) == 0 &&
          uv_timer_init(side->loop, &l->pause) == 0);
    l->tcp.data = l->retry.data = l->pause.data = l;
    l->handles = 3;
    budget_init(&l->budget, &tls_context_limits(side->tls)->pending, clock_us());
    rc = start(l, &address);
    if (rc != 0) {
        close_handles(l);
        return error_set(err, STATUS_NET, "listen: %s: %s", host_port, uv_strerror(rc));
    }
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
    close_handles(l);
}
