/* life.c -- connections that break, processes that die and come back.
 *
 * Both ends of a connection hear of its end, but not always at once: until a stream's other end has
 * heard, it speaks into the void.  A disk (disk.c) outlives its process; whoever comes back has
 * nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/life.h"

#include "tests/sim/disk.h"
#include "tests/sim/flight.h"
#include "common/base/check.h"

#include <stdio.h>

enum { RECONNECT_US = 10000 };

static void note_event(struct sim *s, const char *what, int who)
{
    if (s->options.quiet)
        return;
    if (who == SIM_SERVER)
        CHECK(buf_printf(&s->transcript, "-- %s server\n", what) == STATUS_OK);
    else
        CHECK(buf_printf(&s->transcript, "-- %s p%d\n", what, who + 1) == STATUS_OK);
}

/* --- connections --- */

static void party_hears(struct sim *s, uint32_t party)
{
    struct sim_party *p = &s->party[party];
    struct error why = {STATUS_NET, "cut"};
    struct event lost = {.kind = EVENT_LOST, .peer = party, .error = &why};

    p->connected = false;
    p->deaf_us = 0;
    p->connect_us = s->now_us + p->away_us +
                    (s->options.reconnect_us > 0 ? s->options.reconnect_us : RECONNECT_US);
    p->away_us = 0;
    world_tell_party(s, party, &lost);
}

static void server_hears(struct sim *s, uint32_t party)
{
    struct error why = {STATUS_NET, "cut"};
    struct event lost = {.kind = EVENT_LOST, .peer = party, .error = &why};

    s->party[party].joined = false;
    s->party[party].ghost_us = 0;
    world_tell_server(s, &lost);
}

void life_heard(struct sim *s, uint32_t party)
{
    if (s->party[party].deaf_us > 0)
        party_hears(s, party);
    if (s->party[party].ghost_us > 0)
        server_hears(s, party);
}

/* The server's stale link of an earlier connection is another matter. */
static bool known_to_server(const struct sim_party *p)
{
    return p->joined && p->ghost_us == 0;
}

void world_cut(struct sim *s, uint32_t party)
{
    struct sim_party *p = &s->party[party];

    if (!p->connected || p->deaf_us > 0)
        return;
    p->connection++;
    note_event(s, "lost", (int)party);
    if (known_to_server(p))
        server_hears(s, party);
    party_hears(s, party);
}

static void cut(struct sim *s, const struct sim_break *b)
{
    uint32_t party = (uint32_t)b->who;
    struct sim_party *p = &s->party[party];

    if (p->connected && p->deaf_us == 0 && b->last_words) {
        (void)flight_deliver_all(s, party, true);
        (void)flight_deliver_all(s, party, false);
    }
    if (b->unheard_us == 0 || !p->connected || p->deaf_us > 0) {
        world_cut(s, party);
        return;
    }
    note_event(s, b->party_unaware ? "half lost by the server" : "half lost", b->who);
    p->connection++;
    if (b->party_unaware) {
        p->deaf_us = s->now_us + b->unheard_us;
        if (known_to_server(p))
            server_hears(s, party);
    } else {
        if (known_to_server(p))
            p->ghost_us = s->now_us + b->unheard_us;
        party_hears(s, party);
    }
}

/* A party has ended.  Its last words arrive before the end of its stream. */
void life_leave(struct sim *s, uint32_t party)
{
    struct sim_party *p = &s->party[party];
    struct error why = {0};
    struct event lost = {.kind = EVENT_LOST, .peer = party, .error = &why};
    bool was_joined;

    if (!flight_deliver_all(s, party, true)) {
        s->leave_soon[party] = true; /* when the server has done its work */
        return;
    }
    was_joined = p->joined;
    p->connected = p->joined = false;
    p->ghost_us = p->deaf_us = 0;
    p->connection++;
    p->connect_us = 0;
    if (was_joined)
        world_tell_server(s, &lost);
}

/* --- processes --- */

void life_start(struct sim *s, int who)
{
    struct event start = {.kind = EVENT_START};

    note_event(s, "started", who);
    if (who == SIM_SERVER) {
        s->server_up_us = 0;
        world_new_server(s);
        world_tell_server(s, &start);
        return;
    }
    s->party[who].up_us = 0;
    s->party[who].connect_us =
        s->now_us + (s->options.reconnect_us > 0 ? s->options.reconnect_us : RECONNECT_US);
    world_new_party(s, (uint32_t)who);
    world_tell_party(s, (uint32_t)who, &start);
}

static void party_dies(struct sim *s, const struct sim_break *b)
{
    uint32_t i = (uint32_t)b->who;
    struct sim_party *p = &s->party[i];

    if (p->end.over || p->up_us > 0)
        return;
    if (b->last_words && p->deaf_us == 0)
        (void)flight_deliver_all(s, i, true);
    if (p->end.over)
        return;
    note_event(s, "died", b->who);
    p->disk.durable_us = p->timer_us = p->deaf_us = p->connect_us = p->work.us = 0;
    p->up_us = s->now_us + b->down_us;
    p->connection++;
    p->connected = false;
    if (known_to_server(p) && b->unheard_us > 0)
        p->ghost_us = s->now_us + b->unheard_us;
    else if (known_to_server(p))
        server_hears(s, i);
    if (b->put_back)
        disk_put_back(s, b->who);
    if (b->put_back_ledger)
        p->disk.ledger = p->disk.ledger_copy;
    if (b->lose_ledger)
        p->disk.ledger = (struct sim_ledger){0};
    p->disk.ledger.tampered |= b->put_back_ledger || b->lose_ledger;
    if (b->lose_saved)
        p->disk.saved.len = p->disk.before.len = 0;
    if (b->lose_shares)
        disk_lose_shares(&p->disk);
    if (b->down_us == 0)
        life_start(s, b->who);
}

static void server_dies(struct sim *s, const struct sim_break *b)
{
    if (s->server_end.over || s->server_up_us > 0)
        return;
    for (uint32_t i = 0; i < s->options.parties && b->last_words; i++) {
        if (s->party[i].connected && s->party[i].deaf_us == 0)
            (void)flight_deliver_all(s, i, false);
    }
    if (s->server_end.over)
        return;
    note_event(s, "died", SIM_SERVER);
    s->disk.durable_us = s->server_timer_us = s->work.us = 0;
    s->server_up_us = s->now_us + b->down_us + 1;
    for (uint32_t i = 0; i < s->options.parties; i++) {
        struct sim_party *p = &s->party[i];
        p->joined = false; /* nobody is there to hear of it */
        p->ghost_us = 0;
        if (p->connected && b->unheard_us > 0 && p->deaf_us == 0) {
            p->connection++;
            p->deaf_us = s->now_us + b->unheard_us;
        } else if (p->deaf_us == 0) {
            world_cut(s, i);
        }
    }
    if (b->put_back)
        disk_put_back(s, SIM_SERVER);
    disk_lose_records(s, s->lose > b->lose ? s->lose : b->lose);
    s->lose = 0;
    if (b->down_us == 0)
        life_start(s, SIM_SERVER);
}

void life_break(struct sim *s, const struct sim_break *b)
{
    if (b->what == SIM_COPY)
        disk_copy(s, b->who);
    else if (b->what == SIM_CUT)
        cut(s, b);
    else if (b->who == SIM_SERVER)
        server_dies(s, b);
    else
        party_dies(s, b);
}
