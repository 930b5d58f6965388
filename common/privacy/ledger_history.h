/* ledger_history.h -- the ledger's entries: which run paid for what, when, in numbers that only
 * grow.
 *
 * Entries tell where the counts come from; the counts alone are the account.  An entry takes as
 * many numbers as it pays for rounds, one that gives back takes one; so the last number is at least
 * the rounds that this party has ever sent something in.  Beyond LEDGER_HISTORY_MAX the oldest half
 * becomes one entry for each purpose and mechanism.  An entry takes some 30 to 45 bytes of the
 * file, a run of its own 170: never more than about 10 MB.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_HISTORY_H
#define COLONNADE_PRIVACY_LEDGER_HISTORY_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"
#include "common/privacy/ledger_counts.h"
#include "common/privacy/ledger_store.h"

#include <stddef.h>
#include <stdint.h>

enum { LEDGER_HISTORY_MAX = 50000 };

struct ledger_history {
    uint64_t number; /* the last one taken; 0: none yet */
    size_t entries;
    int64_t run; /* of the last entry that this process wrote; 0: none */
    uint8_t plan[LEDGER_DIGEST_BYTES], data[LEDGER_DIGEST_BYTES]; /* that run's */
};

/* Reads all entries into a zeroed history and holds them against the counts, which are read
 * already. STATUS_IO when they do not fit together. */
enum status ledger_history_load(struct ledger_store *st, struct ledger_history *h,
                                const struct ledger_counts *counts, struct error *err) MUST_USE;

/* Writes an entry, inside a transaction; *h is as if it were committed, so give a copy.
 * STATUS_BUDGET when the numbers have run out. */
enum status ledger_history_enter(struct ledger_store *st, struct ledger_history *h,
                                 const struct ledger_block *b, size_t mechanism, bool give_back,
                                 struct error *err) MUST_USE;

/* Makes room when there are LEDGER_HISTORY_MAX of them, in a transaction of its own. */
enum status ledger_history_fold(struct ledger_store *st, struct ledger_history *h,
                                struct error *err) MUST_USE;

#endif
