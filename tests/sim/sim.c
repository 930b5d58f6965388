/* sim.c -- the world of a simulation: what the sessions ask for, and the clock.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/nn/safetensors.h"
#include "common/wire/message.h"
#include "tests/sim/oracle.h"
#include "tests/sim/disk.h"
#include "tests/sim/flight.h"
#include "tests/sim/life.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECONNECT_US = 10000 };

/* --- transcript --- */

static const char *who_name(char out[16], int who)
{
    if (who == SIM_SERVER)
        return "server";
    snprintf(out, 16, "p%d", who + 1);
    return out;
}

static void describe(char out[96], const struct wire_msg *m)
{
    if (m->kind == WIRE_BROADCAST) {
        const struct wire_broadcast *b = &m->broadcast;
        int n = snprintf(out, 96, "broadcast");
        if (b->closes)
            n +=
                snprintf(out + n, 96 - (size_t)n, " close %llu", (unsigned long long)b->close_step);
        if (b->last)
            snprintf(out + n, 96 - (size_t)n, " last");
        if (b->opens)
            snprintf(out + n, 96 - (size_t)n, " open %s %llu", wire_purpose_name(b->purpose),
                     (unsigned long long)b->place);
    } else if (m->kind == WIRE_OFFER) {
        snprintf(out, 96, "offer %llu", (unsigned long long)m->offer.generation);
    } else if (m->kind == WIRE_FINISH) {
        snprintf(out, 96, "finish %s", wire_outcome_name(m->finish.outcome));
    } else {
        snprintf(out, 96, "%s", wire_kind_name(m->kind));
    }
}

static void note(struct sim *s, int from, const uint8_t *to, size_t to_n, const struct wire_msg *m)
{
    char name[16], what[96];

    if (s->options.quiet)
        return;
    describe(what, m);
    CHECK(buf_printf(&s->transcript, "%s: %s", who_name(name, from), what) == STATUS_OK);
    if (from == SIM_SERVER && to_n < s->options.parties) {
        for (size_t i = 0; i < to_n; i++)
            CHECK(buf_printf(&s->transcript, "%s%s", i == 0 ? " -> " : " ",
                             who_name(name, to[i])) == STATUS_OK);
    }
    CHECK(buf_printf(&s->transcript, "\n") == STATUS_OK);
}

/* --- links --- */

static struct sim_rule *rule_for(struct sim *s, int from, uint32_t party, enum wire_kind kind)
{
    for (size_t i = 0; i < s->rules_n; i++) {
        struct sim_rule *r = &s->rule[i];
        if (r->from != from || r->kind != kind)
            continue;
        if (from == SIM_SERVER && r->party != SIM_ANY && r->party != (int)party)
            continue;
        r->seen++;
        if (r->nth == 0 || r->seen == r->nth)
            return r;
    }
    return NULL;
}

/* Into the void: a connection that is no more, whoever has heard of it; or is about to be. */
static bool into_the_void(const struct sim *s, uint32_t party, bool up)
{
    const struct sim_party *p = &s->party[party];

    if (s->soon[party] != NULL || s->soon[SIM_PARTIES_MAX] != NULL)
        return true;
    return up ? p->hole_up || p->deaf_us > 0 : p->hole_down || !p->joined || p->ghost_us > 0;
}

