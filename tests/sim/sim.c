/* sim.c -- the world of a simulation: clock, links, timers, delivery.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/nn/safetensors.h"
#include "common/wire/message.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATENCY_US = 1000, RECONNECT_US = 10000, FLIGHTS_MAX = 4096 };

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

static void note_event(struct sim *s, const char *what, uint32_t party)
{
    if (!s->options.quiet)
        CHECK(buf_printf(&s->transcript, "-- %s p%u\n", what, party + 1) == STATUS_OK);
}

/* --- links --- */

static void fly(struct sim *s, uint32_t party, bool up, const struct wire_msg *m, uint64_t extra_us,
                bool cut_after)
{
    struct sim_party *p = &s->party[party];
    uint64_t at = s->now_us + LATENCY_US + extra_us, *last = up ? &p->last_up_us : &p->last_down_us;
    struct flight *f = NULL;

    for (size_t i = 0; i < FLIGHTS_MAX && f == NULL; i++) {
        if (!s->flight[i].used)
            f = &s->flight[i];
    }
    CHECK(f != NULL);
    if (at < *last)
        at = *last; /* a stream never overtakes itself */
    *last = at;
    f->used = true;
    f->at_us = at;
    f->order = s->order++;
    f->party = party;
    f->up = up;
    f->cut_after = cut_after;
    f->connection = p->connection;
    if (f->frame.max == 0)
        buf_init(&f->frame, 1 << 24);
    CHECK(wire_pack(&f->frame, m) == STATUS_OK);
}

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

void world_cut(struct sim *s, uint32_t party)
{
    struct sim_party *p = &s->party[party];
    struct error why = {STATUS_NET, "cut"};
    struct event lost = {.kind = EVENT_LOST, .peer = party, .error = &why};
    bool was_joined = p->joined;

    if (!p->connected)
        return;
    p->connected = p->joined = false;
    p->connection++;
    p->connect_us =
        s->now_us + (s->options.reconnect_us > 0 ? s->options.reconnect_us : RECONNECT_US);
    note_event(s, "lost", party);
    if (was_joined)
        world_tell_server(s, &lost);
    world_tell_party(s, party, &lost);
}

static void send_one(struct sim *s, int from, uint32_t party, const struct wire_msg *original)
{
    struct wire_msg m = *original;
    struct sim_rule *r = rule_for(s, from, party, m.kind);
    bool up = from != SIM_SERVER;

    if (!s->party[party].connected)
        return;
    if (up && m.kind == WIRE_UPLOAD)
        world_check_upload(s, party, &m.upload);
    if (r == NULL) {
        fly(s, party, up, &m, 0, false);
        return;
    }
    switch (r->act) {
    case SIM_CUT_BEFORE: s->cut_soon[party] = true; break;
    case SIM_CUT_AFTER: fly(s, party, up, &m, 0, true); break;
    case SIM_DELAY: fly(s, party, up, &m, r->us, false); break;
    case SIM_REPEAT:
        fly(s, party, up, &m, 0, false);
        fly(s, party, up, &m, 0, false);
        break;
    case SIM_ALTER:
        r->alter(&m, r->owner);
        fly(s, party, up, &m, 0, false);
        break;
    case SIM_SWALLOW: break;
    case SIM_KILL:
        if (up)
            s->kill_soon[party] = true;
        else
            s->kill_server_soon = true;
        break;
    }
}

/* --- actions --- */

static void finish(struct sim_end *end, const struct action *a)
{
    end->over = true;
    end->outcome = a->outcome;
    end->error = *a->error;
}

void world_tell_server(struct sim *s, const struct event *e)
{
    struct event done = {.kind = EVENT_DONE};
    struct actions *a = &s->actions;
    bool work = false;

    if (s->server_end.over)
        return;
    a->n = 0;
    server_session_step(s->server, s->now_us, e, a);
    for (size_t i = 0; i < a->n; i++) {
        const struct action *act = &a->item[i];
        if (act->kind == ACTION_SEND) {
            note(s, SIM_SERVER, act->to, act->to_n, &act->msg);
            for (size_t k = 0; k < act->to_n; k++)
                send_one(s, SIM_SERVER, act->to[k], &act->msg);
        } else if (act->kind == ACTION_ARM) {
            s->server_timer_us = s->now_us + act->after_ms * 1000;
        } else if (act->kind == ACTION_DISARM) {
            s->server_timer_us = 0;
        } else if (act->kind == ACTION_WORK) {
            work = true;
        } else if (act->kind == ACTION_DROP) {
            struct wire_msg m = {.kind = WIRE_REFUSE};
            m.refuse.kind = status_kind(act->error->status);
            snprintf(m.refuse.text, sizeof m.refuse.text, "%.*s", WIRE_TEXT_MAX, act->error->text);
            note(s, SIM_SERVER, (const uint8_t[]){(uint8_t)act->peer}, 1, &m);
            s->party[act->peer].joined = false;
            fly(s, act->peer, false, &m, 0, true);
        } else if (act->kind == ACTION_KEEP) {
            life_keep(&s->disk, s, &act->kept);
        } else if (act->kind == ACTION_FINISH) {
            finish(&s->server_end, act);
        }
    }
    if (work) {
        server_session_work(s->server);
        world_tell_server(s, &done);
    }
}

