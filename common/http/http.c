/* http.c -- libmicrohttpd, driven by its epoll descriptor from our loop.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/http/http.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/process.h"
#include "common/crypto/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TICK_MS = 1000 };

/* A request: read, then answered, or waiting for that (suspended). */
struct http_later {
    struct http *http;
    struct MHD_Connection *conn;
    struct buf body;
    size_t client;
    bool waits, replied;
    struct http_answer answer; /* replied: what */
};

struct http_connection {
    struct MHD_Connection *conn; /* NULL: free */
    struct http_later *asks;     /* NULL: no request that has its token */
    uint64_t since_us;           /* it is open, or its last request was over, or answered */
    uint64_t head_us;            /* its last head was here */
};

struct http {
    struct http_setup setup;
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    char token[HTTP_CLIENTS_MAX][HTTP_TOKEN_MAX];
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned closing; /* handles that are still to close */
    unsigned port;
    size_t connections_max, connections_n, body_max;
    struct http_connection connection[HTTP_PORT_CONNECTIONS_MAX];
};

static void on_timer(uv_timer_t *t);

static bool has_name(const struct http *h)
{
    return h->path[0] != 0;
}

/* --- one request --- */

static enum MHD_Result reply(struct MHD_Connection *conn, const struct http_answer *a, bool last)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->body.len, a->body.len > 0 ? a->body.data : (void *)(uintptr_t) "",
        MHD_RESPMEM_MUST_COPY);
    enum MHD_Result ok;
    char text[16];

    if (r == NULL)
        return MHD_NO;
    ok = MHD_add_response_header(r, "Content-Type", a->type);
    snprintf(text, sizeof text, "%u", a->retry_s);
    if (ok == MHD_YES && a->retry_s > 0)
        ok = MHD_add_response_header(r, "Retry-After", text);
    if (ok == MHD_YES && last)
        ok = MHD_add_response_header(r, "Connection", "close");
    if (ok == MHD_YES)
        ok = MHD_queue_response(conn, a->status, r);
    MHD_destroy_response(r);
    return ok;
}

/* Nothing that comes behind it is looked at. */
static enum MHD_Result refuse(struct MHD_Connection *conn, unsigned status, const char *why)
{
    struct http_answer a = {.status = status, .type = "application/json"};
    enum MHD_Result ok = MHD_NO;

    buf_init(&a.body, 256);
    if (buf_printf(&a.body, "{\"error\": \"%s\"}\n", why) == STATUS_OK)
        ok = reply(conn, &a, true);
    buf_deinit(&a.body);
    return ok;
}

static const char *header(struct MHD_Connection *conn, const char *name)
{
    return MHD_lookup_connection_value(conn, MHD_HEADER_KIND, name);
}

/* Whose it is; HTTP_CLIENTS_MAX: nobody's.  In a time that does not depend on how much of it is
 * right. */
static size_t client_of(const struct http *h, struct MHD_Connection *conn)
{
    const char *said = header(conn, "Authorization");
    size_t who = HTTP_CLIENTS_MAX;

    if (said == NULL || strncmp(said, "Bearer ", 7) != 0)
        return who;
    for (size_t i = 0; i < h->setup.tokens_n; i++) {
        const size_t n = strlen(h->token[i]);

        if (n > 0 && strlen(said) == n + 7 && secret_equal(said + 7, h->token[i], n) == 1)
            who = i;
    }
    return who;
}

/* A page of somebody else's has an Origin, and a name of its own that leads here has another Host.
 */
static bool is_of_a_browser(const struct http *h, struct MHD_Connection *conn)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = header(conn, "Host");

    if (header(conn, "Origin") != NULL)
        return true;
    for (size_t i = 0; host != NULL && i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);

        if (strncmp(host, names[i], n) == 0 && (host[n] == 0 || host[n] == ':'))
            return false;
    }
    return !has_name(h);
}

struct seen {
    unsigned hosts, tokens, lengths, codings;
};

