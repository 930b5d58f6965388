/* sim.c -- the world of a simulation: what the sessions ask for, and the clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/nn/safetensors.h"
#include "common/wire/message.h"
#include "tests/sim/disk.h"
#include "tests/sim/during.h"
#include "tests/sim/flight.h"
#include "tests/sim/life.h"
#include "tests/sim/people.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECONNECT_US = 10000 };

/* --- time --- */

/* What the last event asked for beyond messages: cuts, deaths, orderly departures. */
static void settle(struct sim *s)
{
    if (s->soon[SIM_PARTIES_MAX] != NULL) {
        const struct sim_break *b = s->soon[SIM_PARTIES_MAX];
        s->soon[SIM_PARTIES_MAX] = NULL;
        life_break(s, b);
    }
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (s->soon[i] != NULL) {
            const struct sim_break *b = s->soon[i];
            s->soon[i] = NULL;
            if (b != &s->party[i].leaves || !s->party[i].end.over)
                life_break(s, b);
        }
        if (s->leave_soon[i] && !world_works(s, SIM_SERVER)) {
            s->leave_soon[i] = false;
            life_leave(s, i);
        }
    }
}

enum thing {
    THING_WORKED,
    THING_DURING,
    THING_MESSAGE,
    THING_SERVER_TIMER,
    THING_STOP,
    THING_PARTY_TIMER,
    THING_CONNECT,
    THING_DURABLE,
    THING_BREAK,
    THING_HEARD,
    THING_START,
    THING_NONE
};

struct next {
    enum thing what;
    size_t which; /* a flight, a party, a break; parties: the server */
    uint64_t at;
};

static void sooner(struct next *n, enum thing what, size_t which, uint64_t at)
{
    if (at > 0 && at < n->at)
        *n = (struct next){what, which, at};
}

static void next_of_party(const struct sim *s, uint32_t i, struct next *n)
{
    const struct sim_party *p = &s->party[i];

    sooner(n, THING_DURABLE, i, p->disk.durable_us);
    sooner(n, THING_HEARD, i, p->ghost_us);
    if (p->end.over)
        return;
    sooner(n, THING_PARTY_TIMER, i, p->timer_us);
    if (!p->connected && !s->server_end.over && !world_works(s, (int)i))
        sooner(n, THING_CONNECT, i, p->connect_us);
    sooner(n, THING_HEARD, i, p->deaf_us);
    sooner(n, THING_START, i, p->up_us);
}

/* Of what happens at once, the first in this order. */
static struct next next_thing(const struct sim *s)
{
    struct next n = {THING_NONE, 0, UINT64_MAX};
    uint64_t at_us;
    size_t which;

    sooner(&n, THING_WORKED, s->options.parties, s->work.us);
    for (uint32_t i = 0; i < s->options.parties; i++)
        sooner(&n, THING_WORKED, i, s->party[i].work.us);
    which = during_next(s, &at_us);
    sooner(&n, THING_DURING, which, at_us);
    which = flight_next(s, &at_us);
    sooner(&n, THING_MESSAGE, which, at_us);
    if (!s->server_end.over) {
        sooner(&n, THING_SERVER_TIMER, 0, s->server_timer_us);
        sooner(&n, THING_START, s->options.parties, s->server_up_us);
    }
    sooner(&n, THING_STOP, 0, s->stop_us);
    for (uint32_t i = 0; i < s->options.parties; i++)
        next_of_party(s, i, &n);
    sooner(&n, THING_DURABLE, s->options.parties, s->disk.durable_us);
    for (size_t i = 0; i < s->breaks_n; i++)
        sooner(&n, THING_BREAK, i, s->happen[i].at_us);
    return n;
}

static void connect(struct sim *s, uint32_t party)
{
    struct sim_party *p = &s->party[party];
    struct event e = {.kind = EVENT_JOINED};

    if (s->server_up_us > 0) { /* nobody listens */
        p->connect_us = s->server_up_us + RECONNECT_US;
        return;
    }
    p->connected = true;
    p->hole_up = p->hole_down = false;
    p->connect_us = 0;
    p->last_up_us = p->last_down_us = 0;
    world_tell_party(s, party, &e);
}

static void stop(struct sim *s)
{
    struct event e = {.kind = EVENT_STOP};

    s->stop_us = 0;
    if (s->stop_who == SIM_SERVER)
        world_tell_server(s, &e);
    else
        world_tell_party(s, (uint32_t)s->stop_who, &e);
}

