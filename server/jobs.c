/* jobs.c -- one job after another: what ends with a job and what stays, and where each party is in
 * the next.
 *
 * Parties stay connected from job to job.  Whoever was there before a job says in answer to its
 * first offer where it is in it: a join on the old connection.  What it says before that is of the
 * job before, and not heard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/base/check.h"
#include "server/job.h"
#include "server/members.h"

#include <string.h>

/* Nobody is a member, late, lost or at odds any more, nor has anybody a place in the next job. */
static void forget_marks(struct server_federation *f)
{
    for (size_t i = 0; i < f->terms.roster->n; i++) {
        struct server_peer *p = &f->peer[i];

        p->excluded = p->barred = p->spoken = false;
        p->answered = p->present;
        p->losses = p->owed = p->stalled = 0;
        p->refused = (struct server_refused){0};
        p->member = -1;
        p->spoke_again = 0;
    }
    f->odds = (struct odds){0};
}

void server_federation_play(struct server_federation *f, const struct server_terms *terms,
                            const struct server_job *job, void *state)
{
    CHECK(f->play.idle && terms->roster == f->terms.roster);
    forget_marks(f);
    f->terms = *terms;
    f->play.job = job;
    f->play.state = state;
    f->error = (struct error){0};
    f->counts = (struct server_counts){0};
    f->set.n = f->set.left = f->set.answers = 0;
    f->set.shown = false;
    f->past = (struct server_past){.generation = 0};
    f->play.idle = f->play.started = f->play.waited = false;
}

void server_federation_rest(struct server_federation *f)
{
    const struct server_terms none = {.roster = f->terms.roster, .counts = f->terms.counts};

    forget_marks(f);
    f->terms = none;
    f->play.job = NULL;
    f->play.state = NULL;
    f->play.idle = true;
}

/* --- where a party is in the job --- */

bool server_speaks(struct server_federation *f, uint32_t peer, const struct wire_join *j)
{
    struct server_peer *p = &f->peer[peer];

    if (f->play.job->fits != NULL && f->play.job->fits(f->play.state, peer, j) != STATUS_OK)
        return false;
    if (f->play.job->joined != NULL)
        f->play.job->joined(f->play.state, peer, j);
    f->counts.joined[peer] += !p->spoken;
    p->spoken = true;
    return true;
}

void server_hold_join(struct server_federation *f, uint32_t peer, const struct wire_join *j)
{
    struct server_held *h = &f->peer[peer].held;

    *h = (struct server_held){.any = !j->between_jobs, .join = *j};
    memcpy(h->trail, j->trail, sizeof h->trail);
    h->join.trail = h->trail;
    h->join.roster_digest = f->terms.roster->digest; /* as it said */
}

bool server_hear_held(struct server_federation *f, uint32_t *peer)
{
    for (*peer = 0; *peer < f->terms.roster->n; ++*peer) {
        struct server_held *h = &f->peer[*peer].held;
        const bool any = h->any && f->peer[*peer].present;

        h->any = false;
        if (any && !server_speaks(f, *peer, &h->join))
            return false;
    }
    return true;
}

struct server_next server_speaks_again(struct server_federation *f, uint32_t peer,
                                       const struct wire_join *j)
{
    struct server_peer *p = &f->peer[peer];

    /* Of an offer that another has overtaken, or a loss has undone: it answers the next, too. */
    if (j->generation < f->set.generation ||
        (j->generation == f->set.generation && f->sm.phase == PHASE_GATHER))
        return next_of(NEXT_WAIT);
    if (j->between_jobs || f->sm.phase != PHASE_AGREE || p->member < 0 || p->answered ||
        j->generation != f->set.generation || p->spoke_again == j->generation) {
        error_set(&f->error, STATUS_PROTOCOL, "%s: a second join in phase %s", server_name(f, peer),
                  phase_row(f->sm.phase)->name);
        return next_of_peer(NEXT_DROP, peer);
    }
    p->spoke_again = j->generation;
    return server_speaks(f, peer, j) ? next_of(NEXT_WAIT) : next_of_peer(NEXT_BLAME, peer);
}
