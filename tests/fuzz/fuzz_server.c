/* fuzz_server.c -- the server's session, told what they like by its parties.
 *
 * Input: byte 0 which run (tests/sim/misbehave_scripts.h); then deeds: what becomes of the next
 * frame of the record, or what else happens.
 *
 * Laws: the head stays finite, no more steps are done than the plan has, what a party says costs
 * the server nothing worse than that party, and the run ends in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/fuzz/script.h"

#include <math.h>

static void begin(struct script *c)
{
    struct event start = {.kind = EVENT_START};
    struct sim *s = c->sim;

    for (uint32_t i = 0; i < MIS_PARTIES; i++) {
        struct sim_party *p = &s->party[i];

        p->connected = true;
        p->joined = p->hole_up = p->hole_down = false;
        p->ghost_us = p->deaf_us = p->up_us = 0;
        s->soon[i] = NULL;
    }
    script_begin(c, &s->disk);
    s->server_end = (struct sim_end){0};
    s->server_timer_us = s->server_up_us = 0;
    s->up_max = 0;
    world_new_server(s);
    world_tell_server(s, &start);
}

static void lose(struct sim *s, uint32_t party, const struct error *why)
{
    struct event e = {.kind = EVENT_LOST, .peer = party, .error = why};

    if (!s->party[party].joined)
        return;
    s->party[party].joined = false;
    world_tell_server(s, &e);
}

static void tell(struct sim *s, uint32_t party, struct buf *frame)
{
    struct sim_party *p = &s->party[party];
    struct event e = {.kind = EVENT_MESSAGE, .peer = party};
    struct error err = {0};
    struct wire_msg m;
    size_t most = WIRE_JOIN_MAX, down;

    if (p->joined)
        server_session_frames(s->server, &most, &down);
    if (frame->len > most)
        error_set(&err, STATUS_LIMIT, "frame over the limit");
    else if (wire_unpack(&m, &s->unpacker, frame->data, frame->len, &err) == STATUS_OK)
        e.msg = &m;
    if (err.status != STATUS_OK) {
        lose(s, party, &err);
    } else if (p->joined) {
        world_tell_server(s, &e);
    } else if (m.kind == WIRE_JOIN) {
        e.kind = EVENT_JOINED;
        p->joined = true;
        world_tell_server(s, &e);
    }
}

static void other_event(struct sim *s, uint8_t which)
{
    static const struct error cut = {STATUS_NET, "cut"};
    struct event e = {.kind = EVENT_TIMER};

    if (which % 8 < 4 && s->server_timer_us > 0) {
        s->now_us = s->server_timer_us;
        s->server_timer_us = 0;
        world_tell_server(s, &e);
    } else if (which % 8 < 7) {
        lose(s, which / 8 % MIS_PARTIES, &cut);
    } else {
        e.kind = EVENT_STOP;
        world_tell_server(s, &e);
    }
}

static bool next(const struct script *c, size_t *at)
{
    while (*at < c->n && !c->at[*at].up)
        ++*at;
    return *at < c->n;
}

/* What it writes is durable by then. */
static void pass_until(struct sim *s, uint64_t now_us)
{
    s->now_us = now_us > s->now_us ? now_us : s->now_us;
    if (s->disk.durable_us > 0 && s->disk.durable_us <= s->now_us)
        disk_durable(s, SIM_SERVER);
}

/* Under releases once, when the parties have gone. */
static void train_alone(struct sim *s)
{
    const struct event timer = {.kind = EVENT_TIMER};

    while (server_stored_alone(&s->server->train.trainer) && !s->server_end.over)
        world_tell_server(s, &timer);
}

static void land(struct script *c, size_t at, uint32_t party, struct buf *frame)
{
    struct sim *s = c->sim;

    pass_until(s, c->at[at].now_us);
    tell(s, party, frame);
    s->flights_n = 0;
}

static void play(struct script *c, struct feed *f)
{
    static struct buf frame;
    size_t at = 0, honest = 0;

    for (size_t step = 0; step < SCRIPT_STEPS_MAX && next(c, &at); step++) {
        const uint8_t byte = honest > 0 ? SCRIPT_HONEST : feed_byte(f);
        const enum script_deed deed = (enum script_deed)(byte % SCRIPT_DEEDS);
        uint32_t party = c->at[at].party;

        if (c->sim->server_end.over)
            return;
        if (deed == SCRIPT_EVENT) {
            other_event(c->sim, byte / SCRIPT_DEEDS);
            continue;
        }
        honest = honest > 0 ? honest - 1 : deed == SCRIPT_HONEST ? byte / SCRIPT_DEEDS : 0;
        mis_copy(&frame, &c->at[at].frame);
        if (deed == SCRIPT_AGAIN || deed == SCRIPT_RAW)
            party = byte / SCRIPT_DEEDS % MIS_PARTIES;
        if (script_change(c, f, deed, true, &frame))
            land(c, at, party, &frame);
        if (deed != SCRIPT_AGAIN && deed != SCRIPT_RAW)
            at++;
    }
}

static void check_head(const struct nn_net *net)
{
    for (size_t k = 0; k < net->spec.layers; k++) {
        const struct nn_layer *l = &net->layer[k];

        for (size_t i = 0; i < nn_layer_params(l); i++)
            CHECK(isfinite(l->w[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    struct script *c = script_of((enum mis_which)(feed_byte(&f) % MIS_SCRIPTS));
    const struct server_report *r;

    begin(c);
    play(c, &f);
    pass_until(c->sim, c->sim->now_us + 1000000);
    train_alone(c->sim);
    script_check(c->sim, &c->sim->server_end);
    r = server_session_report(c->sim->server);
    CHECK(r->steps <= r->agenda.steps);
    check_head(server_session_head(c->sim->server));
    if (size == 1)
        CHECK(c->sim->server_end.over && c->sim->server_end.outcome == OUTCOME_COMPLETED);
    return 0;
}
