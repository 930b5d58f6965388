/* ledger_past.h -- mechanisms whose releases are no longer told apart record by record.
 *
 * A claim needs of a mechanism its releases and the most of one record by it; so these are all that
 * is kept of those that are not in use, once there are many.  Memory and file then grow with the
 * records and a few mechanisms, however many there were.  One that comes into use again is counted
 * anew and the most of both are added: that is no less than the most of one record.
 *
 * Which are summed up follows from the log alone, so that it is the same whenever it is opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_PAST_H
#define COLONNADE_PRIVACY_LEDGER_PAST_H

#include "common/privacy/account.h"
#include "common/privacy/ledger_inside.h"

#include <stddef.h>

enum { LEDGER_LIVE_MAX = 64 }; /* mechanisms that are counted by record */

/* After an entry that charged by `current`: sums up all others, should more be counted. */
void ledger_past_settle(struct ledger *l, size_t current);
/* A mechanism with all that was released by it. */
struct account_entry ledger_past_entry(const struct ledger *l, size_t mechanism);

#endif