static void send_one(struct sim *s, int from, uint32_t party, const struct wire_msg *original)
{
    struct wire_msg m = *original;
    struct sim_rule *r = rule_for(s, from, party, m.kind);
    struct sim_party *p = &s->party[party];
    bool up = from != SIM_SERVER;

    if (!p->connected)
        return;
    if (s->ear.said != NULL)
        s->ear.said(s, from, party, &m, s->ear.owner);
    if (up)
        oracle_sent(s, party, &m);
    if (into_the_void(s, party, up))
        return;
    if (r != NULL && (r->act == SIM_CUT_BEFORE || r->act == SIM_KILL)) {
        s->soon[from == SIM_SERVER && r->act == SIM_KILL ? SIM_PARTIES_MAX : party] = &r->how;
        r->how.what = r->act == SIM_KILL ? SIM_DEATH : SIM_CUT;
        r->how.who = r->act == SIM_KILL ? from : (int)party;
        return;
    }
    if (r != NULL && r->act == SIM_ALTER)
        r->alter(&m, r->owner);
    if (r != NULL && r->act == SIM_HOLE)
        *(up ? &p->hole_up : &p->hole_down) = true;
    if (r != NULL && (r->act == SIM_SWALLOW || r->act == SIM_HOLE))
        return;
    flight_add(s, party, up, &m, r != NULL && r->act == SIM_DELAY ? r->us : 0,
               r != NULL && r->act == SIM_CUT_AFTER);
    if (r != NULL && r->act == SIM_REPEAT)
        flight_add(s, party, up, &m, 0, false);
}

/* --- actions --- */

static void finish(struct sim *s, int who, const struct action *a)
{
    struct sim_end *end = who == SIM_SERVER ? &s->server_end : &s->party[who].end;

    end->over = true;
    end->outcome = a->outcome;
    end->error = *a->error;
    if (s->ear.ended != NULL)
        s->ear.ended(s, who, s->ear.owner);
}

static void drop(struct sim *s, uint32_t peer, const struct error *why)
{
    struct wire_msg m = {.kind = WIRE_REFUSE};
    struct sim_party *p = &s->party[peer];

    m.refuse.kind = status_kind(why->status);
    snprintf(m.refuse.text, sizeof m.refuse.text, "%.*s", WIRE_TEXT_MAX, why->text);
    note(s, SIM_SERVER, (const uint8_t[]){(uint8_t)peer}, 1, &m);
    if (p->joined && p->ghost_us == 0)
        flight_add(s, peer, false, &m, 0, true);
    p->joined = false;
    p->ghost_us = 0;
}

/* The server's process ends behind its last words. */
static void close_all(struct sim *s)
{
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (s->party[i].connected && s->party[i].deaf_us == 0)
            flight_add(s, i, false, NULL, 0, false);
    }
}

void world_tell_server(struct sim *s, const struct event *e)
{
    struct event done = {.kind = EVENT_DONE}, unsent = {.kind = EVENT_UNSENT};
    struct actions *a = &s->actions;
    bool work = false;

    if (s->server_end.over || s->server_up_us > 0)
        return;
    a->n = 0;
    server_session_step(s->server, s->now_us, e, a);
    for (size_t i = 0; i < a->n; i++) {
        const struct action *act = &a->item[i];
        if (act->kind == ACTION_SEND && world_pack(s, SIM_SERVER, &act->msg) != STATUS_OK) {
            s->unsent = true;
        } else if (act->kind == ACTION_SEND) {
            note(s, SIM_SERVER, act->to, act->to_n, &act->msg);
            s->server_sent[act->msg.kind] += (uint32_t)act->to_n;
            for (size_t k = 0; k < act->to_n; k++)
                send_one(s, SIM_SERVER, act->to[k], &act->msg);
        } else if (act->kind == ACTION_ARM) {
            s->server_timer_us = s->now_us + act->after_ms * 1000;
        } else if (act->kind == ACTION_DISARM) {
            s->server_timer_us = 0;
        } else if (act->kind == ACTION_WORK) {
            work = true;
        } else if (act->kind == ACTION_DROP) {
            drop(s, act->peer, act->error);
        } else if (act->kind == ACTION_KEEP) {
            disk_keep(&s->disk, s, &act->kept);
        } else if (act->kind == ACTION_FINISH) {
            finish(s, SIM_SERVER, act);
            close_all(s);
        }
    }
    if (s->unsent && !s->server_end.over) {
        s->unsent = false;
        world_tell_server(s, &unsent);
    } else if (work) {
        server_session_work(s->server);
        oracle_combined(s);
        world_tell_server(s, &done);
    }
}

/* One commit. */
static void commit(struct sim_ledger *l, const struct action_charge *c)
{
    l->number += c->rounds == 0 ? 0 : c->give_back ? 1 : c->rounds;
    for (size_t i = 0; i < c->seen_n; i++) {
        if (c->seen[i] > l->seen[i])
            l->seen[i] = c->seen[i];
    }
}