static void charge(struct sim *s, uint32_t party, const struct action_charge *c)
{
    struct sim_party *p = &s->party[party];
    uint64_t *among = &p->charged_among[c->mechanism.parties];
    struct error result = {0};
    struct event e = {.kind = EVENT_CHARGED, .error = &result};

    if (c->give_back) {
        CHECK(*among >= p->uploaded_among[c->mechanism.parties] + c->n);
        *among -= c->n;
        p->charged -= c->n;
        return;
    }
    p->charges++;
    if (p->charges == p->fail_charge) {
        error_set(&result, p->fail_status, "the ledger says no");
    } else {
        p->charged += c->n;
        *among += c->n;
    }
    world_tell_party(s, party, &e);
}

void world_tell_party(struct sim *s, uint32_t party, const struct event *e)
{
    struct sim_party *p = &s->party[party];
    struct event done = {.kind = EVENT_DONE};
    struct actions *a = &p->actions;
    struct action_charge asked = {0};
    bool work = false;

    if (p->end.over)
        return;
    a->n = 0;
    party_session_step(p->session, s->now_us, e, a);
    for (size_t i = 0; i < a->n; i++) {
        const struct action *act = &a->item[i];
        if (act->kind == ACTION_SEND) {
            note(s, (int)party, NULL, 0, &act->msg);
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
        } else if (act->kind == ACTION_KEEP) {
            life_keep(&p->disk, s, &act->kept);
        } else if (act->kind == ACTION_FINISH) {
            finish(&p->end, act);
        }
    }
    if (asked.n > 0)
        charge(s, party, &asked);
    if (work) {
        party_session_work(p->session);
        world_tell_party(s, party, &done);
    }
    if (p->end.over && p->connected)
        s->leave_soon[party] = true;
}

/* --- time --- */

static void deliver(struct sim *s, struct flight *f)
{
    struct sim_party *p = &s->party[f->party];
    struct wire_unpacker *u = f->up ? &s->unpacker : &p->unpacker;
    struct error err = {0};
    struct wire_msg m;
    struct event e = {
        .kind = EVENT_MESSAGE, .peer = f->party, .msg = &m};

    if (f->connection != p->connection) {
        f->used = false;
        return;
    }
    if (wire_unpack(&m, u, f->frame.data, f->frame.len, &err) != STATUS_OK) {
        s->unpack_failures++;
        f->used = false;
        world_cut(s, f->party);
        return;
    }
    if (!f->up) {
        world_tell_party(s, f->party, &e);
    } else if (p->joined) {
        world_tell_server(s, &e);
    } else if (m.kind == WIRE_JOIN) {
        e.kind = EVENT_JOINED;
        p->joined = true;
        world_tell_server(s, &e);
    }
    /* Only now is the slot free: what was sent in answer must not overwrite the frame being read.
     */
    f->used = false;
    if (f->cut_after)
        world_cut(s, f->party);
}

/* What the last event asked for beyond messages: cuts, deaths, orderly departures. */
static void settle(struct sim *s)
{
    if (s->kill_server_soon) {
        s->kill_server_soon = false;
        life_kill(s, SIM_SERVER);
    }
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (s->kill_soon[i]) {
            s->kill_soon[i] = false;
            life_kill(s, (int)i);
        }
        if (s->cut_soon[i]) {
            s->cut_soon[i] = false;
            world_cut(s, i);
        }
        if (s->leave_soon[i]) {
            struct event lost = {.kind = EVENT_LOST, .peer = i};
            struct error why = {0};
            bool was_joined = s->party[i].joined;
            lost.error = &why;
            s->leave_soon[i] = false;
            /* Its last words arrive before the end of its stream. */
            for (size_t k = 0; k < FLIGHTS_MAX; k++) {
                struct flight *f = &s->flight[k];
                if (f->used && f->up && f->party == i && f->connection == s->party[i].connection)
                    deliver(s, f);
            }
            s->party[i].connected = s->party[i].joined = false;
            s->party[i].connection++;
            s->party[i].connect_us = 0;
            if (was_joined)
                world_tell_server(s, &lost);
        }
    }
}

