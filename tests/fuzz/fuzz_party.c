/* fuzz_party.c -- a party's session, told what it likes by a server.
 *
 * Input: byte 0 which run (tests/sim/misbehave_scripts.h); then deeds: what becomes of the next
 * frame of the record, or what else happens.
 *
 * Laws: those that the simulation watches of a party, whatever it is told: no key is shown twice,
 * no data leaves before one view is confirmed, no record more often than it was charged; the party
 * ends in words, after which it says nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/script.h"

enum { SELF = MIS_VICTIM };

static void begin(struct script *c)
{
    struct sim *s = c->sim;
    struct sim_party *p = &s->party[SELF];
    struct event start = {.kind = EVENT_START}, up = {.kind = EVENT_JOINED};

    script_begin(c, &p->disk);
    script_new_party(s, SELF);
    p->end = (struct sim_end){0};
    p->charged = p->uploaded = p->timer_us = p->up_us = p->deaf_us = 0;
    p->charges = p->fail_charge = 0;
    p->hole_up = p->hole_down = false;
    p->connected = p->joined = true;
    p->down_max = 0;
    memset(p->sent, 0, sizeof p->sent);
    s->soon[SELF] = NULL;
    world_tell_party(s, SELF, &start);
    world_tell_party(s, SELF, &up);
}

static void tell(struct sim *s, struct buf *frame)
{
    struct sim_party *p = &s->party[SELF];
    struct error err = {0};
    struct event e = {.kind = EVENT_MESSAGE};
    struct wire_msg m;

    if (frame->len > party_session_report(p->session)->down_max)
        error_set(&err, STATUS_LIMIT, "frame over the limit");
    else if (wire_unpack(&m, &p->unpacker, frame->data, frame->len, &err) == STATUS_OK)
        e.msg = &m;
    if (err.status != STATUS_OK)
        e = (struct event){.kind = EVENT_LOST, .error = &err};
    world_tell_party(s, SELF, &e);
}

static void other_event(struct sim *s, uint8_t which)
{
    static struct error cut = {STATUS_NET, "cut"};
    struct event e = {.kind = EVENT_TIMER, .error = &cut};
    struct sim_party *p = &s->party[SELF];

    if (which % 4 == 0 && p->timer_us > 0) {
        p->timer_us = 0;
        world_tell_party(s, SELF, &e);
    } else if (which % 4 == 1) {
        e.kind = EVENT_LOST;
        world_tell_party(s, SELF, &e);
        e = (struct event){.kind = EVENT_JOINED};
        world_tell_party(s, SELF, &e);
    } else if (which % 4 == 2) {
        e.kind = EVENT_STOP;
        world_tell_party(s, SELF, &e);
    } else if (which % 4 == 3) {
        sim_fail_charge(s, SELF, p->charges + 1, STATUS_BUDGET);
    }
}

/* The next landing at this party, from *at on; false: there is none. */
static bool next(const struct script *c, size_t *at)
{
    while (*at < c->n && (c->at[*at].up || c->at[*at].party != SELF))
        ++*at;
    return *at < c->n;
}

/* What it writes is durable by then. */
static void pass_until(struct sim *s, uint64_t now_us)
{
    s->now_us = now_us;
    if (s->party[SELF].disk.durable_us > 0 && s->party[SELF].disk.durable_us <= now_us)
        disk_durable(s, SELF);
}

static void land(struct script *c, size_t at, struct buf *frame)
{
    struct sim *s = c->sim;

    pass_until(s, c->at[at].now_us);
    tell(s, frame);
    s->flights_n = 0;
}

static void play(struct script *c, struct feed *f)
{
    static struct buf frame;
    size_t at = 0, honest = 0;

    for (size_t step = 0; step < SCRIPT_STEPS_MAX && next(c, &at); step++) {
        const uint8_t byte = honest > 0 ? SCRIPT_HONEST : feed_byte(f);
        const enum script_deed deed = (enum script_deed)(byte % SCRIPT_DEEDS);

        if (c->sim->party[SELF].end.over)
            return;
        if (deed == SCRIPT_EVENT) {
            other_event(c->sim, byte / SCRIPT_DEEDS);
            continue;
        }
        honest = honest > 0 ? honest - 1 : deed == SCRIPT_HONEST ? byte / SCRIPT_DEEDS : 0;
        mis_copy(&frame, &c->at[at].frame);
        if (script_change(c, f, deed, false, &frame))
            land(c, at, &frame);
        if (deed != SCRIPT_AGAIN && deed != SCRIPT_RAW)
            at++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const enum mis_which which = (enum mis_which)(feed_byte(&f) % MIS_SCRIPTS);
    struct script *c = script_of(which);
    struct sim_party *p = &c->sim->party[SELF];

    begin(c);
    play(c, &f);
    pass_until(c->sim, UINT64_MAX);
    script_check(c->sim, &p->end);
    /* Nothing but honest frames: it comes to its end as it did. */
    if (size == 1)
        CHECK(p->end.over && p->end.outcome == OUTCOME_COMPLETED);
    return 0;
}
