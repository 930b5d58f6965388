/* join.c -- GATHER: parties connect and join; what a lost party means.
 *
 * Under `wait` a generation is the whole roster, always.  Under `drop` the first generation is the
 * whole roster, and later ones are whoever is present and was not too late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/base/log.h"

#include <string.h>

static uint32_t ready(const struct server_session *s)
{
    uint32_t n = 0;

    for (size_t i = 0; i < s->setup.roster->n; i++)
        n += s->peer[i].present && !s->peer[i].excluded && !s->peer[i].barred;
    return n;
}

static bool enough(const struct server_session *s)
{
    bool whole = s->plan.protocol.straggler == STRAGGLER_WAIT || !s->started;
    uint32_t least = s->plan.protocol.aggregation == AGGREGATION_CLEAR ? 1 : 2;

    return whole ? ready(s) == s->setup.roster->n : ready(s) >= least;
}

void server_gather(struct server_session *s, struct actions *a)
{
    sm_move(&s->sm, PHASE_GATHER, s->generation);
    for (size_t i = 0; i < s->setup.roster->n; i++) {
        s->peer[i].answered = s->peer[i].present && !s->peer[i].barred;
        s->peer[i].excluded = false; /* too few without the late ones */
    }
    if (enough(s))
        server_offer(s, a);
    else
        server_arm(s, a, s->plan.protocol.patience_ms);
}

void server_set_changed(struct server_session *s, struct actions *a)
{
    if (enough(s))
        server_offer(s, a);
    else if (s->sm.phase != PHASE_GATHER)
        server_gather(s, a);
}

/* Is this party's model where the run needs it?  Under `wait` it has applied all steps, or all but
 * the last, whose gradient is sent again.  Under `drop` it may have missed any number. */
static bool model_fits(struct server_session *s, uint32_t peer, uint64_t applied)
{
    uint64_t done = s->steps_done;
    bool behind = applied + 1 < done && s->plan.protocol.straggler == STRAGGLER_WAIT;

    if (applied <= done && !behind)
        return true;
    error_set(&s->error, STATUS_DATA,
              "%s: has applied %llu training steps, this run %llu: its model is of another run or "
              "was lost",
              server_name(s, peer), (unsigned long long)applied, (unsigned long long)done);
    return false;
}

void server_joined(struct server_session *s, struct actions *a, const struct event *e)
{
    const struct wire_join *j = &e->msg->join;
    struct server_peer *p = &s->peer[e->peer];

    if (p->present)
        server_lost(s, a,
                    e->peer); /* the same key came again: the new connection replaces the old */
    if (j->version != WIRE_VERSION) {
        error_set(&s->error, STATUS_PROTOCOL, "%s: speaks protocol version %u, this server %d",
                  server_name(s, e->peer), j->version, WIRE_VERSION);
        server_drop(s, a, e->peer, STATUS_PROTOCOL);
        return;
    }
    if (memcmp(j->roster_digest, s->setup.roster->digest, WIRE_DIGEST_BYTES) != 0) {
        error_set(&s->error, STATUS_CONFIG,
                  "%s: its roster is not the server's (compare the digests)",
                  server_name(s, e->peer));
        server_drop(s, a, e->peer, STATUS_CONFIG);
        return;
    }
    if (p->barred) {
        error_set(&s->error, STATUS_PROTOCOL, "%s: was lost too often in this run",
                  server_name(s, e->peer));
        server_drop(s, a, e->peer, STATUS_PROTOCOL);
        return;
    }
    if (!model_fits(s, e->peer, j->applied)) {
        server_drop(s, a, e->peer, STATUS_DATA);
        return;
    }
    p->present = p->answered = true;
    p->excluded = s->started && s->sm.phase != PHASE_GATHER;
    p->member = -1;
    p->applied = j->applied;
    s->report.joined[e->peer]++;
    log_info("%s joined (%u of %zu)", server_name(s, e->peer), ready(s), s->setup.roster->n);
    if (s->sm.phase == PHASE_GATHER && enough(s))
        server_offer(s, a);
}

/* Threats E6: a party that ends three generations in a row does not get another chance to. */
static void lost_too_often(struct server_session *s, struct actions *a, uint32_t peer)
{
    error_set(&s->error, STATUS_PATIENCE, "%s was lost %d times in a row without a whole round",
              server_name(s, peer), SERVER_LOSSES_MAX);
    if (s->plan.protocol.straggler != STRAGGLER_DROP || !s->started) {
        server_fail(s, a);
        return;
    }
    log_warn("%s; it is shut out", s->error.text);
    s->peer[peer].barred = true;
    server_set_changed(s, a);
}

void server_lost(struct server_session *s, struct actions *a, uint32_t peer)
{
    struct server_peer *p = &s->peer[peer];
    bool member = p->member >= 0;

    if (!p->present)
        return;
    p->present = p->answered = p->excluded = false;
    p->member = -1;
    s->report.lost[peer]++;
    if (!member || s->sm.phase == PHASE_GATHER || s->sm.phase == PHASE_OVER)
        return;
    if (s->sm.phase == PHASE_ROUND)
        server_round_void(s);
    if (++p->losses >= SERVER_LOSSES_MAX) {
        lost_too_often(s, a, peer);
        return;
    }
    log_warn("%s lost in phase %s: %s", server_name(s, peer), phase_row(s->sm.phase)->name,
             s->plan.protocol.straggler == STRAGGLER_WAIT ? "waiting for it"
                                                          : "going on without it");
    server_set_changed(s, a);
}
