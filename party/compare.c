/* compare.c -- AGREE and CONFIRM: are the ids of this party's neighbours its own?
 *
 * Nobody is shown a digest that could be guessed (threats G4): common/flow/ids.h.  Who is compared
 * with is counted before anything is shown that answers a guess, unless it was that guess before,
 * and no longer once it has shown that it holds the list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/federation.h"

#include "common/crypto/secret.h"

#include <string.h>

/* The neighbour on this side. */
static const struct roster_entry *neighbour(const struct party_federation *f, enum ids_side side)
{
    const struct roster *r = f->setup->roster;

    if (side == IDS_AFTER)
        return &r->party[f->set.members[f->set.self + 1]];
    return f->set.self == 0 ? &r->server : &r->party[f->set.members[f->set.self - 1]];
}

/* Its index in the roster + 1; of the server 0. */
static uint32_t index_of(const struct party_federation *f, enum ids_side side)
{
    if (side == IDS_AFTER)
        return f->set.members[f->set.self + 1] + 1u;
    return f->set.self == 0 ? 0 : f->set.members[f->set.self - 1] + 1u;
}

static bool has(const struct party_federation *f, enum ids_side side)
{
    return side == IDS_BEFORE || f->set.self + 1 < f->set.members_n;
}

enum status party_compare_begin(struct party_federation *f)
{
    const struct ids_own ids = {f->ids.list, f->setup->counts.secret};
    const uint8_t *own = f->setup->roster->party[f->setup->self].key;
    enum status s = STATUS_OK;

    party_compare_forget(f);
    ids_list(f->ids.list, f->setup->data.train, f->setup->data.test);
    memset(f->ids.elements, 0, sizeof f->ids.elements);
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES && s == STATUS_OK; side++) {
        if (!has(f, side))
            continue;
        if (side == IDS_BEFORE)
            s = ids_begin(&f->ids.pair[side], &ids, neighbour(f, side)->key, own, side);
        else
            s = ids_begin(&f->ids.pair[side], &ids, own, neighbour(f, side)->key, side);
        memcpy(f->ids.elements + side * EQUALITY_BYTES, f->ids.pair[side].own.element,
               EQUALITY_BYTES);
    }
    return s == STATUS_OK ? s : error_set(f->error, s, "no fresh keys");
}

/* What the neighbour on this side has said for this one. */
static const uint8_t *element_of(const struct party_federation *f, enum ids_side side)
{
    if (side == IDS_AFTER)
        return f->set.hellos[f->set.self + 1].elements;
    return f->set.self == 0 ? f->ids.offered
                            : f->set.hellos[f->set.self - 1].elements + EQUALITY_BYTES;
}

/* Has who is on this side a guess left, if this element is one?  Who has none is not answered: it
 * is this side's affair with that one alone, and no reason to end for want of it. */
static enum status check_count(struct party_federation *f, enum ids_side side,
                               const uint8_t *element, uint32_t *accused)
{
    const struct roster_entry *who = neighbour(f, side);
    const struct ids_counts *c = &f->setup->counts;
    const uint32_t most = f->setup->config->policy.id_mismatches;

    if (ids_may_answer(c, who->key, f->ids.list, element, most))
        return STATUS_OK;
    *accused = index_of(f, side);
    return error_set(f->error, STATUS_POLICY,
                     "policy.max_id_mismatches: %s comes with yet another list of ids, after %llu "
                     "that it did not show to be this side's, %u are the most (vfl-party "
                     "--ids-forget %s)",
                     who->name, (unsigned long long)c->count(c->owner, who->key), most, who->name);
}

enum status party_compare_end(struct party_federation *f, uint32_t *accused)
{
    const struct ids_counts *c = &f->setup->counts;
    const uint8_t *keys[IDS_SIDES], *elements[IDS_SIDES];
    struct agree_confirm *own = &f->own_confirm;
    enum status s = STATUS_OK;
    size_t n = 0;

    memset(own->proofs, 0, sizeof own->proofs);
    memset(own->marks, 0, sizeof own->marks);
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++) {
        struct ids_pair *pair = &f->ids.pair[side];

        if (!pair->any)
            continue;
        keys[n] = neighbour(f, side)->key;
        elements[n] = element_of(f, side);
        s = ids_end(pair, elements[n], f->set.sid);
        if (s != STATUS_OK)
            return error_set(f->error, s, "ids: the element of %s: %s", neighbour(f, side)->name,
                             s == STATUS_AUTH ? "none" : status_words(s));
        s = check_count(f, side, elements[n++], accused);
        if (s != STATUS_OK)
            return s;
        memcpy(own->proofs + side * WIRE_PROOF_BYTES, pair->shown, WIRE_PROOF_BYTES);
        memcpy(own->marks + side * WIRE_PROOF_BYTES, pair->mark, WIRE_PROOF_BYTES);
    }
    return c->note(c->owner, keys, elements, n, f->ids.list, f->error);
}

static enum status differs(struct party_federation *f, enum ids_side side)
{
    const struct roster_entry *who = neighbour(f, side);
    const struct ids_counts *c = &f->setup->counts;

    return error_set(f->error, STATUS_DATA,
                     "the ids of %s are not this side's, though both have %zu training and %zu "
                     "test rows (other lists from there: %llu, %u are the most): %s",
                     who->name, f->setup->data.train->rows, f->setup->data.test->rows,
                     (unsigned long long)c->count(c->owner, who->key),
                     f->setup->config->policy.id_mismatches, ids_advice(f->setup->data.train));
}

enum status party_compare_check(struct party_federation *f, const struct wire_confirms *cs,
                                uint32_t *accused)
{
    const struct ids_counts *c = &f->setup->counts;
    const uint8_t *keys[IDS_SIDES];
    enum status s = STATUS_OK, noted = STATUS_OK;
    size_t n = 0;

    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++) {
        const uint8_t *proof = cs->proof;

        if (!f->ids.pair[side].any)
            continue;
        if (side == IDS_AFTER)
            proof = cs->confirm[f->set.self + 1].proofs;
        else if (f->set.self > 0)
            proof = cs->confirm[f->set.self - 1].proofs + WIRE_PROOF_BYTES;
        if (ids_equal(&f->ids.pair[side], proof)) {
            keys[n++] = neighbour(f, side)->key;
            continue;
        }
        s = differs(f, side);
        *accused = index_of(f, side);
    }
    if (n > 0)
        noted = c->equal(c->owner, keys, n, f->ids.list, s == STATUS_OK ? f->error : NULL);
    party_compare_forget(f);
    return s == STATUS_OK ? noted : s;
}

void party_compare_forget(struct party_federation *f)
{
    for (enum ids_side side = IDS_BEFORE; side < IDS_SIDES; side++)
        ids_forget(&f->ids.pair[side]);
    secret_wipe(f->ids.list, sizeof f->ids.list);
}