static enum MHD_Result see(void *owner, enum MHD_ValueKind kind, const char *name,
                           const char *value)
{
    struct seen *n = owner;

    (void)kind, (void)value;
    n->hosts += strcasecmp(name, "Host") == 0;
    n->tokens += strcasecmp(name, "Authorization") == 0;
    n->lengths += strcasecmp(name, "Content-Length") == 0;
    n->codings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* A proxy before it may take another of two for what is meant, and then what is one request's body
 * here for the next request there. */
static bool is_ambiguous(struct MHD_Connection *conn)
{
    struct seen n = {0};

    (void)MHD_get_connection_values(conn, MHD_HEADER_KIND, see, &n);
    return n.hosts > 1 || n.tokens > 1 || n.lengths + n.codings > 1;
}

static bool too_long(const struct http *h, struct MHD_Connection *conn)
{
    const char *n = header(conn, "Content-Length");

    return n != NULL && strtoull(n, NULL, 10) > h->body_max;
}

static struct http_connection *connection_of(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

/* The head is here: is there to be a body? */
static enum MHD_Result begin(struct http *h, struct MHD_Connection *conn, void **request)
{
    const size_t client = client_of(h, conn);
    struct http_connection *c = connection_of(conn);
    struct http_later *l;

    if (is_ambiguous(conn))
        return refuse(conn, MHD_HTTP_BAD_REQUEST, "a header is there twice");
    if (is_of_a_browser(h, conn))
        return refuse(conn, MHD_HTTP_FORBIDDEN, "no page in a browser is answered");
    if (client == HTTP_CLIENTS_MAX)
        return refuse(conn, MHD_HTTP_UNAUTHORIZED, "a request needs the token");
    if (too_long(h, conn))
        return refuse(conn, MHD_HTTP_CONTENT_TOO_LARGE, "the request is too long");
    l = mem_alloc(1, sizeof *l);
    if (l == NULL || c == NULL) {
        mem_free(l);
        return MHD_NO;
    }
    l->http = h;
    l->conn = conn;
    l->client = client;
    buf_init(&l->body, h->body_max);
    buf_init(&l->answer.body, HTTP_ANSWER_MAX);
    c->asks = l;
    c->head_us = h->setup.clock_us();
    *request = l;
    return MHD_YES;
}

static enum MHD_Result finish(struct http *h, struct http_later *l, struct http_request *r)
{
    struct http_answer *a = &l->answer;
    enum MHD_Result ok = MHD_YES;

    if (!l->replied) {
        a->status = MHD_HTTP_OK;
        a->type = "application/json";
    }
    r->later = l;
    r->client = l->client;
    if (!l->replied && !h->setup.answer(h->setup.owner, r, a) && !l->replied) {
        l->waits = true;
        buf_deinit(&l->body); /* it has been read */
        MHD_suspend_connection(l->conn);
        return ok;
    }
    ok = reply(l->conn, a, has_name(h));
    buf_deinit(&a->body);
    return ok;
}

static enum MHD_Result on_request(void *owner, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **request)
{
    struct http *h = owner;
    struct http_later *l = *request;

    (void)version;
    if (l == NULL)
        return begin(h, conn, request);
    if (*n > 0) {
        if (buf_append(&l->body, data, *n) != STATUS_OK)
            return MHD_NO; /* more than it said: its connection ends */
        *n = 0;
        return MHD_YES;
    }
    return finish(h, l,
                  &(struct http_request){
                      .method = method, .path = path, .body = l->body.data, .n = l->body.len});
}

static void on_completed(void *owner, struct MHD_Connection *conn, void **request,
                         enum MHD_RequestTerminationCode why)
{
    struct http *h = owner;
    struct http_connection *c = connection_of(conn);
    struct http_later *l = *request;

    (void)why;
    if (c != NULL) {
        c->since_us = h->setup.clock_us();
        c->asks = NULL;
    }
    if (l != NULL) {
        buf_deinit(&l->body);
        buf_deinit(&l->answer.body);
    }
    mem_free(l);
    *request = NULL;
}

void http_reply(struct http_later *l, const struct http_answer *a)
{
    l->answer.status = a->status;
    l->answer.type = a->type;
    l->answer.retry_s = a->retry_s;
    l->replied = true;
    if (buf_append(&l->answer.body, a->body.data, a->body.len) != STATUS_OK)
        l->answer.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    if (!l->waits) /* yet: finish() finds the answer */
        return;
    l->waits = false;
    connection_of(l->conn)->since_us = l->http->setup.clock_us();
    MHD_resume_connection(l->conn);
    uv_timer_start(&l->http->timer, on_timer, 0, 0); /* once for all that are answered together */
}

/* --- connections --- */

static void on_connection(void *owner, struct MHD_Connection *conn, void **socket,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = owner;
    struct http_connection *c = *socket;

    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
        if (c != NULL) {
            c->conn = NULL;
            h->connections_n--;
        }
        *socket = NULL;
        return;
    }
    for (size_t i = 0; i < h->connections_max; i++) {
        if (h->connection[i].conn != NULL)
            continue;
        h->connection[i] = (struct http_connection){conn, NULL, h->setup.clock_us(), 0};
        h->connections_n++;
        *socket = &h->connection[i];
        return;
    }
}

static bool is_full(const struct http *h)
{
    return h->connections_n == h->connections_max;
}

/* While others wait for a place, who has no request that is whole is soon gone, token or not: a
 * client could keep all places by bodies that never end. */
static bool is_late(const struct http *h, const struct http_connection *c, uint64_t now_us)
{
    const uint64_t last_us = c->head_us > c->since_us ? c->head_us : c->since_us;

    return now_us - c->since_us >= HTTP_DEADLINE_S * 1000000ull ||
           (is_full(h) && now_us - last_us >= HTTP_FULL_S * 1000000ull);
}

/* Whoever sends a byte now and then is never idle.  A request that waits has a deadline of its own
 * (struct http_setup, answer). */
static bool end_late(struct http *h)
{
    const uint64_t now_us = h->setup.clock_us();

    for (size_t i = 0; i < h->connections_max; i++) {
        const struct http_connection *c = &h->connection[i];
        const union MHD_ConnectionInfo *info;

        if (c->conn == NULL || (c->asks != NULL && c->asks->waits) || !is_late(h, c, now_us))
            continue;
        info = MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL)
            (void)shutdown(info->connect_fd, SHUT_RDWR);
    }
    return h->connections_n > 0;
}

