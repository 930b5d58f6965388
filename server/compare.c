/* compare.c -- AGREE and CONFIRM: are the ids of the labels those of the members?
 *
 * The server compares with the first member alone (common/flow/ids.h).  Of the others it sees
 * whether two neighbours come to one mark, so that it can name who differs, and open no round.
 * What each member believes is what its neighbours have shown it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/federation.h"

#include "common/crypto/secret.h"
#include "server/members.h"

#include <string.h>

static const struct roster_entry *first(const struct server_federation *f)
{
    return &f->terms.roster->party[f->set.member[0]];
}

static unsigned long long count_of(const struct server_federation *f)
{
    return f->terms.counts.count(f->terms.counts.owner, first(f)->key);
}

enum status server_compare_begin(struct server_federation *f)
{
    const struct ids_own own = {f->agree.list, f->terms.counts.secret};
    enum status st;

    server_compare_forget(f);
    if (f->set.n == 0)
        return STATUS_OK;
    ids_list(f->agree.list, f->terms.train, f->terms.test);
    st = ids_begin(&f->agree.ids, &own, f->terms.roster->server.key, first(f)->key, IDS_AFTER);
    memcpy(f->agree.element, f->agree.ids.own.element, sizeof f->agree.element);
    return st == STATUS_OK ? st : error_set(&f->error, st, "no fresh keys");
}

/* An element for the other end on this side, or zeros where there is none. */
static bool half_fits(const uint8_t half[EQUALITY_BYTES], bool any)
{
    static const uint8_t none[EQUALITY_BYTES];

    return any ? equality_is_element(half) : memcmp(half, none, sizeof none) == 0;
}

/* Two neighbours may have said the same: which of them has copied it nobody can tell, since
 * elements are the same from one generation to the next.  It is of no use to who did: their marks
 * differ. */
bool server_compare_fits(const struct server_federation *f, const struct wire_hello *h, uint32_t m)
{
    return half_fits(h->elements, true) &&
           half_fits(h->elements + EQUALITY_BYTES, m + 1 < f->set.n);
}

enum status server_compare_may_answer(struct server_federation *f, const struct wire_hello *h)
{
    if (ids_may_answer(&f->terms.counts, first(f)->key, f->agree.list, h->elements,
                       f->terms.id_mismatches))
        return STATUS_OK;
    return error_set(&f->error, STATUS_POLICY,
                     "limits.id_mismatches: %s comes with yet another list of ids, after %llu that "
                     "it did not show to be the server's, %u are the most (vfl-server "
                     "--ids-forget %s)",
                     first(f)->name, count_of(f), f->terms.id_mismatches, first(f)->name);
}

enum status server_compare_end(struct server_federation *f)
{
    const struct ids_counts *c = &f->terms.counts;
    const uint8_t *key = first(f)->key, *element = f->agree.hellos[0].elements;
    enum status st = ids_end(&f->agree.ids, element, f->agree.sid);

    if (st != STATUS_OK)
        return error_set(&f->error, st, "ids of generation %llu: %s",
                         (unsigned long long)f->set.generation, status_words(st));
    return c->note(c->owner, &key, &element, 1, f->agree.list, &f->error);
}

bool server_compare_alike(const struct server_federation *f, uint32_t m)
{
    return secret_equal(f->agree.confirms[m - 1].marks + WIRE_PROOF_BYTES,
                        f->agree.confirms[m].marks, WIRE_PROOF_BYTES);
}

/* The first member whose ids are not those of the one before it; members_n: there is none. */
static uint32_t first_other(const struct server_federation *f)
{
    uint32_t m = 0;

    if (!ids_equal(&f->agree.ids, f->agree.confirms[0].proofs))
        return 0;
    for (m = 1; m < f->set.n && server_compare_alike(f, m);)
        m++;
    return m;
}

enum status server_compare_check(struct server_federation *f, uint32_t *peer)
{
    const struct ids_counts *c = &f->terms.counts;
    const uint32_t m = first_other(f), train = f->terms.train_rows, test = f->terms.test_rows;
    const uint8_t *key = first(f)->key;

    enum status st = STATUS_OK;

    if (m > 0)
        st = c->equal(c->owner, &key, 1, f->agree.list, &f->error);
    if (m == f->set.n || st != STATUS_OK)
        return st;
    *peer = f->set.member[m];
    if (m > 0)
        return error_set(&f->error, STATUS_DATA,
                         "the ids of %s are not those of %s, though both have %u training and %u "
                         "test rows: %s",
                         server_name(f, *peer), server_name(f, f->set.member[m - 1]), train, test,
                         ids_advice(f->terms.train));
    return error_set(&f->error, STATUS_DATA,
                     "the ids of %s are not the server's, though both have %u training and %u test "
                     "rows (other lists from there: %llu, %u are the most): %s",
                     server_name(f, *peer), train, test, count_of(f), f->terms.id_mismatches,
                     ids_advice(f->terms.train));
}

void server_compare_forget(struct server_federation *f)
{
    ids_forget(&f->agree.ids);
    secret_wipe(f->agree.list, sizeof f->agree.list);
}
