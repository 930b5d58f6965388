/* flight.c -- what is on its way between two ends of a connection.
 *
 * A frame arrives in the order in which it left, and only on the connection that it left on.  The
 * end of a stream is a flight, too: it arrives behind the last words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/flight.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/wire/message.h"

#include <stdio.h>

enum { LATENCY_US = 1000, FRAME_MAX = 1 << 24 };

/* Slots behind the first flights_n keep their buffers for the next one. */
static struct flight *new_flight(struct sim *s)
{
    if (s->flights_n == s->flights_max) {
        size_t more = s->flights_max == 0 ? 32 : 2 * s->flights_max;
        s->flight =
            mem_grow(s->flight, s->flights_max * sizeof *s->flight, more * sizeof *s->flight);
        CHECK(s->flight != NULL);
        s->flights_max = more;
    }
    return &s->flight[s->flights_n++];
}

static void swap(struct flight *a, struct flight *b)
{
    struct flight c = *a;

    *a = *b;
    *b = c;
}

static void take_away(struct sim *s, size_t which)
{
    swap(&s->flight[which], &s->flight[--s->flights_n]);
}

static uint64_t jitter_us(const struct sim *s)
{
    uint64_t z = (s->options.jitter_seed + s->order) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ull;
    return s->options.jitter_us == 0 ? 0 : (z ^ (z >> 29)) % s->options.jitter_us;
}

void flight_add(struct sim *s, uint32_t party, bool up, const struct wire_msg *m, uint64_t extra_us,
                bool cut_after)
{
    struct sim_party *p = &s->party[party];
    uint64_t at = s->now_us + LATENCY_US + jitter_us(s) + extra_us,
             *last = up ? &p->last_up_us : &p->last_down_us;
    struct flight *f = new_flight(s);

    if (at < *last)
        at = *last; /* a stream never overtakes itself */
    *last = at;
    f->at_us = at;
    f->order = s->order++;
    f->party = party;
    f->up = up;
    f->cut_after = cut_after;
    f->end = m == NULL;
    f->tapped = false;
    f->connection = p->connection;
    if (f->frame.max == 0)
        buf_init(&f->frame, FRAME_MAX);
    if (m != NULL)
        CHECK(wire_pack(&f->frame, m) == STATUS_OK);
}

static uint64_t lands_us(const struct sim *s, const struct flight *f)
{
    const uint64_t busy_us = world_works_until(s, f->up ? SIM_SERVER : (int)f->party);

    return f->at_us > busy_us ? f->at_us : busy_us;
}

size_t flight_next(const struct sim *s, uint64_t *at_us)
{
    size_t first = SIZE_MAX;

    *at_us = UINT64_MAX;
    for (size_t i = 0; i < s->flights_n; i++) {
        const struct flight *f = &s->flight[i];
        const uint64_t at = lands_us(s, f);
        if (at < *at_us || (at == *at_us && f->order < s->flight[first].order)) {
            first = i;
            *at_us = at;
        }
    }
    return first;
}

static bool known_to_server(const struct sim_party *p)
{
    return p->joined && p->ghost_us == 0;
}

/* The server's last word on this connection. */
static void refuse(struct sim *s, uint32_t party, const char *text)
{
    struct wire_msg m = {.kind = WIRE_REFUSE};

    m.refuse.kind = STATUS_KIND_PEER;
    snprintf(m.refuse.text, sizeof m.refuse.text, "%.*s", WIRE_TEXT_MAX, text);
    flight_add(s, party, false, &m, 0, true);
}

/* To whoever is at the other end: a party, or the server, to whom a join says which party it is. */
static void hand_over(struct sim *s, const struct flight *f, const struct wire_msg *m)
{
    struct sim_party *p = &s->party[f->party];
    struct event e = {.kind = EVENT_MESSAGE, .peer = f->party, .msg = m};

    if (!f->up) {
        world_tell_party(s, f->party, &e);
    } else if (known_to_server(p)) {
        world_tell_server(s, &e);
    } else if (m->kind == WIRE_JOIN) {
        e.kind = EVENT_JOINED;
        p->joined = true;
        p->ghost_us = 0;
        world_tell_server(s, &e);
    } else {
        refuse(s, f->party, "the first message must be join");
    }
}

