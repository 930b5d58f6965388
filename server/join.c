/* join.c -- GATHER: parties connect and join; what a lost party means.
 *
 * Under `wait` a generation is the whole roster, always.  Under `drop` the first generation is the
 * whole roster, and later ones are whoever is present and was not too late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/log.h"
#include "common/config/aggregation.h"

#include <string.h>

/* Generations that a killed server may have forgotten.  A party that claims more would drive the
 * count to where it ends. */
enum { FORGOTTEN_MAX = 1 << 20 };

static uint32_t ready(const struct server_session *s)
{
    uint32_t n = 0;

    for (size_t i = 0; i < s->setup.roster->n; i++)
        n += s->fed.peer[i].present && !s->fed.peer[i].excluded && !s->fed.peer[i].barred;
    return n;
}

/* The smallest set that the protocol can add up. */
static uint32_t smallest_sum(const struct server_session *s)
{
    return aggregation_of(&s->plan)->least(&s->plan);
}

/* Of those who are ready, or of all who are here, the largest set whose size is enough for each of
 * its members: who asks for more (min_parties) is in none. */
static uint32_t largest_set(const struct server_session *s, bool of_all, bool in[WIRE_MEMBERS_MAX])
{
    uint32_t n = 0, before;

    for (size_t i = 0; i < s->setup.roster->n; i++) {
        const struct server_peer *p = &s->fed.peer[i];
        in[i] = p->present && !p->barred && (of_all || !p->excluded);
        n += in[i];
    }
    do {
        before = n;
        for (size_t i = 0; i < s->setup.roster->n; i++) {
            if (in[i] && s->fed.peer[i].min_parties > before) {
                in[i] = false;
                n--;
            }
        }
    } while (n < before);
    return n;
}

/* Whether a generation can begin with those who are ready.  Whoever asks for a larger set than that
 * is left out, by name, where the others suffice: it keeps nobody waiting (G10). */
static bool set_found(struct server_session *s)
{
    bool in[WIRE_MEMBERS_MAX];
    uint32_t n;

    if (phase_row(PHASE_GATHER)->quorum[server_does_without(s)] == QUORUM_ROSTER)
        return ready(s) == s->setup.roster->n;
    n = largest_set(s, false, in);
    if (n < smallest_sum(s))
        return false;
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        struct server_peer *p = &s->fed.peer[i];
        if (!p->present || p->excluded || p->barred || in[i])
            continue;
        log_warn("going on without %s: it takes part among %u parties or more; the others are %u",
                 server_name(s, (uint32_t)i), p->min_parties, n);
        p->excluded = true;
    }
    return true;
}

bool server_may_come_in(const struct server_session *s, bool who[WIRE_MEMBERS_MAX])
{
    bool somebody = false;
    uint32_t n = largest_set(s, true, who);

    for (size_t i = 0; i < s->setup.roster->n; i++) {
        who[i] = who[i] && s->fed.peer[i].excluded && n >= smallest_sum(s);
        somebody |= who[i];
    }
    return somebody;
}

void server_gather(struct server_session *s, struct actions *a)
{
    sm_move(&s->fed.sm, PHASE_GATHER, s->fed.generation);
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        s->fed.peer[i].answered = s->fed.peer[i].present && !s->fed.peer[i].barred;
        s->fed.peer[i].excluded = false; /* too few without the late ones */
    }
    if (set_found(s))
        server_offer(s, a);
    else
        server_arm_phase(s, a);
}

/* Nothing is left to release. */
static bool done(const struct server_session *s)
{
    bool measured = !agenda_due(&s->trainer.agenda, s->trainer.steps_done) ||
                    s->trainer.sweep.done_at == s->trainer.steps_done;

    return (s->trainer.steps_done == s->trainer.agenda.steps && measured &&
            !s->trainer.sweep.running) ||
           s->trainer.target_reached;
}

bool server_gather_ends(struct server_session *s, struct actions *a)
{
    if (s->fed.sm.phase != PHASE_GATHER || s->trainer.steps_done == 0)
        return false;
    if (ready(s) == 0 && done(s)) {
        log_warn("the run is done and nobody has come back: each has ended with its final model, "
                 "or without it");
        server_finish(s, a, s->trainer.target_reached ? OUTCOME_TARGET : OUTCOME_COMPLETED);
        return true;
    }
    if (server_waits(s))
        return false;
    s->fed.started = true;
    if (!set_found(s))
        return false;
    server_offer(s, a);
    return true;
}

