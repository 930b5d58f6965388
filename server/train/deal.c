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
#include "server/train/deal.h"

enum status server_deal_terms(struct server_deal *d, struct server_sum *sum,
                              const struct agree_hello *hellos, uint32_t n, struct error *err)
{
    enum status st;

    sum->shape.parties = n;
    st = dealing_terms(&sum->shape.terms, sum->plan, hellos, n, err);
    if (st != STATUS_OK)
        return st;
    server_sum_terms_known(sum);
    d->reach = fedvs_reach(&sum->shape.terms);
    dealing_make(&d->chunks, sum->plan, &sum->shape.terms);
    d->next = dealing_start(hellos, n);
    if (d->next > d->chunks.chunks)
        d->next = 0;
    d->keys_due = true;
    return STATUS_OK;
}

bool server_next_deal(const struct server_deal *d, struct server_task *out)
{
    if (d->keys_due)
        *out = server_task_keys();
    else if (d->next < d->chunks.chunks)
        *out = server_task_data(d->next, dealing_chunk(&d->chunks, d->next).rows);
    else
        return false;
    return true;
}

void server_dealt(struct server_deal *d, const struct server_task *task)
{
    if (purpose_of(task->purpose)->keys)
        d->keys_due = false;
    else
        d->next++;
}