/* The largest frame that the receiver takes; it never shrinks. */
static size_t frame_max(struct sim *s, const struct flight *f)
{
    struct sim_party *p = &s->party[f->party];
    size_t *most = f->up ? &s->up_max : &p->down_max, now, down;

    if (f->up && !known_to_server(p))
        return WIRE_JOIN_MAX;
    if (f->up)
        server_session_frames(s->server, &now, &down);
    else
        now = party_session_report(p->session)->down_max;
    *most = now > *most ? now : *most;
    return *most;
}

/* As the drivers do it: a party ends with the fault of its server; the server says to a party what
 * it cannot read, and closes without a word where a length says too much. */
static void not_read(struct sim *s, const struct flight *f, const struct error *why)
{
    struct event lost = {.kind = EVENT_LOST, .peer = f->party, .error = why};
    struct sim_party *p = &s->party[f->party];
    bool was = known_to_server(p);

    s->unpack_failures++;
    if (!f->up) {
        world_tell_party(s, f->party, &lost);
    } else if (was && why->status == STATUS_LIMIT) {
        world_cut(s, f->party);
    } else {
        p->joined = false;
        refuse(s, f->party, why->text);
        if (was)
            world_tell_server(s, &lost);
    }
}

static void read_frame(struct sim *s, struct flight *f)
{
    struct wire_unpacker *u = f->up ? &s->unpacker : &s->party[f->party].unpacker;
    const size_t most = frame_max(s, f);
    struct error err = {0};
    struct wire_msg m;

    if (f->frame.len > most)
        error_set(&err, STATUS_LIMIT, "frame over the limit (%zu > %zu)", f->frame.len, most);
    else if (wire_unpack(&m, u, f->frame.data, f->frame.len, &err) == STATUS_OK)
        hand_over(s, f, &m);
    if (err.status != STATUS_OK)
        not_read(s, f, &err);
    else if (f->cut_after)
        world_cut(s, f->party);
}

void flight_put_before(struct sim *s, struct flight *f, const struct buf *frame)
{
    struct flight *later = new_flight(s);
    struct buf spare = later->frame;

    *later = *f;
    f->cut_after = false;
    f->frame = spare;
    if (f->frame.max == 0)
        buf_init(&f->frame, FRAME_MAX);
    f->frame.len = 0;
    CHECK(buf_append(&f->frame, frame->data, frame->len) == STATUS_OK);
}

/* The slot is given back first: what is said in answer must not overwrite the frame being read. */
void flight_deliver(struct sim *s, size_t which)
{
    struct flight *f = &s->landing;
    struct sim_party *p = &s->party[s->flight[which].party];

    CHECK(!s->landed);
    swap(f, &s->flight[which]);
    take_away(s, which);
    if (f->connection != p->connection)
        return;
    s->landed = true;
    if (f->end) {
        world_cut(s, f->party);
    } else {
        if (s->tap.landed != NULL && !f->tapped) {
            f->tapped = true;
            s->tap.landed(s, f, s->tap.owner);
        }
        read_frame(s, f);
    }
    s->landed = false;
}

bool flight_deliver_all(struct sim *s, uint32_t party, bool up)
{
    for (;;) {
        size_t first = SIZE_MAX;

        if (world_works(s, up ? SIM_SERVER : (int)party))
            return false;
        for (size_t i = 0; i < s->flights_n; i++) {
            const struct flight *f = &s->flight[i];
            if (f->party == party && f->up == up && f->connection == s->party[party].connection &&
                (first == SIZE_MAX || f->order < s->flight[first].order))
                first = i;
        }
        if (first == SIZE_MAX)
            return true;
        flight_deliver(s, first);
    }
}

void flight_free(struct sim *s)
{
    for (size_t i = 0; i < s->flights_max; i++)
        buf_deinit(&s->flight[i].frame);
    buf_deinit(&s->landing.frame);
    mem_free(s->flight);
}
