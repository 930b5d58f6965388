/* witness.c -- how far everybody's ledger is known to have come, and whether the own one has.
 *
 * As in training (party/train/witness.c), but for checkpoints, which this job has none of: every
 * hello says how far the speaker's ledger has come, each round that ends has taken one more, and a
 * party of whom others have seen more than its ledger has stops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/predict/parts.h"

void predict_witness_init(struct party_predict *p)
{
    for (uint32_t i = 0; i < p->setup->roster->n; i++)
        p->seen[i] = p->setup->ledger.seen(p->setup->ledger.owner, i);
}

static void see(struct party_predict *p, uint32_t member, uint64_t number)
{
    uint64_t *seen = &p->seen[p->set->members[member]];

    if (member == p->set->self || number <= *seen)
        return;
    *seen = number < WIRE_LEDGER_MAX ? number : WIRE_LEDGER_MAX;
}

void predict_witness_hellos(struct party_predict *p)
{
    for (uint32_t m = 0; m < p->set->members_n; m++)
        see(p, m, p->set->hellos[m].ledger);
    p->ended = 0;
}

void predict_witness_ended(struct party_predict *p)
{
    p->ended++;
    for (uint32_t m = 0; m < p->set->members_n; m++)
        see(p, m, p->set->hellos[m].ledger + p->ended);
}

void predict_witness_say(const struct party_predict *p, struct agree_confirm *c)
{
    c->members = p->set->members_n;
    for (uint32_t m = 0; m < p->set->members_n; m++)
        agree_put_seen(c, m,
                       m == p->set->self ? p->set->hellos[m].ledger : p->seen[p->set->members[m]]);
}

enum status predict_witness_check(const struct party_predict *p, const struct wire_confirms *cs)
{
    const uint64_t own = p->set->hellos[p->set->self].ledger;

    for (uint32_t m = 0; m < p->set->members_n; m++) {
        const uint64_t seen = agree_seen(&cs->confirm[m], p->set->self);

        if (seen > own)
            return error_set(p->error, STATUS_POLICY,
                             "ledger: %s has seen number %llu of this ledger, which ends at %llu: "
                             "it was put back or replaced",
                             p->setup->roster->party[p->set->members[m]].name,
                             (unsigned long long)seen, (unsigned long long)own);
    }
    return STATUS_OK;
}
