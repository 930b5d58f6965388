/* join.c -- GATHER: parties connect and join; what a lost party means.
 *
 * Under `wait` a generation is the whole roster, always.  Under `drop` the first generation is the
 * whole roster, and later ones are whoever is present and was not too late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/base/log.h"
#include "server/away.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"

#include <string.h>

static uint32_t ready(const struct server_federation *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        n += server_may_sit(f, i);
    return n;
}

/* Who is shut out of the job since a process before this one is not waited for. */
static bool all_are_ready(const struct server_federation *f)
{
    uint32_t n = ready(f);

    for (uint32_t i = 0; i < f->terms.roster->n; i++)
        n += f->peer[i].barred;
    return n == f->terms.roster->n;
}

/* Whether a generation can begin with those who are ready.  Whoever asks for a larger set than that
 * is left out, by name, where the others suffice: it keeps nobody waiting (G10).  The first one of
 * a process has everybody, or those who came within its patience. */
static bool set_found(struct server_federation *f)
{
    const bool without = !server_waits(f) && f->play.started;
    enum server_seat seat[WIRE_MEMBERS_MAX];

    if (phase_row(PHASE_GATHER)->quorum[without] == QUORUM_ROSTER) {
        if (!all_are_ready(f))
            return server_away_set(f);
        if (server_marks(f) == 0)
            return true;
    }
    if (server_seats(f, false, seat) < f->terms.smallest)
        return false;
    server_take_seats(f, seat);
    return true;
}

struct server_next server_gather(struct server_federation *f, struct actions *a)
{
    if (f->sm.phase != PHASE_GATHER)
        sm_move(&f->sm, PHASE_GATHER, f->set.generation);
    for (size_t i = 0; i < f->terms.roster->n; i++) {
        f->peer[i].answered = f->peer[i].present && !f->peer[i].barred;
        f->peer[i].excluded = f->odds.out[i] = false; /* too few without the late ones */
        f->peer[i].member = -1;
    }
    if (set_found(f))
        return server_offer(f, a);
    server_arm(a, server_away_ms(f));
    return next_of(NEXT_WAIT);
}

/* For those who are away: now for as many as it takes. */
static struct server_next waited(struct server_federation *f, struct actions *a)
{
    f->play.waited = true;
    if (set_found(f))
        return server_offer(f, a);
    server_arm(a, server_away_ms(f));
    return next_of(NEXT_WAIT);
}

bool server_gather_ends(struct server_federation *f, struct actions *a, struct server_next *next)
{
    enum server_job_state state;

    if (f->sm.phase != PHASE_GATHER)
        return false;
    if (server_goes_without(f) && !f->play.waited) {
        *next = waited(f, a);
        return true;
    }
    state = f->play.job->state(f->play.state);
    if (state == JOB_FRESH)
        return false;
    if (ready(f) == 0 && state == JOB_DONE) {
        log_warn("the run is done and nobody has come back: each has ended with its final model, "
                 "or without it");
        *next = f->play.job->complete(f->play.state, a);
        return true;
    }
    if (server_waits(f))
        return false;
    f->play.started = true;
    if (!set_found(f))
        return false;
    *next = server_offer(f, a);
    return true;
}

struct server_next server_set_changed(struct server_federation *f, struct actions *a)
{
    f->play.waited &= f->sm.phase == PHASE_GATHER;
    if (set_found(f))
        return server_offer(f, a);
    return f->sm.phase != PHASE_GATHER ? server_gather(f, a) : next_of(NEXT_WAIT);
}

static bool is_beyond(const struct server_federation *f, uint64_t generation)
{
    return generation > f->set.known && generation - f->set.known > SERVER_FORGOTTEN_MAX;
}

static uint32_t claim_as_much(const struct server_federation *f, uint64_t generation)
{
    uint32_t n = 0;

    for (size_t i = 0; i < f->terms.roster->n; i++)
        n += f->peer[i].claimed >= generation;
    return n;
}

/* Far below where the count would end, and wrap. */
#define BELIEVED_MAX (1ull << 62)

/* The highest generation that more parties claim than may lie, or all of them: some of these were
 * offered it or a later one, by whoever was the server then.  How many may lie is the job's to say:
 * between two of them nobody is believed. */
static uint64_t claimed_by_most(const struct server_federation *f)
{
    const uint32_t liars = f->terms.colluders > 0 ? f->terms.colluders : 1;
    const uint32_t n = (uint32_t)f->terms.roster->n, enough = liars < n ? liars + 1 : n;
    uint64_t most = 0;

    for (uint32_t i = 0; i < n; i++)
        if (f->peer[i].claimed > most && f->peer[i].claimed < BELIEVED_MAX &&
            claim_as_much(f, f->peer[i].claimed) >= enough)
            most = f->peer[i].claimed;
    return f->play.idle ? 0 : most;
}

