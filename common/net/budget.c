/* budget.c -- a share of time, and a little saved up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/budget.h"

static void grow(struct budget *b, const struct budget_terms *terms, uint64_t now_us)
{
    uint64_t gained;

    if (now_us <= b->at_us)
        return;
    gained = (now_us - b->at_us) / terms->share;
    b->at_us += gained * terms->share; /* the rest of the division counts the next time */
    if (gained > terms->burst_us + terms->debt_us)
        gained = terms->burst_us + terms->debt_us;
    b->credit_us += (int64_t)gained;
    if (b->credit_us > (int64_t)terms->burst_us)
        b->credit_us = (int64_t)terms->burst_us;
}

void budget_init(struct budget *b, const struct budget_terms *terms, uint64_t now_us)
{
    *b = (struct budget){.credit_us = (int64_t)terms->burst_us, .at_us = now_us};
}

void budget_spend(struct budget *b, const struct budget_terms *terms, uint64_t from_us,
                  uint64_t now_us)
{
    uint64_t spent = now_us > from_us ? now_us - from_us : 0;

    grow(b, terms, now_us);
    if (spent > 2 * terms->burst_us)
        spent = 2 * terms->burst_us;
    b->credit_us -= (int64_t)spent;
    if (b->credit_us < -(int64_t)terms->debt_us)
        b->credit_us = -(int64_t)terms->debt_us;
}

uint64_t budget_wait_us(struct budget *b, const struct budget_terms *terms, uint64_t now_us)
{
    grow(b, terms, now_us);
    return b->credit_us < 0 ? (uint64_t)-b->credit_us * terms->share : 0;
}
