/* away.c -- which set that is, and how long it takes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/away.h"

#include "common/base/log.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"

#include <stdio.h>

static uint32_t away_of(const struct server_federation *f)
{
    const struct server_job *job = f->play.job;

    return server_waits(f) && job != NULL && job->away_ms != NULL ? job->away_ms(f->play.state) : 0;
}

bool server_goes_without(const struct server_federation *f)
{
    return away_of(f) > 0;
}

/* Whoever was in the set before is here. */
static bool set_is_back(const struct server_federation *f)
{
    for (uint32_t m = 0; m < f->set.n; m++) {
        if (!server_may_sit(f, f->set.member[m]))
            return false;
    }
    return f->set.n > 0;
}

static void say_away(const struct server_federation *f)
{
    char names[256];
    size_t used = 0;

    names[0] = 0;
    for (uint32_t i = 0; i < f->terms.roster->n && used < sizeof names; i++) {
        const int w = server_may_sit(f, i) ? 0
                                           : snprintf(names + used, sizeof names - used, "%s%s",
                                                      used == 0 ? "" : ", ", server_name(f, i));
        used += w > 0 ? (size_t)w : 0;
    }
    log_warn("going on without %s: not here", names);
}

bool server_away_set(struct server_federation *f)
{
    enum server_seat seat[WIRE_MEMBERS_MAX];

    if (!server_goes_without(f) || !(f->play.waited || set_is_back(f)) ||
        server_seats(f, false, seat) < f->terms.smallest)
        return false;
    server_take_seats(f, seat);
    say_away(f);
    return true;
}

/* A member that waits for an offer has patience for both. */
uint64_t server_away_ms(const struct server_federation *f)
{
    const uint64_t whole = phase_limit_ms(PHASE_GATHER, false, f->terms.patience_ms,
                                          f->terms.deadline_ms),
                   away = away_of(f) < whole / 2 ? away_of(f) : whole / 2;

    if (!server_goes_without(f))
        return server_limit_ms(f, false);
    return f->play.waited ? whole - away : away;
}

bool server_away_back(struct server_federation *f)
{
    return server_goes_without(f) && server_let_in(f);
}
