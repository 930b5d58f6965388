/* budget.h -- how much of a loop thread's time may be spent on somebody: a share of all time, and a
 * little saved up.  Private to common/net; reads no clock.
 *
 * Credit grows by one microsecond in `share`, up to `burst_us`, and falls by what is spent.  Of one
 * spending no more than two bursts count: a long interruption of this process is nobody's fault.
 * Many that come before anybody asks add up, down to -debt_us; a share of the time is kept as long
 * as none takes longer than two bursts, and all between two questions no more than debt_us and what
 * was saved up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_BUDGET_H
#define COLONNADE_NET_BUDGET_H

#include <stdint.h>

struct budget_terms {
    uint64_t share; /* 1/share of the time; at least 1 */
    uint64_t burst_us;
    uint64_t debt_us; /* most that is ever owed; at least burst_us */
};

struct budget {
    int64_t credit_us;
    uint64_t at_us; /* up to when credit has been given */
};

/* Begins with a whole burst. */
void budget_init(struct budget *b, const struct budget_terms *terms, uint64_t now_us);
/* It has taken from from_us until now_us. */
void budget_spend(struct budget *b, const struct budget_terms *terms, uint64_t from_us,
                  uint64_t now_us);
/* Microseconds until nothing is owed; 0: spend. */
uint64_t budget_wait_us(struct budget *b, const struct budget_terms *terms, uint64_t now_us);

#endif
