/* witness.c -- whose word it takes to say that a ledger was put back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/witness.h"

#include "common/flow/agree.h"

uint32_t witness_needed(enum plan_straggler straggler, uint32_t colluders, uint32_t roster_n)
{
    if (straggler == STRAGGLER_WAIT || roster_n <= 2)
        return 1;
    return colluders < roster_n - 1 ? colluders + 1 : roster_n - 1;
}

uint32_t witness_count(bool who[WIRE_MEMBERS_MAX], const struct wire_confirm *confirm, uint32_t n,
                       uint32_t m, uint64_t number)
{
    uint32_t count = 0;

    for (uint32_t by = 0; by < n; by++) {
        who[by] = by != m && agree_seen(&confirm[by], m) > number;
        count += who[by];
    }
    return count;
}