void server_set_changed(struct server_session *s, struct actions *a)
{
    if (set_found(s))
        server_offer(s, a);
    else if (s->fed.sm.phase != PHASE_GATHER)
        server_gather(s, a);
}

bool server_reachable(const struct server_session *s, uint64_t applied)
{
    const struct server_store *store = &s->setup.store;
    uint64_t first = s->trainer.close.any ? s->trainer.close.step : s->trainer.steps_done;

    if (store->append != NULL && store->first(store->owner) < first)
        first = store->first(store->owner);
    return applied == s->trainer.steps_done ||
           (applied < s->trainer.steps_done && applied >= first);
}

static bool trail_differs(const struct server_session *s, const struct wire_join *j)
{
    const struct server_store *store = &s->setup.store;
    uint8_t trail[WIRE_DIGEST_BYTES];
    const uint8_t *ours = s->trainer.trail.value;

    /* Each its own gradients; not known here. */
    if (s->trainer.head.apart || j->applied > s->trainer.steps_done)
        return false;
    /* A model of no steps is as good as a fresh one: the party looks whether the plan is its own.
     */
    if (s->trainer.steps_done == 0)
        return false;
    if (j->applied != s->trainer.steps_done) {
        if (store->append == NULL || !store->trail(store->owner, j->applied, trail))
            return false;
        ours = trail;
    }
    return memcmp(ours, j->trail, WIRE_DIGEST_BYTES) != 0;
}

/* Steps that this party goes on from: what it has applied, or where it can go back to. */
static uint64_t comes_from(const struct server_session *s, const struct wire_join *j)
{
    if (j->applied <= s->trainer.steps_done)
        return j->applied;
    return j->kept <= s->trainer.steps_done ? j->kept : j->kept_before;
}

/* Is this party's model where the run needs it?  Under `wait` it is of this run, and can be brought
 * to its last step.  Under `drop` it may have missed any number (and the server too, when a power
 * cut took its last records), under `async` it counts its own.
 */
static bool model_fits(struct server_session *s, uint32_t peer, const struct wire_join *j)
{
    /* One that is ahead goes back to its checkpoint (a power cut took the journal's last records).
     */
    uint64_t from = comes_from(s, j);
    const char *what = NULL;

    if (server_waits(s)) {
        if (!j->resumes && (s->trainer.steps_done > 0 || j->applied > 0))
            what = "comes without the model that it had in this run";
        else if (from > s->trainer.steps_done)
            what = "is ahead of this server, whose state was lost or put back";
        else if (!server_reachable(s, from))
            what = "is further back than this server remembers";
        else if (j->resumes && trail_differs(s, j))
            what = "brings a model of another run";
    }
    if (what == NULL)
        return true;
    error_set(&s->fed.error, STATUS_DATA,
              "%s %s: it has applied %llu training steps, this run has done %llu",
              server_name(s, peer), what, (unsigned long long)j->applied,
              (unsigned long long)s->trainer.steps_done);
    return false;
}

static bool join_is_good(struct server_session *s, uint32_t peer, const struct wire_join *j)
{
    if (j->version != WIRE_VERSION)
        error_set(&s->fed.error, STATUS_PROTOCOL, "%s: speaks protocol version %u, this server %d",
                  server_name(s, peer), j->version, WIRE_VERSION);
    else if (memcmp(j->roster_digest, s->setup.roster->digest, WIRE_DIGEST_BYTES) != 0)
        error_set(&s->fed.error, STATUS_CONFIG,
                  "%s: its roster is not the server's (compare the digests)", server_name(s, peer));
    else if (j->generation > s->fed.generation_known + FORGOTTEN_MAX)
        error_set(&s->fed.error, STATUS_PROTOCOL, "%s: says it was offered generation %llu",
                  server_name(s, peer), (unsigned long long)j->generation);
    else if (s->fed.peer[peer].barred)
        error_set(&s->fed.error, STATUS_PROTOCOL, "%s: was lost too often in this run",
                  server_name(s, peer));
    else if (server_does_without(s) && j->min_parties > s->setup.roster->n)
        error_set(&s->fed.error, STATUS_PROTOCOL,
                  "%s: takes part among %u parties or more, and the roster has %zu",
                  server_name(s, peer), j->min_parties, s->setup.roster->n);
    else
        return model_fits(s, peer, j);
    return false;
}

