/* witness.c -- how far everybody's ledger is known to have come, and whether the own one has.
 *
 * A ledger's numbers only grow, by one at least for each round that this party sends something in.
 * Every hello says how far the speaker's has come; from then on every round that ends has taken one
 * more of each member, since all of them had to send for it.  That is kept, and said in the next
 * confirmation.  A party of whom enough others (common/flow/witness.h) have seen more than its
 * ledger has stops: the file was put back or replaced, and its claims would be false (threats B4,
 * F2).
 *
 * The own checkpoint remembers too, and so does the server, who says how many steps are done: a
 * ledger that lacks what they took has no need of a witness.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/parts.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/config/aggregation.h"
#include "common/flow/witness.h"
#include "common/privacy/ledger.h"

_Static_assert(LEDGER_NUMBER_MAX == WIRE_LEDGER_MAX, "what is said can be kept");

void party_witness_init(struct party_train *p)
{
    for (uint32_t i = 0; i < p->setup->roster->n; i++)
        p->purse.witness.seen[i] = p->setup->seen(p->setup->owner, i);
}

uint64_t party_number(const struct party_train *p, uint64_t unopened)
{
    uint64_t last = p->setup->sequence(p->setup->owner);

    CHECK(unopened <= last);
    return last - unopened;
}

static void see(struct party_train *p, uint32_t member, uint64_t number)
{
    uint64_t *seen = &p->purse.witness.seen[p->set->members[member]];

    if (member == p->set->self || number <= *seen)
        return;
    *seen = number < WIRE_LEDGER_MAX ? number : WIRE_LEDGER_MAX;
    p->purse.witness.dirty = true;
}

void party_witness_hellos(struct party_train *p)
{
    struct party_witness *w = &p->purse.witness;

    for (uint32_t m = 0; m < p->set->members_n; m++) {
        uint64_t said = p->set->hellos[m].ledger, seen = w->seen[p->set->members[m]];

        if (m != p->set->self && said < seen)
            log_warn("the ledger of %s ends at %llu, and this party has seen %llu: it was put back "
                     "or replaced",
                     p->setup->roster->party[p->set->members[m]].name, (unsigned long long)said,
                     (unsigned long long)seen);
        see(p, m, said);
    }
    w->opened = w->ended = 0;
    w->due = w->dirty;
}

void party_witness_say(const struct party_train *p, struct agree_confirm *c)
{
    c->members = p->set->members_n;
    for (uint32_t m = 0; m < p->set->members_n; m++)
        agree_put_seen(c, m,
                       m == p->set->self ? p->set->hellos[m].ledger
                                         : p->purse.witness.seen[p->set->members[m]]);
}

/* Too few are named in the log; where they are enough, the first one is in the error. */
enum status party_witness_check(struct party_train *p, const struct wire_confirms *cs)
{
    const uint64_t own = p->set->hellos[p->set->self].ledger;
    const uint32_t needed = witness_needed(p->learner.plan.protocol.straggler,
                                           plan_withstands(&p->learner.plan), p->set->members_n);
    bool who[WIRE_MEMBERS_MAX];
    const uint32_t n = witness_count(who, cs->confirm, p->set->members_n, p->set->self, own);
    enum status s = STATUS_OK;

    for (uint32_t m = 0; m < p->set->members_n; m++) {
        const char *name = p->setup->roster->party[p->set->members[m]].name;
        const unsigned long long seen = agree_seen(&cs->confirm[m], p->set->self);

        if (!who[m])
            continue;
        if (n < needed)
            log_warn("ledger: %s says that it has seen number %llu of this ledger, which ends at "
                     "%llu; it would take %u of the others to stop this party",
                     name, seen, (unsigned long long)own, needed);
        else if (s == STATUS_OK)
            s = error_set(p->error, STATUS_POLICY,
                          "ledger: %s has seen number %llu of this ledger, which ends at %llu: it "
                          "was put back or replaced",
                          name, seen, (unsigned long long)own);
    }
    return s;
}

/* In clear, a round may end without members that it did not wait for. */
static bool all_had_to_send(const struct plan *p)
{
    return !aggregation_of(p)->plaintext || p->protocol.straggler == STRAGGLER_WAIT;
}

void party_witness_opened(struct party_train *p)
{
    p->purse.witness.opened++;
}

void party_witness_ended(struct party_train *p)
{
    struct party_witness *w = &p->purse.witness;

    if (w->ended == w->opened || !all_had_to_send(&p->learner.plan))
        return;
    w->ended = w->opened;
    for (uint32_t m = 0; m < p->set->members_n; m++)
        see(p, m, p->set->hellos[m].ledger + w->ended);
}

void party_witness_charge(struct party_train *p, struct action_charge *c)
{
    c->seen = p->purse.witness.seen;
    c->seen_n = p->setup->roster->n;
    p->purse.witness.due = p->purse.witness.dirty = false;
}

/* --- the own checkpoint --- */

struct party_paid party_witness_paid(const struct party_train *p, uint64_t unopened)
{
    const uint64_t last = p->setup->sequence(p->setup->owner);
    struct party_paid now = p->purse.witness.paid;

    now.last = last;
    if (!p->purse.witness.proven) /* what was said before stays said, until it is seen to be true */
        return now;
    now.rounds = unopened < last ? last - unopened : 0;
    now.step = p->learner.behind.offered > p->learner.applied ? p->learner.behind.offered
                                                              : p->learner.applied;
    return now;
}

/* `besides`: what else may be the reason. */
static enum status lacks(struct party_train *p, uint64_t least, const char *who,
                         const char *besides)
{
    uint64_t last = p->setup->sequence(p->setup->owner);

    if (last >= least)
        return STATUS_OK;
    return error_set(p->error, STATUS_POLICY,
                     "ledger: %s/ledger.db ends at %llu, and %s it had come to %llu: it was put "
                     "back, replaced or deleted%s",
                     p->setup->config->state, (unsigned long long)last, who,
                     (unsigned long long)least, besides);
}

enum status party_witness_restore(struct party_train *p, const struct party_paid *paid)
{
    p->purse.witness.paid = *paid;
    return lacks(p, paid->last, "by the checkpoint", "");
}

void party_witness_forget_steps(struct party_train *p)
{
    p->purse.witness.paid = (struct party_paid){.last = p->purse.witness.paid.last};
    p->purse.witness.proven = false;
}

/* Where the ledger has to have come if the server has done what it says.  Of a process without a
 * checkpoint nothing is known to be paid, so that each step counts. */
static uint64_t least_by_steps(const struct party_train *p)
{
    const struct party_paid *paid = &p->purse.witness.paid;
    /* The round that was under way may have been counted before its step was. */
    uint64_t least = paid->rounds > 0 ? paid->rounds - 1 : 0;

    if (p->purse.witness.proven || p->learner.plan.protocol.straggler != STRAGGLER_WAIT ||
        paid->rounds == PARTY_PAID_FORGOTTEN || p->learner.behind.offered <= paid->step)
        return 0;
    return least + (p->learner.behind.offered - paid->step);
}

void party_witness_offered(struct party_train *p)
{
    if (p->learner.applied == p->learner.behind.offered &&
        p->setup->sequence(p->setup->owner) >= least_by_steps(p))
        p->purse.witness.proven = true; /* what follows is paid for under these eyes */
}

enum status party_witness_steps(struct party_train *p)
{
    party_witness_offered(p);
    /* The parties have not signed what is offered: the server may be the one who is wrong. */
    return lacks(p, least_by_steps(p), "by the server's steps",
                 ", or the server claims steps that were never done: ask another party how far the "
                 "run is");
}
