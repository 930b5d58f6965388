/* output.c -- encrypt into the shared buffer, write at once, queue what the socket does not take.
 *
 * A connection whose peer keeps up has no buffer at all.  What is left over goes to `flying`, which
 * libuv holds and which therefore must not move; what is sent meanwhile grows `waiting`; when the
 * first has landed the two change places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/output.h"

#include "common/base/check.h"
#include "common/net/shape.h"

#include <string.h>

enum { CHUNK = 3 * TLS_RECORD_MAX, QUEUE_KEEP = 65536 };

size_t output_queued(const struct net_conn *c)
{
    size_t flying = c->flying.len > 0 ? uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp) : 0;

    return flying + c->waiting.len;
}

bool output_idle(const struct net_conn *c)
{
    return c->flying.len == 0 && c->waiting.len == 0;
}

static void on_write_error_late(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;

    conn_fail(c, STATUS_NET, "write: %s", uv_strerror(c->write_error));
}

/* The peer is gone, but its last words (an alert) may still lie in this side's socket: the reader
 * is given a moment to find them, since they say more than "broken pipe". */
static void lost(struct net_conn *c, int error)
{
    if (c->write_error != 0 || c->state == CONN_CLOSING)
        return;
    c->write_error = error;
    c->waiting.len = 0;
    if (c->state > CONN_OPEN)
        conn_fail(c, STATUS_NET, "write: %s", uv_strerror(error));
    else
        uv_timer_start(&c->write_timer, on_write_error_late,
                       tls_context_limits(c->context)->linger_ms, 0);
}

static void on_stuck(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;

    if (output_queued(c) > c->queue_max)
        conn_fail(c, STATUS_NET, "peer does not read: %zu bytes have waited too long",
                  output_queued(c));
}

/* Runs as long as the queue is over its limit (threats E5). */
static void watch_queue(struct net_conn *c)
{
    if (c->state != CONN_OPEN || c->write_error != 0)
        return;
    if (output_queued(c) <= c->queue_max)
        uv_timer_stop(&c->write_timer);
    else if (!uv_is_active((uv_handle_t *)&c->write_timer))
        uv_timer_start(&c->write_timer, on_stuck, tls_context_limits(c->context)->write_stuck_ms,
                       0);
}

static void launch(struct net_conn *c);

/* A large queue is given back; a small one serves again. */
static void empty(struct buf *b)
{
    size_t max = b->max;

    b->len = 0;
    if (b->cap <= QUEUE_KEEP)
        return;
    buf_deinit(b);
    buf_init(b, max);
}

static void on_written(uv_write_t *req, int status)
{
    struct net_conn *c = req->handle->data;
    struct buf landed = c->flying;

    if (c->state == CONN_CLOSING)
        return;
    landed.len = 0;
    c->flying = c->waiting;
    c->waiting = landed;
    if (status < 0) {
        c->flying.len = 0;
        lost(c, status);
        return;
    }
    if (c->flying.len > 0) {
        launch(c);
    } else {
        empty(&c->flying);
        empty(&c->waiting);
    }
    watch_queue(c);
    conn_drained(c);
}

static void launch(struct net_conn *c)
{
    uv_buf_t b = {.base = (char *)c->flying.data, .len = c->flying.len};
    int rc = uv_write(&c->write_req, (uv_stream_t *)&c->tcp, &b, 1, on_written);

    if (rc != 0) {
        c->flying.len = 0;
        lost(c, rc);
    }
}

void output_begin(struct net_conn *c)
{
    tls_set_output(c->tls,
                   c->flying.len > 0 ? &c->waiting : &tls_context_scratch(c->context)->output);
}

void output_flush(struct net_conn *c)
{
    struct buf *out = &tls_context_scratch(c->context)->output;
    uv_buf_t b = {.base = (char *)out->data, .len = out->len};
    int rc;

    tls_set_output(c->tls, NULL);
    if (c->write_error != 0) {
        out->len = c->waiting.len = 0;
        return;
    }
    if (out->len == 0) /* nothing, or it stands in `waiting` */
        return;
    rc = uv_try_write((uv_stream_t *)&c->tcp, &b, 1);
    if (rc < 0 && rc != UV_EAGAIN) {
        lost(c, rc);
    } else if (rc < 0 || (size_t)rc < out->len) {
        size_t done = rc < 0 ? 0 : (size_t)rc;
        if (buf_append(&c->flying, out->data + done, out->len - done) == STATUS_OK)
            launch(c);
        else
            conn_fail(c, STATUS_MEMORY, "write queue: out of memory");
    }
    out->len = 0;
}

/* One record holds the header and the beginning, so a small frame is one record; a large one is cut
 * where a single write of the whole would have been cut, but needs no copy of the whole. */
static enum status encrypt(struct net_conn *c, const uint8_t *bytes, size_t n, struct error *err)
{
    uint8_t *first = tls_context_scratch(c->context)->first;
    size_t done = n < TLS_RECORD_MAX - FRAME_HEAD ? n : TLS_RECORD_MAX - FRAME_HEAD;
    enum status s;

    frame_head_pack(first, n);
    memcpy(first + FRAME_HEAD, bytes, done);
    output_begin(c);
    s = tls_write(c->tls, first, FRAME_HEAD + done, err);
    while (s == STATUS_OK && done < n && c->write_error == 0 && c->state != CONN_CLOSING) {
        size_t more = n - done < CHUNK ? n - done : CHUNK;
        s = tls_write(c->tls, bytes + done, more, err);
        done += more;
        output_flush(c);
        output_begin(c);
    }
    return s;
}

enum status output_frame(struct net_conn *c, const uint8_t *bytes, size_t n)
{
    struct error err = {0};
    enum status s = encrypt(c, bytes, n, &err);

    output_flush(c);
    if (s != STATUS_OK)
        conn_fail(c, s, "%s", err.text);
    else if (c->write_error != 0)
        s = STATUS_NET;
    watch_queue(c);
    return s;
}

/* One frame may always follow a queue within its limit; a queue over it may double, then it is
 * enough. */
static bool is_flooded(const struct net_conn *c, size_t n)
{
    size_t queued = output_queued(c) + shape_queued(c->shape);

    return queued > c->queue_max && queued - c->queue_max + n > c->queue_max;
}

enum status net_send(struct net_conn *c, const void *bytes, size_t n)
{
    CHECK(n > 0 && n <= UINT32_MAX);
    if (c->state != CONN_OPEN || c->write_error != 0)
        return STATUS_NET;
    if (is_flooded(c, n)) {
        conn_fail(c, STATUS_LIMIT, "peer does not read: %zu bytes wait, %zu more are too many",
                  output_queued(c) + shape_queued(c->shape), n);
        return STATUS_LIMIT;
    }
    if (c->shape != NULL)
        return shape_send(c->shape, bytes, n);
    return output_frame(c, bytes, n);
}

void output_deinit(struct net_conn *c)
{
    buf_deinit(&c->flying);
    buf_deinit(&c->waiting);
}
