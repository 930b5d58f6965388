/* witness.c -- how far everybody's ledger is known to have come, and whether the own one has.
 *
 * A ledger's numbers only grow, by one at least for each round that this party sends something in.
 * Every hello says how far the speaker's has come; from then on every round that ends has taken one
 * more of each member, since all of them had to send for it.  That is kept, and said in the next
 * confirmation.  A party of whom others have seen more than its ledger has stops: the file was put
 * back or replaced, and its claims would be false (threats B4, F2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/privacy/ledger.h"

_Static_assert(LEDGER_NUMBER_MAX == WIRE_LEDGER_MAX, "what is said can be kept");

void party_witness_init(struct party_session *p)
{
    for (uint32_t i = 0; i < p->setup.roster->n; i++)
        p->witness.seen[i] = p->setup.seen(p->setup.owner, i);
}

uint64_t party_number(const struct party_session *p)
{
    uint64_t last = p->setup.sequence(p->setup.owner), unopened = party_unopened(p);

    CHECK(unopened <= last);
    return last - unopened;
}

static void see(struct party_session *p, uint32_t member, uint64_t number)
{
    uint64_t *seen = &p->witness.seen[p->members[member]];

    if (member == p->self || number <= *seen)
        return;
    *seen = number < WIRE_LEDGER_MAX ? number : WIRE_LEDGER_MAX;
    p->witness.dirty = true;
}

void party_witness_hellos(struct party_session *p)
{
    struct party_witness *w = &p->witness;

    for (uint32_t m = 0; m < p->members_n; m++) {
        uint64_t said = p->hellos[m].ledger, seen = w->seen[p->members[m]];

        if (m != p->self && said < seen)
            log_warn("the ledger of %s ends at %llu, and this party has seen %llu: it was put back "
                     "or replaced",
                     p->setup.roster->party[p->members[m]].name, (unsigned long long)said,
                     (unsigned long long)seen);
        see(p, m, said);
    }
    w->opened = w->ended = 0;
    w->due = w->dirty;
}

void party_witness_say(const struct party_session *p, struct agree_confirm *c)
{
    c->members = p->members_n;
    for (uint32_t m = 0; m < p->members_n; m++)
        agree_put_seen(c, m, m == p->self ? p->hellos[m].ledger : p->witness.seen[p->members[m]]);
}

enum status party_witness_check(struct party_session *p, uint32_t member,
                                const struct wire_confirm *c)
{
    uint64_t seen = agree_seen(c, p->self), own = p->hellos[p->self].ledger;

    if (seen <= own)
        return STATUS_OK;
    return error_set(&p->error, STATUS_POLICY,
                     "ledger: %s has seen number %llu of this ledger, which ends at %llu: it was "
                     "put back or replaced",
                     p->setup.roster->party[p->members[member]].name, (unsigned long long)seen,
                     (unsigned long long)own);
}

/* In clear, a round may end without members that it did not wait for. */
static bool all_had_to_send(const struct plan *p)
{
    return p->protocol.aggregation != AGGREGATION_CLEAR || p->protocol.straggler == STRAGGLER_WAIT;
}

void party_witness_opened(struct party_session *p)
{
    p->witness.opened++;
}

void party_witness_ended(struct party_session *p)
{
    struct party_witness *w = &p->witness;

    if (w->ended == w->opened || !all_had_to_send(&p->plan))
        return;
    w->ended = w->opened;
    for (uint32_t m = 0; m < p->members_n; m++)
        see(p, m, p->hellos[m].ledger + w->ended);
}

void party_witness_charge(struct party_session *p, struct action_charge *c)
{
    c->seen = p->witness.seen;
    c->seen_n = p->setup.roster->n;
    p->witness.due = p->witness.dirty = false;
}
