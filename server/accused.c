/* accused.c -- what one member says of another that nobody else can check: they are at odds.
 *
 * Heard is who was a member with the accused, after all had been shown everybody's hellos: nobody
 * has seen an element, a proof or a share before that.  Of the generation before, since it may have
 * been on its way; what is older is late, and counts for nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/base/log.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"

/* --- whose word counts --- */

static bool is_in(const struct server_set *s, uint32_t peer)
{
    for (uint32_t m = 0; m < s->n; m++) {
        if (s->member[m] == peer)
            return true;
    }
    return false;
}

static bool was_with(const struct server_federation *f, uint32_t by, uint32_t of,
                     uint64_t generation)
{
    const struct server_past *past = &f->past;

    if (by == of || of >= f->terms.roster->n)
        return false;
    if (generation == f->set.generation)
        return f->set.shown && is_in(&f->set, by) && is_in(&f->set, of);
    return generation == past->generation && past->shown && past->in[by] && past->in[of];
}

/* --- what follows --- */

/* Who is at odds with more than can lie together leaves.  True: a member of this generation did. */
static bool shut_out(struct server_federation *f, struct actions *a)
{
    bool member = false;

    for (uint32_t i = 0; i < f->terms.roster->n; i++) {
        struct server_peer *p = &f->peer[i];

        if (p->barred || f->odds.others[i] <= server_colluders(f))
            continue;
        p->barred = true;
        server_say_barred(f, i);
        log_warn("%s", f->error.text);
        if (!p->present)
            continue;
        server_drop(f, a, i);
        member |= p->member >= 0;
        server_leaves(f, i);
    }
    return member;
}

/* The set changes where it cannot go on, or one of it is shut out. */
static struct server_next apart(struct server_federation *f, struct actions *a, bool stuck)
{
    const bool member_out = shut_out(f, a);

    if (!stuck && !member_out)
        return next_of(NEXT_WAIT);
    if (phase_plays(f->sm.phase) && f->play.job->voided != NULL)
        f->play.job->voided(f->play.state);
    return next_of(NEXT_SET);
}

/* Who accuses another has given up their generation; and two at odds are in none together. */
static bool is_stuck(const struct server_federation *f, uint32_t by, uint32_t of,
                     uint64_t generation)
{
    return f->peer[by].member >= 0 && (generation == f->set.generation || f->peer[of].member >= 0);
}

struct server_next server_accused(struct server_federation *f, struct actions *a, uint32_t by,
                                  const struct wire_refuse *r)
{
    const uint32_t of = r->accused - 1;
    const enum odds_about about =
        r->kind == STATUS_KIND_CONFIG || r->kind == STATUS_KIND_POLICY ? ODDS_IDS : ODDS_SHARES;

    if (f->sm.phase == PHASE_GATHER || r->generation < f->past.generation) {
        f->counts.stale_messages++;
        return next_of(NEXT_WAIT);
    }
    if (!was_with(f, by, of, r->generation)) {
        error_set(&f->error, STATUS_PROTOCOL,
                  "%s: accuses one that it was not in generation %llu with", server_name(f, by),
                  (unsigned long long)r->generation);
        return next_of_peer(NEXT_DROP, by);
    }
    if (!odds_add(&f->odds, by, of, about))
        return next_of(NEXT_WAIT);
    log_warn("%s says that %s of %s: from now on the two are never in one set", server_name(f, by),
             about == ODDS_IDS ? "its ids are not those" : "it cannot open a share",
             server_name(f, of));
    return apart(f, a, is_stuck(f, by, of, r->generation));
}

struct server_next server_neighbours_differ(struct server_federation *f, struct actions *a)
{
    for (uint32_t m = 1; m < f->set.n; m++) {
        const uint32_t one = f->set.member[m - 1], other = f->set.member[m];

        if (server_compare_alike(f, m) || !odds_add(&f->odds, one, other, ODDS_IDS))
            continue;
        log_warn("the ids of %s are not those of %s, by what they show: from now on the two are "
                 "never in one set",
                 server_name(f, one), server_name(f, other));
    }
    return apart(f, a, true);
}