/* --- the loop --- */

static void go_on(struct http *h);

static void on_timer(uv_timer_t *t)
{
    go_on(t->data);
}

static void go_on(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;
    bool full;

    /* While all places are taken the library does not look at the socket, and it looks again only
     * when it is next called: without that, whoever waits there would wait for ever. */
    do {
        full = is_full(h);
        (void)MHD_run(h->daemon);
    } while (full && !is_full(h));
    if (MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > TICK_MS)
        ms = TICK_MS;
    if (end_late(h))
        uv_timer_start(&h->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&h->timer);
}

static void on_readable(uv_poll_t *p, int status, int events)
{
    (void)status;
    (void)events;
    go_on(p->data);
}

/* --- life --- */

/* One that is in the way is a socket that an earlier process has left. */
static enum status listen_at_path(int *fd, const char *path, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat is;

    if (strlen(path) >= sizeof at.sun_path)
        return error_set(err, STATUS_CONFIG, "%s: longer than the %zu bytes of a socket's name",
                         path, sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path));
    if (lstat(path, &is) == 0 && S_ISSOCK(is.st_mode))
        (void)unlink(path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && bind(*fd, (struct sockaddr *)&at, sizeof at) == 0 && chmod(path, 0600) == 0 &&
        listen(*fd, HTTP_CONNECTIONS_MAX) == 0)
        return STATUS_OK;
    error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return STATUS_IO;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* False: not on loopback, or no address. */
