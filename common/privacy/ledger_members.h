/* ledger_members.h -- rows that count as somebody's: the keyed digest of a row's id, and the slot
 * that it counts as.  A row that is its own record is not in here.
 *
 * So a row that was released is told from a new one when it is said to be of another person, whose
 * count would begin from nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_MEMBERS_H
#define COLONNADE_PRIVACY_LEDGER_MEMBERS_H

#include "common/privacy/ledger_ids.h"

#include <stdbool.h>

enum { LEDGER_MEMBER_BYTES = LEDGER_ID_BYTES + 4 };

struct ledger_members {
    struct ledger_ids row; /* only the digests and where they are */
    uint32_t *slot;        /* of each */
    uint32_t *held;        /* of each: the turn that holds it to its slot; 0: none does */
    size_t slot_max, held_max;
    uint32_t turn; /* the data set that is being bound, from 1 */
};

void ledger_members_deinit(struct ledger_members *m); /* safe on a zeroed struct */

/* UINT32_MAX: not known. */
uint32_t ledger_members_find(const struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES]);
/* The last word on a row counts; one that is known takes no memory.  STATUS_MEMORY, STATUS_LIMIT.
 */
enum status ledger_members_put(struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES],
                               uint32_t slot) MUST_USE;
/* It stays with its slot from this turn on, until that is let go of; the row is known (CHECK). */
void ledger_members_hold(struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES]);
bool ledger_members_held(const struct ledger_members *m, const uint8_t row[LEDGER_ID_BYTES]);
/* Holds none any more that a turn after this one began to. */
void ledger_members_let_go(struct ledger_members *m, uint32_t turn);
/* Forgets those from number n on, and holds none that this turn began to. */
void ledger_members_cut(struct ledger_members *m, size_t n);

/* Number i as it stands in the file; returns behind it. */
uint8_t *ledger_members_print(const struct ledger_members *m, size_t i, uint8_t *to);

#endif