void server_joined(struct server_session *s, struct actions *a, const struct event *e)
{
    const struct wire_join *j = &e->msg->join;
    struct server_peer *p = &s->fed.peer[e->peer];

    if (p->present)
        server_lost(s, a,
                    e->peer); /* the same key came again: the new connection replaces the old */
    if (s->fed.sm.phase == PHASE_OVER)
        return;
    if (!join_is_good(s, e->peer, j)) {
        server_drop(s, a, e->peer, s->fed.error.status);
        return;
    }
    p->present = p->answered = true;
    p->owes = false;
    p->excluded = s->fed.started && s->fed.sm.phase != PHASE_GATHER;
    p->member = -1;
    p->applied = server_waits(s) ? comes_from(s, j) : j->applied;
    p->min_parties = j->min_parties;
    p->keeps = j->keeps;
    p->kept[0] = j->kept;
    p->kept[1] = j->kept_before;
    /* A server that was killed may not remember the last generations it offered. */
    if (j->generation > s->fed.generation_known)
        s->fed.generation_known = j->generation;
    s->report.joined[e->peer]++;
    log_info("%s joined (%u of %zu)", server_name(s, e->peer), ready(s), s->setup.roster->n);
    if (s->fed.sm.phase == PHASE_GATHER && set_found(s))
        server_offer(s, a);
    else if (s->fed.sm.phase == PHASE_STREAM)
        server_settle(s, a); /* which may have nobody else with steps left */
}

/* Threats E6: a party that ends three generations in a row does not get another chance to. */
static void lost_too_often(struct server_session *s, struct actions *a, uint32_t peer)
{
    error_set(&s->fed.error, STATUS_PATIENCE, "%s was lost %d times in a row without a whole round",
              server_name(s, peer), SERVER_LOSSES_MAX);
    if (!server_does_without(s)) {
        server_fail(s, a);
        return;
    }
    log_warn("%s; it is shut out", s->fed.error.text);
    s->fed.peer[peer].barred = true;
}

/* May the phase go on without this member, which is lost? */
static bool spared(const struct server_session *s, bool had_answered)
{
    switch (phase_row(s->fed.sm.phase)->spares) {
    case SPARES_NOBODY: return false;
    case SPARES_PARTIAL: return s->round.sum.shape.partial;
    case SPARES_SHARED:
        return had_answered && !wire_purpose_deals(s->round.purpose) && server_decodes_without(s);
    case SPARES_DECODES: return server_decodes_without(s);
    case SPARES_ANYBODY: return true;
    case SPARES_ANSWERED: return had_answered || !server_waits(s);
    }
    return false;
}

void server_lost(struct server_session *s, struct actions *a, uint32_t peer)
{
    struct server_peer *p = &s->fed.peer[peer];
    int member = p->member;
    bool had_answered = p->answered, goes_on;

    if (!p->present)
        return;
    p->present = p->answered = p->excluded = p->owes = false;
    p->member = -1;
    s->report.lost[peer]++;
    if (member < 0 || s->fed.sm.phase == PHASE_GATHER || s->fed.sm.phase == PHASE_OVER)
        return;
    s->fed.left++;
    goes_on = spared(s, had_answered);
    if (!goes_on && phase_trains(s->fed.sm.phase) && s->fed.sm.phase != PHASE_CLOSE)
        s->report.void_rounds++;
    log_warn("%s lost in phase %s: %s", server_name(s, peer), phase_row(s->fed.sm.phase)->name,
             server_waits(s) ? "waiting for it" : "going on without it");
    if (++p->losses >= SERVER_LOSSES_MAX)
        lost_too_often(s, a, peer);
    if (s->fed.sm.phase == PHASE_OVER)
        return;
    if (goes_on)
        server_settle(s, a);
    else
        server_set_changed(s, a);
}
