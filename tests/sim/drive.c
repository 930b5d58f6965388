/* drive.c -- what sessions ask for: their drivers' surroundings.
 *
 * Work takes no time, unless a test has something to happen in the middle of it (during.c).  A
 * process at work hears nothing: what is on its way to it lands when it has done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/world.h"

#include "common/base/check.h"
#include "common/wire/message.h"
#include "common/wire/purpose.h"
#include "tests/sim/judged.h"
#include "tests/sim/disk.h"
#include "tests/sim/during.h"
#include "tests/sim/flight.h"
#include "tests/sim/oracle.h"
#include "tests/sim/standing.h"

#include <stdio.h>
#include <string.h>

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
            snprintf(out + n, 96 - (size_t)n, " open %s %llu", purpose_of(b->purpose)->name,
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
        if (r->but > 0 && r->seen % r->but == 0)
            continue;
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
    flight_add(s, party, up, &m,
               r != NULL && (r->act == SIM_DELAY || r->act == SIM_ALTER) ? r->us : 0,
               r != NULL && (r->act == SIM_CUT_AFTER ||
                             (r->act == SIM_ALTER && r->then_cut && m.kind != original->kind)));
    if (r != NULL && r->act == SIM_REPEAT)
        flight_add(s, party, up, &m, 0, false);
}

/* --- actions --- */

static struct driver *driver_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->driver : &s->party[who].driver;
}

static struct sim_work *work_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->work : &s->party[who].work;
}

static enum status say(struct sim *s, int who, const struct action *a)
{
    const enum status st = world_pack(s, who, &a->msg);

    if (st != STATUS_OK)
        return st;
    note(s, who, a->to, a->to_n, &a->msg);
    if (who == SIM_SERVER) {
        s->server_sent[a->msg.kind] += (uint32_t)a->to_n;
        for (size_t k = 0; k < a->to_n; k++)
            send_one(s, SIM_SERVER, a->to[k], &a->msg);
    } else {
        s->party[who].sent[a->msg.kind]++;
        send_one(s, who, (uint32_t)who, &a->msg);
    }
    return STATUS_OK;
}

