/* input.c -- read, decrypt, cut into frames, hand over; the deadline of a frame in progress.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/input.h"

#include "common/base/check.h"
#include "common/net/listen.h"
#include "common/net/output.h"

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct net_conn *c = handle->data;
    struct tls_scratch *scratch = tls_context_scratch(c->context);

    (void)suggested;
    *out = uv_buf_init((char *)scratch->input, sizeof scratch->input);
}

static void on_end(struct net_conn *c, int why)
{
    const char *where = frame_partial(&c->parser) ? " in the middle of a frame" : "";

    c->peer_ended = true;
    switch (c->state) {
    case CONN_HANDSHAKE:
        if (why == UV_EOF)
            conn_fail(c, STATUS_NET, "peer closed the connection during the TLS handshake");
        else
            conn_fail(c, STATUS_NET, "during the TLS handshake: %s", uv_strerror(why));
        break;
    case CONN_OPEN:
        if (why == UV_EOF)
            conn_fail(c, STATUS_NET, "peer closed the connection%s", where);
        else
            conn_fail(c, STATUS_NET, "%s%s", uv_strerror(why), where);
        break;
    case CONN_FLUSHING:
        /* Both sides may end at once; the peer still reads what is being flushed. */
        uv_read_stop((uv_stream_t *)&c->tcp);
        if (why != UV_EOF)
            conn_fail(c, STATUS_NET, "%s before all was written", uv_strerror(why));
        break;
    case CONN_LINGERING: conn_close_now(c); break;
    case CONN_DIALLING:
    case CONN_CLOSING: break;
    }
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct net_conn *c = stream->data;
    struct listen_time t;

    if (n < 0) {
        on_end(c, (int)n);
        return;
    }
    c->traffic.tls_in += (uint64_t)n;
    if (n == 0 || c->state > CONN_OPEN)
        return;
    t = listen_time_begin(c);
    tls_feed(c->tls, (const uint8_t *)bytes->base, (size_t)n);
    input_run(c);
    listen_time_end(&t);
    if (listen_must_wait(c))
        uv_read_stop(stream);
}

bool input_start(struct net_conn *c)
{
    int rc = uv_read_start((uv_stream_t *)&c->tcp, on_room, on_bytes);

    if (rc == 0 || rc == UV_EALREADY)
        return true;
    conn_fail(c, STATUS_NET, "%s", uv_strerror(rc));
    return false;
}

/* --- the steps: each returns whether there may be more to do
 * -------------------------------------- */

static bool step_result(struct net_conn *c, enum tls_result r, const struct error *err)
{
    switch (r) {
    case TLS_DONE: return true;
    case TLS_WANT: return false;
    case TLS_CLOSED: on_end(c, UV_EOF); return false;
    case TLS_FAILED: break;
    }
    /* The alert that tells the peer why is on its way out. */
    conn_blame(c, err->status, "%s", err->text);
    conn_finish(c);
    return false;
}

static bool step_handshake(struct net_conn *c)
{
    struct error err = {0};
    enum tls_result r;

    output_begin(c);
    r = tls_handshake(c->tls, &err);
    output_flush(c);
    if (r != TLS_DONE)
        return step_result(c, r, &err);
    if (!tls_peer_spki(c->tls, c->key)) {
        conn_fail(c, STATUS_MEMORY, "peer's key: out of memory");
        return false;
    }
    uv_timer_stop(&c->read_timer);
    conn_opened(c);
    listen_shown(c);
    c->events.on_open(c->owner, c, c->key);
    return true;
}

static bool step_record(struct net_conn *c)
{
    struct tls_scratch *scratch = tls_context_scratch(c->context);
    struct error err = {0};
    enum tls_result r;

    output_begin(c);
    r = tls_read(c->tls, &c->plain_n, scratch->plain, sizeof scratch->plain, &err);
    output_flush(c); /* an answer to a key update, an alert */
    c->plain = scratch->plain;
    c->plain_is_kept = false;
    return step_result(c, r, &err);
}