static void happen(struct sim *s, const struct next *n)
{
    struct event timer = {.kind = EVENT_TIMER};
    uint32_t party = (uint32_t)n->which;
    int who = n->which == s->options.parties ? SIM_SERVER : (int)n->which;

    switch (n->what) {
    case THING_WORKED: world_worked(s, who); break;
    case THING_DURING: during_happens(s, n->which); break;
    case THING_MESSAGE: flight_deliver(s, n->which); break;
    case THING_SERVER_TIMER:
        s->server_timer_us = 0;
        world_tell_server(s, &timer);
        break;
    case THING_STOP: stop(s); break;
    case THING_PARTY_TIMER:
        s->party[party].timer_us = 0;
        world_tell_party(s, party, &timer);
        break;
    case THING_CONNECT: connect(s, party); break;
    case THING_DURABLE: disk_durable(s, who); break;
    case THING_BREAK:
        s->happen[n->which].at_us = 0;
        life_break(s, &s->happen[n->which]);
        break;
    case THING_HEARD: life_heard(s, party); break;
    case THING_START: life_start(s, who); break;
    case THING_NONE: break;
    }
}

void sim_run(struct sim *s, uint64_t us)
{
    struct event start = {.kind = EVENT_START};
    uint64_t end = s->now_us + us;

    if (!s->started) {
        s->started = true;
        world_tell_server(s, &start);
        for (uint32_t i = 0; i < s->options.parties; i++)
            world_tell_party(s, i, &start);
    }
    for (;;) {
        struct next n = next_thing(s);

        if (n.what == THING_NONE || n.at > end)
            return;
        s->now_us = n.at > s->now_us ? n.at : s->now_us; /* what waited for work to end */
        happen(s, &n);
        settle(s);
    }
}

void sim_run_to_step(struct sim *s, uint64_t step)
{
    uint64_t us = 100;

    while (sim_server_report(s)->steps < step) {
        const uint64_t before = s->now_us;

        sim_run(s, us);
        us = s->now_us == before ? us + 100 : 100;
    }
}

/* --- asking and arranging --- */

void sim_rule(struct sim *s, struct sim_rule r)
{
    CHECK(s->rules_n < SIM_RULES_MAX);
    s->rule[s->rules_n++] = r;
}

void sim_group(struct sim *s, uint32_t party, uint32_t persons)
{
    struct sim_party *p = &s->party[party];

    people_make(&p->persons, p->train.rows, p->test.rows, persons);
    if (p->predicted.rows > 0)
        people_make(&p->persons_predicted, 0, p->predicted.rows, persons);
}

void sim_fail_charge(struct sim *s, uint32_t party, uint32_t nth, enum status status)
{
    s->party[party].fail_charge = nth;
    s->party[party].fail_status = status;
}

void sim_fill_ledger(struct sim *s, uint32_t party)
{
    s->party[party].full = true;
}

void sim_break_at(struct sim *s, struct sim_break b)
{
    CHECK(s->breaks_n < SIM_BREAKS_MAX);
    s->happen[s->breaks_n++] = b;
}

void sim_kill_at(struct sim *s, int who, uint64_t us)
{
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH, .who = who, .at_us = us});
}

void sim_lose_records(struct sim *s, size_t n)
{
    s->lose = n;
}

void sim_late(struct sim *s, uint32_t party, uint64_t us)
{
    s->party[party].connect_us = us;
}

void sim_stop_at(struct sim *s, int who, uint64_t us)
{
    s->stop_who = who;
    s->stop_us = us;
}

const char *sim_transcript(const struct sim *s)
{
    return s->transcript.data == NULL ? "" : (const char *)s->transcript.data;
}

const struct sim_end *sim_server_end(const struct sim *s)
{
    return &s->server_end;
}

const struct sim_end *sim_party_end(const struct sim *s, uint32_t party)
{
    return &s->party[party].end;
}

const struct server_report *sim_server_report(struct sim *s)
{
    return server_session_report(s->server);
}

const struct party_report *sim_party_report(struct sim *s, uint32_t party)
{
    return party_session_report(s->party[party].session);
}

void sim_model(const struct sim *s, int who, char out[65])
{
    const struct nn_net *net = who == SIM_SERVER ? server_session_head(s->server)
                                                 : party_session_bottom(s->party[who].session);
    uint8_t digest[DIGEST_BYTES];
    struct buf text;

    buf_init(&text, 1 << 24);
    CHECK(safetensors_print(net, &text) == STATUS_OK);
    digest_sha256(digest, text.data, text.len);
    digest_hex(out, digest, sizeof digest);
    buf_deinit(&text);
}

uint64_t sim_charged(const struct sim *s, uint32_t party)
{
    return s->party[party].charged;
}

uint64_t sim_uploaded(const struct sim *s, uint32_t party)
{
    return s->party[party].uploaded;
}

uint64_t sim_now_us(const struct sim *s)
{
    return s->now_us;
}

uint32_t sim_sent(const struct sim *s, int who, enum wire_kind kind)
{
    return who == SIM_SERVER ? s->server_sent[kind] : s->party[who].sent[kind];
}

uint64_t sim_unpack_failures(const struct sim *s)
{
    return s->unpack_failures;
}

struct table *sim_party_train(struct sim *s, uint32_t party)
{
    return &s->party[party].train;
}

struct roster *sim_party_roster(struct sim *s, uint32_t party)
{
    return &s->party[party].roster;
}
