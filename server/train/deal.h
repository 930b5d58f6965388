/* deal.h -- shares of the data, which go before the rounds of fedvs.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_DEAL_H
#define COLONNADE_SERVER_TRAIN_DEAL_H

#include "common/flow/dealing.h"
#include "server/train/sum.h"

/* Zeroed where nothing is dealt.  Written by deal.c; `reach` by resume.c, too. */
struct server_deal {
    struct dealing chunks;
    uint64_t next; /* chunk that is due */
    bool keys_due; /* before everything else in a generation */
    double reach;  /* fedvs_reach() of the last generation's terms, by any process */
};

/* The terms of a generation, from all of its hellos; the sum gets them, too.  A set whose sums
 * would wrap around, or that is too small, is nobody's fault but the plan's. */
enum status server_deal_terms(struct server_deal *d, struct server_sum *sum,
                              const struct agree_hello *hellos, uint32_t n,
                              struct error *err) MUST_USE;
/* What is dealt next; false: everything is. */
bool server_next_deal(const struct server_deal *d, struct server_task *out);
void server_dealt(struct server_deal *d, const struct server_task *task);

#endif