static bool step_frame(struct net_conn *c)
{
    struct error err = {0};
    uint8_t *frame;
    size_t n;
    enum status s = frame_next(&c->parser, &frame, &n, &c->plain, &c->plain_n, &err);

    if (s != STATUS_OK) {
        conn_fail(c, s, "%s", err.text);
        return false;
    }
    if (frame != NULL) {
        c->frame_since = 0;
        c->events.on_frame(c->owner, c, frame, n);
    }
    return true;
}

static bool step(struct net_conn *c)
{
    if (c->state == CONN_HANDSHAKE)
        return step_handshake(c);
    if (c->state != CONN_OPEN || c->paused)
        return false;
    if (c->plain_n > 0)
        return step_frame(c);
    return tls_has_input(c->tls) && step_record(c);
}

static void on_frame_late(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;

    if (c->parser.need > 0)
        conn_fail(c, STATUS_NET, "a frame of %zu bytes took too long to arrive", c->parser.need);
    else
        conn_fail(c, STATUS_NET, "the beginning of a frame took too long to arrive");
}

/* A frame that has begun must be whole in time, and a record too: bytes that decrypt to nothing yet
 * are the cheaper way to occupy a connection (threats E4).  While paused, the delay is this side's.
 */
static void watch_frame(struct net_conn *c)
{
    const struct tls_limits *limits = tls_context_limits(c->context);
    uint64_t now = uv_now(c->read_timer.loop);
    uint64_t due;

    if (!frame_partial(&c->parser) && !tls_partial(c->tls)) {
        uv_timer_stop(&c->read_timer);
        c->frame_since = 0;
        return;
    }
    if (c->frame_since == 0)
        c->frame_since = now;
    due = c->frame_since + limits->body_base_ms + 1000 * c->parser.need / limits->rate_min;
    uv_timer_start(&c->read_timer, on_frame_late, due > now ? due - now : 0, 0);
}

/* What a pause has left in the shared buffers. */
static bool keep_rest(struct net_conn *c)
{
    if (tls_keep_input(c->tls) != STATUS_OK)
        return false;
    if (c->plain_n == 0 || c->plain_is_kept)
        return true;
    c->kept_plain.len = 0;
    if (buf_append(&c->kept_plain, c->plain, c->plain_n) != STATUS_OK)
        return false;
    c->plain = c->kept_plain.data;
    c->plain_is_kept = true;
    return true;
}

void input_run(struct net_conn *c)
{
    CHECK(!c->in_input);
    c->in_input = true;
    while (step(c))
        ;
    c->in_input = false;
    if (c->state != CONN_OPEN)
        return;
    if (!c->paused) {
        watch_frame(c);
        return;
    }
    uv_timer_stop(&c->read_timer);
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->frame_since = 0;
    if (!keep_rest(c))
        conn_fail(c, STATUS_MEMORY, "out of memory");
}

static void on_resume(uv_timer_t *timer)
{
    struct net_conn *c = timer->data;

    input_run(c);
    if (c->state == CONN_OPEN && !c->paused)
        input_start(c);
}

void net_conn_pause(struct net_conn *c, bool paused)
{
    if (c->paused == paused)
        return;
    c->paused = paused;
    if (c->state != CONN_OPEN || c->in_input)
        return; /* input_run looks at it when it is done */
    c->frame_since = 0;
    if (paused) {
        uv_timer_stop(&c->read_timer);
        uv_read_stop((uv_stream_t *)&c->tcp);
    } else {
        /* In a turn of its own, so that on_frame is not called from within its owner's call. */
        uv_timer_start(&c->read_timer, on_resume, 0, 0);
    }
}

void input_deinit(struct net_conn *c)
{
    frame_parser_deinit(&c->parser);
    buf_deinit(&c->kept_plain);
}
