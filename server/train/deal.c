/* deal.c -- before the rounds of fedvs: subset keys and shares of the data pass from member to
 * member.
 *
 * The happy path: confirms -> round of keys -> chunk by chunk a round of data -> the first training
 * round.  These are rounds of SHARE without uploads: the next one is opened right behind the
 * relays.  Where dealing goes on after a cut, and what all know of each other's bottoms, is in the
 * hellos; members compute the same (party/train/deal.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/train.h"

bool server_deals(const struct server_train *s)
{
    return secagg_deals(s->plan.protocol.aggregation);
}

/* A set whose sums would wrap around, or that is too small, is nobody's fault but the plan's. */
enum status server_deal_terms(struct server_train *s, const struct agree_hello *hellos)
{
    struct server_deal *d = &s->round.deal;
    enum status st;

    if (!server_deals(s))
        return STATUS_OK;
    s->round.sum.shape.parties = s->fed->set.n;
    st = dealing_terms(&s->round.sum.shape.terms, &s->plan, hellos, s->fed->set.n, &s->fed->error);
    if (st != STATUS_OK)
        return st;
    dealing_make(&d->chunks, &s->plan, &s->round.sum.shape.terms);
    d->next = dealing_start(hellos, s->fed->set.n);
    if (d->next > d->chunks.chunks)
        d->next = 0;
    d->keys_due = true;
    s->round.sum.payload_max = secagg_payload_bytes(
        s->plan.protocol.aggregation, &s->round.sum.shape, s->round.sum.shape.values_max);
    return STATUS_OK;
}

bool server_next_deal(struct server_train *s)
{
    const struct server_deal *d = &s->round.deal;

    if (!server_deals(s) || (!d->keys_due && d->next == d->chunks.chunks))
        return false;
    s->round.purpose = d->keys_due ? PURPOSE_DEAL_KEYS : PURPOSE_DEAL_DATA;
    s->round.place = d->keys_due ? 0 : d->next;
    s->round.row = NULL;
    s->round.rows = 0;
    s->round.coded = d->keys_due ? 0 : dealing_chunk(&d->chunks, d->next).rows;
    return true;
}

void server_dealt(struct server_train *s)
{
    if (purpose_of(s->round.purpose)->keys)
        s->round.deal.keys_due = false;
    else
        s->round.deal.next++;
}