static void finish(struct sim *s, int who, const struct action *a)
{
    struct sim_end *end = who == SIM_SERVER ? &s->server_end : &s->party[who].end;

    end->over = driver_over(driver_of(s, who));
    end->jobs++;
    end->outcome = a->outcome;
    end->error = a->error;
    if (s->standing != NULL)
        standing_ended(s, who, a);
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

static enum status server_acts(void *owner, const struct action *a)
{
    struct sim *s = owner;

    switch (a->kind) {
    case ACTION_SEND: return say(s, SIM_SERVER, a);
    case ACTION_ARM: s->server_timer_us = s->now_us + a->after_ms * 1000; break;
    case ACTION_DISARM: s->server_timer_us = 0; break;
    case ACTION_DROP: drop(s, a->peer, &a->error); break;
    case ACTION_KEEP:
        disk_keep(&s->disk, s, &a->kept);
        during_begins(s, SIM_SERVER, a);
        break;
    case ACTION_FINISH:
        finish(s, SIM_SERVER, a);
        if (s->server_end.over)
            close_all(s);
        break;
    case ACTION_FORGET: disk_forget(s, a->step); break;
    case ACTION_LEAVE: CHECK(!"a server stays"); break;
    case ACTION_REPORT: break;
    case ACTION_APPEND:
    case ACTION_TURN:
    case ACTION_RECALL:
    case ACTION_WORK:
    case ACTION_CHARGE: CHECK(!"the server keeps no ledger, and work is begun");
    }
    return STATUS_OK;
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

static void charge(struct sim_party *p, const struct action_charge *c, struct error *result)
{
    struct sim *s = p->world;

    for (size_t i = 0; i < c->n && c->spared != NULL; i++)
        c->spared[i] = p->spent.predicted != NULL && p->spent.predicted[c->rows[i]] != 0;

    p->charges += !c->give_back && c->n > 0;
    if (!c->give_back && c->n > 0 && p->charges == p->fail_charge) {
        error_set(result, p->fail_status, "the ledger says no");
        return;
    }
    if (p->books != NULL && judged_charge(p->books, p, c, result) != STATUS_OK)
        return;
    commit(&p->disk.ledger, c);
    oracle_charged(s, p->self, c);
    if (c->give_back)
        p->charged -= c->n;
    else
        p->charged += c->n;
}

static void heard_charge(struct sim_party *p, const struct action_charge *c)
{
    const struct sim *s = p->world;

    if (s->ear.charged != NULL)
        s->ear.charged(p->world, p->self, c, s->ear.owner);
}

/* One that stands is away for so long; any other has ended anyway. */
static void leaves(struct sim_party *p, uint64_t away_ms)
{
    p->away_us = away_ms * 1000;
    p->leaves = (struct sim_break){.what = SIM_CUT, .who = (int)p->self};
    p->world->soon[p->self] = &p->leaves;
}

static enum status party_acts(void *owner, const struct action *a)
{
    struct sim_party *p = owner;
    struct error never = {0};

    switch (a->kind) {
    case ACTION_SEND: return say(p->world, (int)p->self, a);
    case ACTION_ARM: p->timer_us = p->world->now_us + a->after_ms * 1000; break;
    case ACTION_DISARM: p->timer_us = 0; break;
    case ACTION_CHARGE:
        heard_charge(p, &a->charge);
        charge(p, &a->charge, &never);
        break;
    case ACTION_KEEP:
        disk_keep(&p->disk, p->world, &a->kept);
        during_begins(p->world, (int)p->self, a);
        break;
    case ACTION_FINISH: finish(p->world, (int)p->self, a); break;
    case ACTION_LEAVE: leaves(p, a->after_ms); break;
    case ACTION_DROP:
    case ACTION_REPORT:
    case ACTION_APPEND:
    case ACTION_TURN:
    case ACTION_RECALL:
    case ACTION_FORGET:
    case ACTION_WORK: CHECK(!"a party drops nobody and has no journal, and work is begun");
    }
    return STATUS_OK;
}

/* --- work --- */

/* A party that has ended leaves. */
static void left(struct sim *s, int who)
{
    if (who != SIM_SERVER && s->party[who].end.over && s->party[who].connected)
        s->leave_soon[who] = true;
}

static void work(struct sim *s, int who, const struct action *a, struct error *result)
{
    if (who == SIM_SERVER && a->kind == ACTION_RECALL) {
        disk_recall(s, a, result);
    } else if (who == SIM_SERVER) {
        s->written.n = 0;
        server_session_work(s->server, &s->written);
        disk_write(s, &s->written, result);
        oracle_combined(s);
    } else if (a->kind == ACTION_WORK) {
        party_session_work(s->party[who].session);
        oracle_protected(s, (uint32_t)who);
    } else {
        charge(&s->party[who], &a->charge, result);
    }
}

/* At once, unless the test has something to happen in the middle of it. */
static bool begin(struct sim *s, int who, const struct action *a, struct error *result)
{
    struct sim_work *w = work_of(s, who);

    w->us = during_begins(s, who, a);
    w->asked = a;
    if (w->us == 0)
        work(s, who, a, result);
    return w->us == 0;
}

void world_worked(struct sim *s, int who)
{
    struct sim_work *w = work_of(s, who);
    struct error result = {0};

    w->us = 0;
    during_ends(s, who, w->asked->kind);
    work(s, who, w->asked, &result);
    driver_done(driver_of(s, who), &result);
    left(s, who);
}

static bool server_begins(void *owner, const struct action *a, struct error *result)
{
    return begin(owner, SIM_SERVER, a, result);
}

static bool party_begins(void *owner, const struct action *a, struct error *result)
{
    struct sim_party *p = owner;

    if (a->kind == ACTION_CHARGE)
        heard_charge(p, &a->charge);
    return begin(p->world, (int)p->self, a, result);
}

/* --- sessions --- */

static void server_steps(void *owner, const struct event *e, struct actions *out)
{
    struct sim *s = owner;

    server_session_step(s->server, s->now_us, e, out);
}

static void party_steps(void *owner, const struct event *e, struct actions *out)
{
    struct sim_party *p = owner;

    party_session_step(p->session, p->world->now_us, e, out);
}

static void interrupt_party(void *owner)
{
    party_session_interrupt(((struct sim_party *)owner)->session);
}

/* What is on its way lands later (flight.c). */
static void pause_reading(void *owner, bool on)
{
    (void)owner;
    (void)on;
}

void world_new_driver(struct sim *s, int who)
{
    static const struct driver_calls server = {
        .step = server_steps, .act = server_acts, .begin = server_begins, .pause = pause_reading};
    static const struct driver_calls party = {.step = party_steps,
                                              .act = party_acts,
                                              .begin = party_begins,
                                              .interrupt = interrupt_party,
                                              .pause = pause_reading};

    *work_of(s, who) = (struct sim_work){0};
    if (who == SIM_SERVER)
        driver_init(&s->driver, &server, s);
    else
        driver_init(&s->party[who].driver, &party, &s->party[who]);
    if (s->standing != NULL)
        driver_stand(driver_of(s, who));
}

/* Who stands between two jobs waits for a checkpoint, which is durable before messages land. */
uint64_t world_works_until(const struct sim *s, int who)
{
    const uint64_t work_us = who == SIM_SERVER ? s->work.us : s->party[who].work.us;
    const struct driver *d = who == SIM_SERVER ? &s->driver : &s->party[who].driver;
    const struct sim_disk *disk = who == SIM_SERVER ? &s->disk : &s->party[who].disk;

    return work_us == 0 && world_up(s, who) && driver_works(d) ? disk->durable_us + 1 : work_us;
}

bool world_works(const struct sim *s, int who)
{
    return world_works_until(s, who) > 0;
}

bool world_up(const struct sim *s, int who)
{
    return who == SIM_SERVER ? !s->server_end.over && s->server_up_us == 0
                             : !s->party[who].end.over && s->party[who].up_us == 0;
}

static void tell(struct sim *s, int who, const struct event *e)
{
    if (!world_up(s, who))
        return;
    driver_tell(driver_of(s, who), e);
    left(s, who);
}

void world_tell_server(struct sim *s, const struct event *e)
{
    tell(s, SIM_SERVER, e);
}

void world_tell_party(struct sim *s, uint32_t party, const struct event *e)
{
    tell(s, (int)party, e);
}

void world_kept(struct sim *s, int who, const struct error *result)
{
    if (!world_up(s, who))
        return;
    driver_kept(driver_of(s, who), result);
    left(s, who);
}