static void charge(struct sim *s, uint32_t party, const struct action_charge *c)
{
    struct sim_party *p = &s->party[party];
    struct error result = {0};
    struct event e = {.kind = EVENT_CHARGED, .error = &result};

    if (s->ear.charged != NULL)
        s->ear.charged(s, party, c, s->ear.owner);
    if (c->give_back) {
        commit(&p->disk.ledger, c);
        oracle_charged(s, party, c);
        p->charged -= c->n;
        return;
    }
    p->charges += c->n > 0;
    if (c->n > 0 && p->charges == p->fail_charge) {
        error_set(&result, p->fail_status, "the ledger says no");
    } else {
        commit(&p->disk.ledger, c);
        oracle_charged(s, party, c);
        p->charged += c->n;
    }
    world_tell_party(s, party, &e);
}

void world_tell_party(struct sim *s, uint32_t party, const struct event *e)
{
    struct sim_party *p = &s->party[party];
    struct event done = {.kind = EVENT_DONE}, unsent = {.kind = EVENT_UNSENT};
    struct actions *a = &p->actions;
    struct action_charge asked = {0};
    bool work = false, asks = false;

    if (p->end.over || p->up_us > 0)
        return;
    a->n = 0;
    party_session_step(p->session, s->now_us, e, a);
    for (size_t i = 0; i < a->n; i++) {
        const struct action *act = &a->item[i];
        if (act->kind == ACTION_SEND && world_pack(s, (int)party, &act->msg) != STATUS_OK) {
            p->unsent = true;
        } else if (act->kind == ACTION_SEND) {
            note(s, (int)party, NULL, 0, &act->msg);
            p->sent[act->msg.kind]++;
            send_one(s, (int)party, party, &act->msg);
        } else if (act->kind == ACTION_ARM) {
            p->timer_us = s->now_us + act->after_ms * 1000;
        } else if (act->kind == ACTION_DISARM) {
            p->timer_us = 0;
        } else if (act->kind == ACTION_WORK) {
            work = true;
        } else if (act->kind == ACTION_CHARGE && act->charge.give_back) {
            charge(s, party, &act->charge);
        } else if (act->kind == ACTION_CHARGE) {
            asked = act->charge;
            asks = true;
        } else if (act->kind == ACTION_KEEP) {
            disk_keep(&p->disk, s, &act->kept);
        } else if (act->kind == ACTION_FINISH) {
            finish(s, (int)party, act);
        }
    }
    if (p->unsent && !p->end.over) {
        p->unsent = asks = work = false;
        world_tell_party(s, party, &unsent);
    }
    if (asks)
        charge(s, party, &asked);
    if (work) {
        party_session_work(p->session);
        oracle_protected(s, party);
        world_tell_party(s, party, &done);
    }
    if (p->end.over && p->connected)
        s->leave_soon[party] = true;
}

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
            life_break(s, b);
        }
        if (s->leave_soon[i]) {
            s->leave_soon[i] = false;
            life_leave(s, i);
        }
    }
}

enum thing {
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
    if (!p->connected && !s->server_end.over)
        sooner(n, THING_CONNECT, i, p->connect_us);
    sooner(n, THING_HEARD, i, p->deaf_us);
    sooner(n, THING_START, i, p->up_us);
}

/* Of what happens at once, the first in this order. */
static struct next next_thing(const struct sim *s)
{
    struct next n = {THING_NONE, 0, UINT64_MAX};
    size_t flight = flight_next(s);

    if (flight != SIZE_MAX)
        sooner(&n, THING_MESSAGE, flight, s->flight[flight].at_us);
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
        s->now_us = n.at;
        happen(s, &n);
        settle(s);
    }
}

/* --- asking and arranging --- */

void sim_rule(struct sim *s, struct sim_rule r)
{
    CHECK(s->rules_n < SIM_RULES_MAX);
    s->rule[s->rules_n++] = r;
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