/* Checkpoints that become durable and processes that die: 5 and 6. */
static int next_on_disk(const struct sim *s, int kind, uint64_t *at, size_t *which)
{
    for (size_t i = 0; i <= s->options.parties; i++) {
        const struct sim_disk *d = i < s->options.parties ? &s->party[i].disk : &s->disk;
        if (d->durable_us > 0 && d->durable_us < *at) {
            *at = d->durable_us;
            *which = i;
            kind = 5;
        }
    }
    for (size_t i = 0; i < s->kills_n; i++) {
        if (s->kill[i].us > 0 && s->kill[i].us < *at) {
            *at = s->kill[i].us;
            *which = i;
            kind = 6;
        }
    }
    return kind;
}

/* The next thing that happens: 0 message, 1 server timer, 2 party timer, 3 connect, 4 stop, 5 a
 * checkpoint is durable, 6 a process dies; -1: nothing. */
static int next_thing(struct sim *s, uint64_t *at, size_t *which)
{
    int kind = -1;

    *at = UINT64_MAX;
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        const struct flight *f = &s->flight[i];
        if (f->used && (f->at_us < *at ||
                        (f->at_us == *at && kind == 0 && f->order < s->flight[*which].order))) {
            *at = f->at_us;
            *which = i;
            kind = 0;
        }
    }
    if (!s->server_end.over && s->server_timer_us > 0 && s->server_timer_us < *at) {
        *at = s->server_timer_us;
        kind = 1;
    }
    if (s->stop_us > 0 && s->stop_us < *at) {
        *at = s->stop_us;
        kind = 4;
    }
    for (uint32_t i = 0; i < s->options.parties; i++) {
        const struct sim_party *p = &s->party[i];
        if (p->end.over)
            continue;
        if (p->timer_us > 0 && p->timer_us < *at) {
            *at = p->timer_us;
            *which = i;
            kind = 2;
        }
        if (!p->connected && p->connect_us > 0 && p->connect_us < *at && !s->server_end.over) {
            *at = p->connect_us;
            *which = i;
            kind = 3;
        }
    }
    return next_on_disk(s, kind, at, which);
}

static void happen(struct sim *s, int kind, size_t which)
{
    struct event e = {.kind = EVENT_TIMER};

    if (kind == 0) {
        deliver(s, &s->flight[which]);
    } else if (kind == 1) {
        s->server_timer_us = 0;
        world_tell_server(s, &e);
    } else if (kind == 2) {
        s->party[which].timer_us = 0;
        world_tell_party(s, (uint32_t)which, &e);
    } else if (kind == 3) {
        s->party[which].connected = true;
        s->party[which].connect_us = 0;
        s->party[which].last_up_us = s->party[which].last_down_us = 0;
        e.kind = EVENT_JOINED;
        world_tell_party(s, (uint32_t)which, &e);
    } else if (kind == 5) {
        life_durable(s, which == s->options.parties ? SIM_SERVER : (int)which);
    } else if (kind == 6) {
        s->kill[which].us = 0;
        life_kill(s, s->kill[which].who);
    } else {
        s->stop_us = 0;
        e.kind = EVENT_STOP;
        if (s->stop_who == SIM_SERVER)
            world_tell_server(s, &e);
        else
            world_tell_party(s, (uint32_t)s->stop_who, &e);
    }
}

void sim_run(struct sim *s, uint64_t us)
{
    struct event start = {.kind = EVENT_START};
    uint64_t end = s->now_us + us, at;
    size_t which = 0;

    if (!s->started) {
        s->started = true;
        world_tell_server(s, &start);
        for (uint32_t i = 0; i < s->options.parties; i++)
            world_tell_party(s, i, &start);
    }
    for (;;) {
        int kind = next_thing(s, &at, &which);
        if (kind < 0 || at > end)
            return;
        s->now_us = at;
        happen(s, kind, which);
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

void sim_kill_at(struct sim *s, int who, uint64_t us)
{
    CHECK(s->kills_n < SIM_KILLS_MAX);
    s->kill[s->kills_n].who = who;
    s->kill[s->kills_n++].us = us;
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

struct table *sim_party_train(struct sim *s, uint32_t party)
{
    return &s->party[party].train;
}

struct roster *sim_party_roster(struct sim *s, uint32_t party)
{
    return &s->party[party].roster;
}
