/* compare.c -- AGREE and CONFIRM: are the ids of this party's neighbours its own?
 *
 * Nobody is shown a digest that could be guessed (threats G4): common/flow/ids.h.  Who is compared
 * with is counted before anything is shown that answers a guess, unless it was that guess before,
 * and no longer once it has shown that it holds the list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/core.h"

#include "common/crypto/secret.h"

#include <string.h>

/* The neighbour on this side. */
static const struct roster_entry *neighbour(const struct party_session *p, enum ids_side side)
{
    const struct roster *r = p->setup.roster;

    if (side == IDS_AFTER)
        return &r->party[p->fed.set.members[p->fed.set.self + 1]];
    return p->fed.set.self == 0 ? &r->server : &r->party[p->fed.set.members[p->fed.set.self - 1]];
}

static bool has(const struct party_session *p, enum ids_side side)
{
    return side == IDS_BEFORE || p->fed.set.self + 1 < p->fed.set.members_n;
}

enum status party_compare_begin(struct party_session *p)
{
    const struct ids_own ids = {p->fed.ids.list, p->setup.counts.secret};
    const uint8_t *own = p->setup.roster->party[p->setup.self].key;
    enum status s = STATUS_OK;

    party_compare_forget(p);
    ids_list(p->fed.ids.list, p->setup.train, p->setup.test);
    memset(p->fed.ids.elements, 0, sizeof p->fed.ids.elements);
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES && s == STATUS_OK; side++) {
        if (!has(p, side))
            continue;
        if (side == IDS_BEFORE)
            s = ids_begin(&p->fed.ids.pair[side], &ids, neighbour(p, side)->key, own, side);
        else
            s = ids_begin(&p->fed.ids.pair[side], &ids, own, neighbour(p, side)->key, side);
        memcpy(p->fed.ids.elements + side * EQUALITY_BYTES, p->fed.ids.pair[side].own.element,
               EQUALITY_BYTES);
    }
    return s == STATUS_OK ? s : error_set(&p->error, s, "no fresh keys");
}

/* What the neighbour on this side has said for this one. */
static const uint8_t *element_of(const struct party_session *p, enum ids_side side)
{
    if (side == IDS_AFTER)
        return p->fed.set.hellos[p->fed.set.self + 1].elements;
    return p->fed.set.self == 0 ? p->fed.ids.offered
                                : p->fed.set.hellos[p->fed.set.self - 1].elements + EQUALITY_BYTES;
}

/* Has who is on this side a guess left, if this element is one? */
static enum status check_count(struct party_session *p, enum ids_side side, const uint8_t *element)
{
    const struct roster_entry *who = neighbour(p, side);
    const struct ids_counts *c = &p->setup.counts;
    const uint32_t most = p->setup.config->policy.id_mismatches;

    if (ids_may_answer(c, who->key, p->fed.ids.list, element, most))
        return STATUS_OK;
    return error_set(&p->error, STATUS_POLICY,
                     "policy.max_id_mismatches: %s comes with yet another list of ids, after %llu "
                     "that it did not show to be this side's, %u are the most (vfl-party "
                     "--ids-forget %s)",
                     who->name, (unsigned long long)c->count(c->owner, who->key), most, who->name);
}

enum status party_compare_end(struct party_session *p)
{
    const struct ids_counts *c = &p->setup.counts;
    const uint8_t *keys[IDS_SIDES], *elements[IDS_SIDES];
    struct agree_confirm *own = &p->fed.own_confirm;
    enum status s = STATUS_OK;
    size_t n = 0;

    memset(own->proofs, 0, sizeof own->proofs);
    memset(own->marks, 0, sizeof own->marks);
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++) {
        struct ids_pair *pair = &p->fed.ids.pair[side];

        if (!pair->any)
            continue;
        keys[n] = neighbour(p, side)->key;
        elements[n] = element_of(p, side);
        s = ids_end(pair, elements[n], p->fed.set.sid);
        if (s != STATUS_OK)
            return error_set(&p->error, s, "ids: the element of %s: %s", neighbour(p, side)->name,
                             s == STATUS_AUTH ? "none, or this party's own" : status_words(s));
        s = check_count(p, side, elements[n++]);
        if (s != STATUS_OK)
            return s;
        memcpy(own->proofs + side * WIRE_PROOF_BYTES, pair->shown, WIRE_PROOF_BYTES);
        memcpy(own->marks + side * WIRE_PROOF_BYTES, pair->mark, WIRE_PROOF_BYTES);
    }
    return c->note(c->owner, keys, elements, n, p->fed.ids.list, &p->error);
}

static enum status differs(struct party_session *p, enum ids_side side)
{
    const struct roster_entry *who = neighbour(p, side);
    const struct ids_counts *c = &p->setup.counts;

    return error_set(&p->error, STATUS_DATA,
                     "the ids of %s are not this side's, though both have %zu training and %zu "
                     "test rows (other lists from there: %llu, %u are the most)",
                     who->name, p->setup.train->rows, p->setup.test->rows,
                     (unsigned long long)c->count(c->owner, who->key),
                     p->setup.config->policy.id_mismatches);
}

enum status party_compare_check(struct party_session *p, const struct wire_confirms *cs)
{
    const struct ids_counts *c = &p->setup.counts;
    const uint8_t *keys[IDS_SIDES];
    enum status s = STATUS_OK, noted = STATUS_OK;
    size_t n = 0;

    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++) {
        const uint8_t *proof = cs->proof;

        if (!p->fed.ids.pair[side].any)
            continue;
        if (side == IDS_AFTER)
            proof = cs->confirm[p->fed.set.self + 1].proofs;
        else if (p->fed.set.self > 0)
            proof = cs->confirm[p->fed.set.self - 1].proofs + WIRE_PROOF_BYTES;
        if (ids_equal(&p->fed.ids.pair[side], proof))
            keys[n++] = neighbour(p, side)->key;
        else
            s = differs(p, side);
    }
    if (n > 0)
        noted = c->equal(c->owner, keys, n, p->fed.ids.list, s == STATUS_OK ? &p->error : NULL);
    party_compare_forget(p);
    return s == STATUS_OK ? noted : s;
}

void party_compare_forget(struct party_session *p)
{
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++)
        ids_forget(&p->fed.ids.pair[side]);
    secret_wipe(p->fed.ids.list, sizeof p->fed.ids.list);
}
