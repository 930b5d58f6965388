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
#include "party/train/purse.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/config/aggregation.h"
#include "common/flow/witness.h"
#include "common/privacy/ledger.h"

_Static_assert(LEDGER_NUMBER_MAX == WIRE_LEDGER_MAX, "what is said can be kept");

void party_witness_init(struct party_witness *w, const struct party_setup *setup)
{
    w->seen_n = setup->roster->n;
    for (uint32_t i = 0; i < w->seen_n; i++)
        w->seen[i] = setup->ledger.seen(setup->ledger.owner, i);
}

uint64_t party_number(const struct party_setup *setup, uint64_t unopened)
{
    uint64_t last = setup->ledger.sequence(setup->ledger.owner);

    CHECK(unopened <= last);
    return last - unopened;
}

static void see(struct party_witness *w, const struct party_set *set, uint32_t member,
                uint64_t number)
{
    uint64_t *seen = &w->seen[set->members[member]];

    if (member == set->self || number <= *seen)
        return;
    *seen = number < WIRE_LEDGER_MAX ? number : WIRE_LEDGER_MAX;
    w->dirty = true;
}

void party_witness_hellos(struct party_witness *w, const struct party_setup *setup,
                          const struct party_set *set)
{
    for (uint32_t m = 0; m < set->members_n; m++) {
        uint64_t said = set->hellos[m].ledger, seen = w->seen[set->members[m]];

        if (m != set->self && said < seen)
            log_warn("the ledger of %s ends at %llu, and this party has seen %llu: it was put back "
                     "or replaced",
                     setup->roster->party[set->members[m]].name, (unsigned long long)said,
                     (unsigned long long)seen);
        see(w, set, m, said);
    }
    w->opened = w->ended = 0;
    w->due = w->dirty;
}

void party_witness_say(const struct party_witness *w, const struct party_set *set,
                       struct agree_confirm *c)
{
    c->members = set->members_n;
    for (uint32_t m = 0; m < set->members_n; m++)
        agree_put_seen(c, m, m == set->self ? set->hellos[m].ledger : w->seen[set->members[m]]);
}

/* Too few are named in the log; where they are enough, the first one is in the error. */
enum status party_witness_check(const struct party_setup *setup, const struct party_set *set,
                                const struct party_course *c, const struct wire_confirms *cs,
                                struct error *err)
{
    const uint64_t own = set->hellos[set->self].ledger;
    const uint32_t needed = witness_needed(c->plan.protocol.straggler, plan_withstands(&c->plan),
                                           c->plan.shape.parties);
    bool who[WIRE_MEMBERS_MAX];
    const uint32_t n = witness_count(who, cs->confirm, set->members_n, set->self, own);
    enum status s = STATUS_OK;

    for (uint32_t m = 0; m < set->members_n; m++) {
        const char *name = setup->roster->party[set->members[m]].name;
        const unsigned long long seen = agree_seen(&cs->confirm[m], set->self);

        if (!who[m])
            continue;
        if (n < needed)
            log_warn("ledger: %s says that it has seen number %llu of this ledger, which ends at "
                     "%llu; it would take %u of the others to stop this party",
                     name, seen, (unsigned long long)own, needed);
        else if (s == STATUS_OK)
            s = error_set(err, STATUS_POLICY,
                          "ledger: %s has seen number %llu of this ledger, which ends at %llu: it "
                          "was put back or replaced",
                          name, seen, (unsigned long long)own);
    }
    return s;
}

/* In clear, a round may end without members that it did not wait for. */
static bool all_had_to_send(const struct party_course *c)
{
    return !aggregation_of(&c->plan)->plaintext || !c->does_without;
}

void party_witness_opened(struct party_witness *w)
{
    w->opened++;
}

void party_witness_ended(struct party_witness *w, const struct party_course *c,
                         const struct party_set *set)
{
    if (w->ended == w->opened || !all_had_to_send(c))
        return;
    w->ended = w->opened;
    for (uint32_t m = 0; m < set->members_n; m++)
        see(w, set, m, set->hellos[m].ledger + w->ended);
}

void party_witness_charge(struct party_witness *w, struct action_charge *c)
{
    c->seen = w->seen;
    c->seen_n = w->seen_n;
    w->due = w->dirty = false;
}

/* --- the own checkpoint --- */

struct party_paid party_witness_paid(const struct party_witness *w, const struct party_setup *setup,
                                     const struct party_learner *l, uint64_t unopened)
{
    const uint64_t last = setup->ledger.sequence(setup->ledger.owner);
    struct party_paid now = w->paid;

    now.last = last;
    if (!w->proven) /* what was said before stays said, until it is seen to be true */
        return now;
    now.rounds = unopened < last ? last - unopened : 0;
    now.step = l->behind.offered > l->applied ? l->behind.offered : l->applied;
    return now;
}

/* `besides`: what else may be the reason. */
static enum status lacks(const struct party_setup *setup, uint64_t least, const char *who,
                         const char *besides, struct error *err)
{
    uint64_t last = setup->ledger.sequence(setup->ledger.owner);

    if (last >= least)
        return STATUS_OK;
    return error_set(err, STATUS_POLICY,
                     "ledger: %s/ledger.db ends at %llu, and %s it had come to %llu: it was put "
                     "back, replaced or deleted%s",
                     setup->config->state, (unsigned long long)last, who, (unsigned long long)least,
                     besides);
}

enum status party_witness_restore(struct party_witness *w, const struct party_setup *setup,
                                  const struct party_paid *paid, struct error *err)
{
    w->paid = *paid;
    return lacks(setup, paid->last, "by the checkpoint", "", err);
}

void party_witness_forget_steps(struct party_witness *w)
{
    w->paid = (struct party_paid){.last = w->paid.last};
    w->proven = false;
}

/* Where the ledger has to have come if the server has done what it says.  Of a process without a
 * checkpoint nothing is known to be paid, so that each step counts. */
static uint64_t least_by_steps(const struct party_witness *w, const struct party_course *c,
                               const struct party_learner *l)
{
    const struct party_paid *paid = &w->paid;
    /* The round that was under way may have been counted before its step was. */
    uint64_t least = paid->rounds > 0 ? paid->rounds - 1 : 0;

    if (w->proven || c->does_without || paid->rounds == PARTY_PAID_FORGOTTEN ||
        l->behind.offered <= paid->step)
        return 0;
    return least + (l->behind.offered - paid->step);
}

void party_witness_offered(struct party_witness *w, const struct party_setup *setup,
                           const struct party_course *c, const struct party_learner *l)
{
    if (l->applied == l->behind.offered &&
        setup->ledger.sequence(setup->ledger.owner) >= least_by_steps(w, c, l))
        w->proven = true; /* what follows is paid for under these eyes */
}

enum status party_witness_steps(struct party_witness *w, const struct party_setup *setup,
                                const struct party_course *c, const struct party_learner *l,
                                struct error *err)
{
    enum status s;

    party_witness_offered(w, setup, c, l);
    /* The parties have not signed what is offered: the server may be the one who is wrong. */
    s = lacks(setup, least_by_steps(w, c, l), "by the server's steps",
              ", or the server claims steps that were never done: ask another party how far the "
              "run is",
              err);
    w->lacking = s != STATUS_OK;
    return s;
}
