/* during.c -- rules for the middle of work.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/during.h"

#include "common/base/check.h"

enum { WORK_US = 5000, MIDDLE_US = 1500 };

static void note(struct sim *s, const char *what, int who)
{
    if (s->options.quiet)
        return;
    if (who == SIM_SERVER)
        CHECK(buf_printf(&s->transcript, "-- %s server\n", what) == STATUS_OK);
    else
        CHECK(buf_printf(&s->transcript, "-- %s p%d\n", what, who + 1) == STATUS_OK);
}

static const char *word_of(enum action_kind work, bool begins)
{
    if (work == ACTION_KEEP)
        return begins ? "keeping" : "kept";
    if (work == ACTION_CHARGE)
        return begins ? "charging" : "charged";
    if (work == ACTION_RECALL)
        return begins ? "recalling" : "recalled";
    return begins ? "working" : "worked";
}

static enum phase phase_of(struct sim *s, int who)
{
    return who == SIM_SERVER ? server_session_report(s->server)->presence.phase
                             : party_session_report(s->party[who].session)->phase;
}

void sim_during(struct sim *s, struct sim_during d)
{
    CHECK(s->during_n < SIM_DURING_MAX);
    s->during[s->during_n++] = d;
}

/* Some work takes time, and how much follows from the seed. */
static uint64_t some_time(struct sim *s)
{
    uint64_t z = (s->options.jitter_seed + ++s->works) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ull;
    return s->options.work_us == 0 ? 0 : s->now_us + 1 + (z ^ (z >> 29)) % s->options.work_us;
}

uint64_t during_begins(struct sim *s, int who, const struct action *a)
{
    uint64_t until = a->kind == ACTION_KEEP ? 0 : some_time(s);
    bool noted = false;

    for (size_t i = 0; i < s->during_n; i++) {
        struct sim_during *d = &s->during[i];
        if (d->who != who || d->work != a->kind || d->phase != phase_of(s, who) ||
            ++d->seen != d->nth)
            continue;
        if (!noted)
            note(s, word_of(a->kind, true), who);
        noted = true;
        d->at_us = s->now_us + MIDDLE_US;
        d->runs = true;
        until = s->now_us + WORK_US;
    }
    return until;
}

void during_ends(struct sim *s, int who, enum action_kind work)
{
    bool noted = false;

    for (size_t i = 0; i < s->during_n; i++) {
        struct sim_during *d = &s->during[i];
        if (!d->runs || d->who != who || d->work != work)
            continue;
        d->runs = false;
        if (!noted)
            note(s, word_of(work, false), who);
        noted = true;
    }
}

size_t during_next(const struct sim *s, uint64_t *at_us)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < s->during_n; i++) {
        const struct sim_during *d = &s->during[i];
        if (d->at_us > 0 && (first == SIZE_MAX || d->at_us < s->during[first].at_us))
            first = i;
    }
    *at_us = first == SIZE_MAX ? 0 : s->during[first].at_us;
    return first;
}

static void tell(struct sim *s, int who, enum event_kind kind)
{
    struct event e = {.kind = kind};

    if (who == SIM_SERVER)
        world_tell_server(s, &e);
    else
        world_tell_party(s, (uint32_t)who, &e);
}

static void run_out(struct sim *s, int who)
{
    uint64_t *timer_us = who == SIM_SERVER ? &s->server_timer_us : &s->party[who].timer_us;
    const bool armed = *timer_us > 0;

    *timer_us = 0;
    note(s, armed ? "timer" : "no timer", who);
    if (armed)
        tell(s, who, EVENT_TIMER);
}

void during_happens(struct sim *s, size_t which)
{
    struct sim_during *d = &s->during[which];

    d->at_us = 0;
    switch (d->deed) {
    case SIM_LOSS: world_cut(s, d->party); break;
    case SIM_STOP:
        note(s, "stop", d->who);
        tell(s, d->who, EVENT_STOP);
        break;
    case SIM_TIMER: run_out(s, d->who); break;
    }
}