/* A single claim is not believed: it could drive the count to its end. */
static bool claims_too_much(struct server_federation *f, uint32_t peer, const struct wire_join *j)
{
    uint64_t believed;

    f->peer[peer].claimed = is_beyond(f, j->generation) ? j->generation : 0;
    believed = claimed_by_most(f);
    if (believed > f->set.known) {
        log_warn("several parties were offered generations up to %llu: this server goes on there",
                 (unsigned long long)believed);
        f->set.known = believed;
    }
    return is_beyond(f, j->generation);
}

static bool join_is_good(struct server_federation *f, uint32_t peer, const struct wire_join *j)
{
    if (j->version != WIRE_VERSION)
        error_set(&f->error, STATUS_PROTOCOL, "%s: speaks protocol version %u, this server %d",
                  server_name(f, peer), j->version, WIRE_VERSION);
    else if (memcmp(j->roster_digest, f->terms.roster->digest, WIRE_DIGEST_BYTES) != 0)
        error_set(&f->error, STATUS_CONFIG,
                  "%s: its roster is not the server's (compare the digests)", server_name(f, peer));
    else if (claims_too_much(f, peer, j))
        error_set(&f->error, STATUS_PROTOCOL, "%s: says it was offered generation %llu",
                  server_name(f, peer), (unsigned long long)j->generation);
    else if (f->peer[peer].barred && !f->play.idle)
        server_say_barred(f, peer);
    else if (server_does_without(f) && j->min_parties > f->terms.roster->n)
        error_set(&f->error, STATUS_PROTOCOL,
                  "%s: takes part among %u parties or more, and the roster has %zu",
                  server_name(f, peer), j->min_parties, f->terms.roster->n);
    else
        return true;
    return false;
}

bool server_admit(struct server_federation *f, uint32_t peer, const struct wire_join *j)
{
    struct server_peer *p = &f->peer[peer];

    if (!join_is_good(f, peer, j))
        return false;
    p->spoken = false;
    p->spoke_again = 0;
    if (f->play.idle)
        server_hold_join(f, peer, j);
    else if (f->sm.phase != PHASE_OVER && !j->between_jobs && !server_speaks(f, peer, j))
        return false;
    p->present = p->answered = true;
    p->excluded = f->play.started && f->sm.phase != PHASE_GATHER;
    p->member = -1;
    p->min_parties = j->min_parties;
    p->refused.since = p->refused.n; /* its policy may be another one */
    /* A server that was killed may not remember the last generations it offered. */
    if (j->generation > f->set.known)
        f->set.known = j->generation;
    p->comes.about = server_name(f, peer);
    if (log_few_more(&p->comes, f->now_us))
        log_info("%s joined (%u of %zu)", server_name(f, peer), ready(f), f->terms.roster->n);
    return true;
}

struct server_next server_joined(struct server_federation *f, struct actions *a,
                                 const struct event *e)
{
    if (!server_admit(f, e->peer, &e->msg->join))
        return next_of_peer(NEXT_DROP, e->peer);
    if (f->sm.phase == PHASE_GATHER)
        return set_found(f) ? server_offer(f, a) : next_of(NEXT_WAIT);
    return phase_plays(f->sm.phase) ? f->play.job->came(f->play.state, a) : next_of(NEXT_WAIT);
}

/* Threats E6: a party that ends three generations in a row does not get another chance to. */
static bool others_go_on(struct server_federation *f, uint32_t peer)
{
    error_set(&f->error, STATUS_PATIENCE, "%s was lost %d times in a row without a whole round",
              server_name(f, peer), SERVER_LOSSES_MAX);
    if (!server_does_without(f) && !server_goes_without(f))
        return false;
    log_warn("%s; it is shut out", f->error.text);
    f->peer[peer].barred = true;
    return true;
}

struct server_next server_lost(struct server_federation *f, struct actions *a, uint32_t peer)
{
    struct server_peer *p = &f->peer[peer];
    const bool member = p->member >= 0, had_answered = p->answered;
    bool goes_on;

    if (!p->present)
        return next_of(NEXT_WAIT);
    server_leaves(f, peer);
    if (!member || f->sm.phase == PHASE_GATHER || f->sm.phase == PHASE_OVER)
        return next_of(NEXT_WAIT);
    goes_on = phase_plays(f->sm.phase) && f->play.job->lost(f->play.state, had_answered);
    log_warn("%s lost in phase %s: %s", server_name(f, peer), phase_row(f->sm.phase)->name,
             server_waits(f) ? "waiting for it" : "going on without it");
    if (phase_plays(f->sm.phase) && !goes_on)
        server_voided(f, peer);
    if (++p->losses >= SERVER_LOSSES_MAX && !others_go_on(f, peer))
        return next_of(NEXT_FAIL);
    return goes_on ? f->play.job->settle(f->play.state, a) : next_of(NEXT_SET);
}
