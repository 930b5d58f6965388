/* http.c -- libmicrohttpd, driven by its epoll descriptor from our loop.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/http/http.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TICK_MS = 1000 };

struct http_connection {
    struct MHD_Connection *conn; /* NULL: free */
    uint64_t since_us;
};

struct http {
    struct http_setup setup;
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path], token[HTTP_TOKEN_MAX];
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned closing; /* handles that are still to close */
    struct http_connection connection[HTTP_CONNECTIONS_MAX];
};

/* --- one request --- */

static enum MHD_Result reply(struct MHD_Connection *conn, const struct http_answer *a)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->body.len, a->body.len > 0 ? a->body.data : (void *)(uintptr_t) "",
        MHD_RESPMEM_MUST_COPY);
    enum MHD_Result ok;

    if (r == NULL)
        return MHD_NO;
    ok = MHD_add_response_header(r, "Content-Type", a->type);
    if (ok == MHD_YES)
        ok = MHD_add_response_header(r, "Connection", "close");
    if (ok == MHD_YES)
        ok = MHD_queue_response(conn, a->status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result refuse(struct MHD_Connection *conn, unsigned status, const char *why)
{
    struct http_answer a = {.status = status, .type = "application/json"};
    enum MHD_Result ok = MHD_NO;

    buf_init(&a.body, 256);
    if (buf_printf(&a.body, "{\"error\": \"%s\"}\n", why) == STATUS_OK)
        ok = reply(conn, &a);
    buf_deinit(&a.body);
    return ok;
}

/* In a time that does not depend on how much of it is right. */
static bool has_token(const struct http *h, struct MHD_Connection *conn)
{
    const char *said = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Authorization");
    const size_t n = strlen(h->token);

    return said != NULL && strlen(said) == n + 7 && strncmp(said, "Bearer ", 7) == 0 &&
           secret_equal(said + 7, h->token, n) == 1;
}

static bool too_long(struct MHD_Connection *conn)
{
    const char *n = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Content-Length");

    return n != NULL && strtoull(n, NULL, 10) > HTTP_BODY_MAX;
}

/* The head is here: is there to be a body? */
static enum MHD_Result begin(struct http *h, struct MHD_Connection *conn, void **body)
{
    struct buf *b;

    if (!has_token(h, conn))
        return refuse(conn, MHD_HTTP_UNAUTHORIZED, "a request needs the token");
    if (too_long(conn))
        return refuse(conn, MHD_HTTP_CONTENT_TOO_LARGE, "the request is too long");
    b = mem_alloc(1, sizeof *b);
    if (b == NULL)
        return MHD_NO;
    buf_init(b, HTTP_BODY_MAX);
    *body = b;
    return MHD_YES;
}

static enum MHD_Result finish(struct http *h, struct MHD_Connection *conn,
                              const struct http_request *r)
{
    struct http_answer a = {.status = MHD_HTTP_OK, .type = "application/json"};
    enum MHD_Result ok;

    buf_init(&a.body, HTTP_ANSWER_MAX);
    h->setup.answer(h->setup.owner, r, &a);
    ok = reply(conn, &a);
    buf_deinit(&a.body);
    return ok;
}

static enum MHD_Result on_request(void *owner, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **body)
{
    struct http *h = owner;
    struct buf *b = *body;

    (void)version;
    if (b == NULL)
        return begin(h, conn, body);
    if (*n > 0) {
        if (buf_append(b, data, *n) != STATUS_OK)
            return MHD_NO; /* more than it said: its connection ends */
        *n = 0;
        return MHD_YES;
    }
    return finish(h, conn, &(struct http_request){method, path, b->data, b->len});
}

static void on_completed(void *owner, struct MHD_Connection *conn, void **body,
                         enum MHD_RequestTerminationCode why)
{
    struct buf *b = *body;

    (void)owner;
    (void)conn;
    (void)why;
    if (b != NULL)
        buf_deinit(b);
    mem_free(b);
    *body = NULL;
}

/* --- connections --- */

static void on_connection(void *owner, struct MHD_Connection *conn, void **socket,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = owner;
    const bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;

    (void)socket;
    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        struct http_connection *c = &h->connection[i];

        if (c->conn != (begins ? NULL : conn))
            continue;
        *c = (struct http_connection){begins ? conn : NULL, h->setup.clock_us()};
        return;
    }
}

static bool is_full(const struct http *h)
{
    size_t n = 0;

    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        n += h->connection[i].conn != NULL;
    return n == HTTP_CONNECTIONS_MAX;
}

/* Whoever sends a byte now and then is never idle. */
static bool end_late(struct http *h)
{
    const uint64_t now_us = h->setup.clock_us();
    bool any = false;

    for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        const struct http_connection *c = &h->connection[i];
        const union MHD_ConnectionInfo *info;

        any |= c->conn != NULL;
        if (c->conn == NULL || now_us - c->since_us < HTTP_DEADLINE_S * 1000000ull)
            continue;
        info = MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info != NULL)
            (void)shutdown(info->connect_fd, SHUT_RDWR);
    }
    return any;
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
static enum status listen_at(int *fd, const char *path, struct error *err)
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

static void say_nothing(void *owner, const char *format, va_list args)
{
    (void)owner;
    (void)format;
    (void)args;
}

static enum status start(struct http *h, int fd, struct error *err)
{
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER,
        say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (h->daemon != NULL)
        return STATUS_OK;
    close(fd);
    return error_set(err, STATUS_IO, "%s: libmicrohttpd does not start", h->path);
}

enum status http_open(struct http **out, uv_loop_t *uv, const struct http_setup *setup,
                      struct error *err)
{
    struct http *h = mem_alloc(1, sizeof *h);
    const union MHD_DaemonInfo *info;
    int fd = -1;
    enum status s;

    if (h == NULL)
        return error_set(err, STATUS_MEMORY, "no memory");
    h->setup = *setup;
    if (h->setup.clock_us == NULL)
        h->setup.clock_us = clock_us;
    s = listen_at(&fd, setup->path, err);
    if (s == STATUS_OK) {
        snprintf(h->path, sizeof h->path, "%s", setup->path);
        snprintf(h->token, sizeof h->token, "%s", setup->token);
        s = start(h, fd, err);
    }
    if (s != STATUS_OK) {
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
    (void)unlink(h->path);
    secret_wipe(h->token, sizeof h->token);
    mem_free(h);
}

void http_close(struct http *h)
{
    if (h == NULL)
        return;
    h->closing = 2;
    uv_poll_stop(&h->poll);
    uv_close((uv_handle_t *)&h->poll, on_closed);
    uv_close((uv_handle_t *)&h->timer, on_closed);
}