static bool read_address(union address *at, socklen_t *len, const char *text)
{
    const char *colon = strrchr(text, ':');
    char host[64], *end;
    unsigned long port;

    memset(at, 0, sizeof *at);
    if (colon == NULL || (size_t)(colon - text) >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    port = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != 0 || port > UINT16_MAX)
        return false;
    if (strcmp(host, "[::1]") == 0) {
        at->v6.sin6_family = AF_INET6;
        at->v6.sin6_addr = in6addr_loopback;
        at->v6.sin6_port = htons((uint16_t)port);
        *len = sizeof at->v6;
        return true;
    }
    at->v4.sin_family = AF_INET;
    at->v4.sin_port = htons((uint16_t)port);
    *len = sizeof at->v4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &at->v4.sin_addr) == 1 &&
           ntohl(at->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static enum status listen_at_port(int *fd, unsigned *port, const char *address, struct error *err)
{
    const int on = 1;
    union address at;
    socklen_t len = 0;

    if (!read_address(&at, &len, address))
        return error_set(err, STATUS_CONFIG, "%s: no address of loopback with a port", address);
    *fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(*fd, &at.any, len) == 0 && listen(*fd, HTTP_PORT_CONNECTIONS_MAX) == 0 &&
        getsockname(*fd, &at.any, &len) == 0) {
        *port = ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
        return STATUS_OK;
    }
    error_set(err, STATUS_IO, "%s: %s", address, strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return STATUS_IO;
}

static void say_nothing(void *owner, const char *format, va_list args)
{
    (void)owner;
    (void)format;
    (void)args;
}

static enum status start(struct http *h, int fd, struct error *err)
{
    h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME, 0,
                                 NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, say_nothing,
                                 NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)h->connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
                                 (unsigned)HTTP_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)HTTP_HEAD_MAX, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
                                 h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (h->daemon != NULL)
        return STATUS_OK;
    close(fd);
    return error_set(err, STATUS_IO, "libmicrohttpd does not start");
}

static enum status open_socket(struct http *h, struct error *err)
{
    const struct http_setup *setup = &h->setup;
    const bool named = setup->path != NULL;
    int fd = -1;
    enum status s = named ? listen_at_path(&fd, setup->path, err)
                          : listen_at_port(&fd, &h->port, setup->address, err);

    if (s != STATUS_OK)
        return s;
    if (named)
        snprintf(h->path, sizeof h->path, "%s", setup->path);
    /* Whoever is on this host may open them all, and parties and files need theirs. */
    h->connections_max = named ? HTTP_CONNECTIONS_MAX : process_files(HTTP_PORT_CONNECTIONS_MAX);
    h->body_max = named ? HTTP_BODY_MAX : HTTP_PORT_BODY_MAX;
    return start(h, fd, err);
}

enum status http_open(struct http **out, uv_loop_t *uv, const struct http_setup *setup,
                      struct error *err)
{
    struct http *h = mem_alloc(1, sizeof *h);
    const union MHD_DaemonInfo *info;
    enum status s;

    if (h == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    h->setup = *setup;
    if (h->setup.clock_us == NULL)
        h->setup.clock_us = clock_us;
    CHECK(setup->tokens_n <= HTTP_CLIENTS_MAX);
    memcpy(h->token, setup->tokens, setup->tokens_n * sizeof *h->token);
    s = open_socket(h, err);
    if (s != STATUS_OK) {
        secret_wipe(h->token, sizeof h->token);
        mem_free(h);
        return s;
    }
    info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_timer_init(uv, &h->timer);
    uv_poll_init(uv, &h->poll, info->epoll_fd);
    h->timer.data = h->poll.data = h;
    uv_poll_start(&h->poll, UV_READABLE, on_readable);
    *out = h;
    return STATUS_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct http *h = handle->data;

    if (--h->closing > 0)
        return;
    MHD_stop_daemon(h->daemon);
    if (has_name(h))
        (void)unlink(h->path);
    secret_wipe(h->token, sizeof h->token);
    mem_free(h);
}

void http_set_tokens(struct http *h, const char (*tokens)[HTTP_TOKEN_MAX], size_t n)
{
    CHECK(n <= HTTP_CLIENTS_MAX);
    secret_wipe(h->token, sizeof h->token);
    memcpy(h->token, tokens, n * sizeof *h->token);
    h->setup.tokens_n = n;
}

unsigned http_port(const struct http *h)
{
    return h->port;
}

/* Nobody else answers it any more. */
static void end_waiting(struct http *h)
{
    for (size_t i = 0; i < h->connections_max; i++) {
        struct http_later *l = h->connection[i].conn == NULL ? NULL : h->connection[i].asks;

        if (l != NULL && l->waits)
            http_reply(l, &(struct http_answer){.status = MHD_HTTP_SERVICE_UNAVAILABLE,
                                                .type = "application/json"});
    }
}

void http_close(struct http *h)
{
    if (h == NULL)
        return;
    end_waiting(h);
    (void)MHD_run(h->daemon); /* what was answered last goes out */
    h->closing = 2;
    uv_poll_stop(&h->poll);
    uv_close((uv_handle_t *)&h->poll, on_closed);
    uv_close((uv_handle_t *)&h->timer, on_closed);
}
