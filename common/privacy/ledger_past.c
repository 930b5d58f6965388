/* ledger_past.c -- summing up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_past.h"

struct account_entry ledger_past_entry(const struct ledger *l, size_t mechanism)
{
    struct account_entry e = l->mechanism[mechanism], now;

    ledger_counts_sum(&l->counts, mechanism, &now);
    e.releases += now.releases;
    e.participations_max += now.participations_max;
    e.trained_max += now.trained_max;
    return e;
}

void ledger_past_settle(struct ledger *l, size_t current)
{
    size_t live = 0;

    for (size_t m = 0; m < l->mechanisms; m++)
        live += ledger_counts_released(&l->counts, m) > 0;
    if (live <= LEDGER_LIVE_MAX)
        return;
    for (size_t m = 0; m < l->mechanisms; m++) {
        if (m == current || ledger_counts_released(&l->counts, m) == 0)
            continue;
        l->mechanism[m] = ledger_past_entry(l, m);
        ledger_counts_sum_up(&l->counts, m);
    }
}
