/* compare.c -- AGREE and CONFIRM: are the ids of the labels those of the members?
 *
 * The server compares with the first member alone (common/flow/ids.h).  Of the others it sees
 * whether two neighbours come to one mark, so that it can name who differs, and open no round.
 * What each member believes is what its neighbours have shown it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/core.h"

#include "common/crypto/secret.h"

#include <string.h>

static const struct roster_entry *first(const struct server_session *s)
{
    return &s->setup.roster->party[s->fed.members[0]];
}

static unsigned long long count_of(const struct server_session *s)
{
    return s->setup.counts.count(s->setup.counts.owner, first(s)->key);
}

enum status server_compare_begin(struct server_session *s)
{
    const struct ids_own own = {s->fed.agree.list, s->setup.counts.secret};
    enum status st;

    server_compare_forget(s);
    if (s->fed.members_n == 0)
        return STATUS_OK;
    ids_list(s->fed.agree.list, s->setup.train, s->setup.test);
    st = ids_begin(&s->fed.agree.ids, &own, s->setup.roster->server.key, first(s)->key, IDS_AFTER);
    memcpy(s->fed.agree.element, s->fed.agree.ids.own.element, sizeof s->fed.agree.element);
    return st == STATUS_OK ? st : error_set(&s->fed.error, st, "no fresh keys");
}

/* An element for the other end on this side, or zeros where there is none. */
static bool half_fits(const uint8_t half[EQUALITY_BYTES], bool any)
{
    static const uint8_t none[EQUALITY_BYTES];

    return any ? equality_is_element(half) : memcmp(half, none, sizeof none) == 0;
}

static const uint8_t *answered(const struct server_session *s, uint32_t m)
{
    return s->fed.peer[s->fed.members[m]].answered ? s->fed.agree.hellos[m].elements : NULL;
}

/* Whoever comes second with the element of its neighbour is who can have copied it. */
bool server_compare_fits(const struct server_session *s, const struct wire_hello *h, uint32_t m)
{
    const bool last = m + 1 == s->fed.members_n;
    const uint8_t *after = h->elements + EQUALITY_BYTES, *other;

    if (!half_fits(h->elements, true) || !half_fits(after, !last))
        return false;
    other = m == 0 ? s->fed.agree.element : answered(s, m - 1);
    if (m > 0 && other != NULL)
        other += EQUALITY_BYTES;
    if (other != NULL && memcmp(h->elements, other, EQUALITY_BYTES) == 0)
        return false;
    other = last ? NULL : answered(s, m + 1);
    return other == NULL || memcmp(after, other, EQUALITY_BYTES) != 0;
}

enum status server_compare_may_answer(struct server_session *s, const struct wire_hello *h)
{
    if (ids_may_answer(&s->setup.counts, first(s)->key, s->fed.agree.list, h->elements,
                       s->setup.id_mismatches))
        return STATUS_OK;
    return error_set(&s->fed.error, STATUS_POLICY,
                     "limits.id_mismatches: %s comes with yet another list of ids, after %llu that "
                     "it did not show to be the server's, %u are the most (vfl-server "
                     "--ids-forget %s)",
                     first(s)->name, count_of(s), s->setup.id_mismatches, first(s)->name);
}

enum status server_compare_end(struct server_session *s)
{
    const struct ids_counts *c = &s->setup.counts;
    const uint8_t *key = first(s)->key, *element = s->fed.agree.hellos[0].elements;
    enum status st = ids_end(&s->fed.agree.ids, element, s->fed.agree.sid);

    if (st != STATUS_OK)
        return error_set(&s->fed.error, st, "ids of generation %llu: %s",
                         (unsigned long long)s->fed.generation, status_words(st));
    return c->note(c->owner, &key, &element, 1, s->fed.agree.list, &s->fed.error);
}

/* The first member whose ids are not those of the one before it; members_n: there is none. */
static uint32_t first_other(const struct server_session *s)
{
    uint32_t m = 0;

    if (!ids_equal(&s->fed.agree.ids, s->fed.agree.confirms[0].proofs))
        return 0;
    for (m = 1; m < s->fed.members_n; m++) {
        if (!secret_equal(s->fed.agree.confirms[m - 1].marks + WIRE_PROOF_BYTES,
                          s->fed.agree.confirms[m].marks, WIRE_PROOF_BYTES))
            return m;
    }
    return m;
}

enum status server_compare_check(struct server_session *s, uint32_t *peer)
{
    const struct ids_counts *c = &s->setup.counts;
    const uint32_t m = first_other(s), train = s->plan.shape.train_rows,
                   test = s->plan.shape.test_rows;
    const uint8_t *key = first(s)->key;

    enum status st = STATUS_OK;

    if (m > 0)
        st = c->equal(c->owner, &key, 1, s->fed.agree.list, &s->fed.error);
    if (m == s->fed.members_n || st != STATUS_OK)
        return st;
    *peer = s->fed.members[m];
    if (m > 0)
        return error_set(&s->fed.error, STATUS_DATA,
                         "the ids of %s are not those of %s, though both have %u training and %u "
                         "test rows",
                         server_name(s, *peer), server_name(s, s->fed.members[m - 1]), train, test);
    return error_set(&s->fed.error, STATUS_DATA,
                     "the ids of %s are not the server's, though both have %u training and %u test "
                     "rows (other lists from there: %llu, %u are the most)",
                     server_name(s, *peer), train, test, count_of(s), s->setup.id_mismatches);
}

void server_compare_forget(struct server_session *s)
{
    ids_forget(&s->fed.agree.ids);
    secret_wipe(s->fed.agree.list, sizeof s->fed.agree.list);
}
