/* shape.c -- the emulated link.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/shape.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/net/output.h"

#include <string.h>

/* Queued frames stand in a row, each after its ticket. */
struct ticket {
    uint64_t due_us;
    size_t n;
};

struct shape {
    struct net_conn *conn;
    struct shape_plan plan;
    uv_timer_t timer;
    struct rng rng;
    struct buf queue;
    size_t at; /* what stands before has left */
};

uint64_t shape_due(struct shape_plan *p, uint64_t now_us, double bits, double uniform)
{
    double delay_us = 1000 * (p->rules.delay_ms + (2 * uniform - 1) * p->rules.jitter_ms);
    uint64_t start = p->free_us > now_us ? p->free_us : now_us;
    uint64_t due;

    /* One megabit per second is one bit per microsecond. */
    p->free_us = start + (p->rules.rate_mbit > 0 ? (uint64_t)(bits / p->rules.rate_mbit) : 0);
    due = p->free_us + (delay_us > 0 ? (uint64_t)delay_us : 0);
    if (due < p->last_us)
        due = p->last_us;
    return p->last_us = due;
}

size_t shape_queued(const struct shape *s)
{
    return s != NULL ? s->queue.len - s->at : 0;
}

static struct ticket next_ticket(const struct shape *s)
{
    struct ticket t;

    memcpy(&t, s->queue.data + s->at, sizeof t);
    return t;
}

static void on_due(uv_timer_t *timer);

/* The loop's timers count whole milliseconds; rounding up keeps the promise "no sooner". */
static void arm(struct shape *s)
{
    uint64_t now = clock_us(), due = next_ticket(s).due_us;

    uv_timer_start(&s->timer, on_due, due > now ? (due - now + 999) / 1000 : 0, 0);
}

static void on_due(uv_timer_t *timer)
{
    struct shape *s = timer->data;
    struct net_conn *c = s->conn;
    uint64_t now = clock_us();

    while (shape_queued(s) > 0 && next_ticket(s).due_us <= now) {
        struct ticket t = next_ticket(s);
        const uint8_t *frame = s->queue.data + s->at + sizeof t;
        s->at += sizeof t + t.n;
        if (output_frame(c, frame, t.n) != STATUS_OK || c->state == CONN_CLOSING)
            return;
    }
    if (shape_queued(s) > 0) {
        arm(s);
        return;
    }
    s->queue.len = s->at = 0;
    conn_drained(c);
}

enum status shape_send(struct shape *s, const uint8_t *bytes, size_t n)
{
    static const unsigned byte_bits = 8;
    bool idle = shape_queued(s) == 0;
    struct ticket t = {.n = n};

    if (s->at > s->queue.len / 2) {
        buf_consume(&s->queue, s->at);
        s->at = 0;
    }
    if (buf_reserve(&s->queue, sizeof t + n) != STATUS_OK) {
        conn_fail(s->conn, STATUS_MEMORY, "emulated link: out of memory");
        return STATUS_MEMORY;
    }
    t.due_us =
        shape_due(&s->plan, clock_us(), (double)(n + FRAME_HEAD) * byte_bits, rng_uniform(&s->rng));
    memcpy(s->queue.data + s->queue.len, &t, sizeof t);
    memcpy(s->queue.data + s->queue.len + sizeof t, bytes, n);
    s->queue.len += sizeof t + n;
    if (idle)
        arm(s);
    return STATUS_OK;
}

void net_conn_shape(struct net_conn *c, const struct net_shape *rules)
{
    struct shape *s = c->shape;

    if (c->state == CONN_CLOSING)
        return;
    if (s == NULL) {
        if (rules->delay_ms <= 0 && rules->jitter_ms <= 0 && rules->rate_mbit <= 0)
            return;
        s = mem_alloc(1, sizeof *s);
        if (s == NULL || rng_init_system(&s->rng) != STATUS_OK) {
            mem_free(s);
            conn_fail(c, STATUS_MEMORY, "emulated link: out of memory");
            return;
        }
        s->conn = c;
        buf_init(&s->queue, SIZE_MAX / 2);
        uv_timer_init(c->tcp.loop, &s->timer);
        s->timer.data = s;
        c->shape = s;
    }
    s->plan.rules = *rules;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct shape *s = handle->data;

    handle->data = s->conn;
    conn_handle_closed(handle);
}

void shape_close(struct shape *s)
{
    if (s == NULL)
        return;
    s->queue.len = s->at = 0;
    s->conn->handles++;
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

void shape_free(struct shape *s)
{
    if (s == NULL)
        return;
    rng_deinit(&s->rng);
    buf_deinit(&s->queue);
    mem_free(s);
}
