/* ledger_history.h -- what was paid for, by plan and data set, and how far numbers have come.
 *
 * An entry takes as many numbers as it pays for rounds, one that gives back takes one; so the last
 * number is at least the rounds that this party has ever sent something in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_HISTORY_H
#define COLONNADE_PRIVACY_LEDGER_HISTORY_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"

#include <stddef.h>
#include <stdint.h>

/* More runs than this are told as one, the oldest first, when the log is folded. */
enum { LEDGER_TALLIES_MAX = 4096 };

/* A plan with data, the latter as a digest under the ledger's key; number 0 is of those that are no
 * longer told apart. */
struct ledger_work {
    uint8_t plan[LEDGER_DIGEST_BYTES], data[LEDGER_DIGEST_BYTES];
};

/* What was paid for one purpose of a work; rounds and releases less what was given back. */
struct ledger_tally {
    uint32_t work;
    enum ledger_purpose purpose;
    uint64_t entries;
    int64_t rounds, releases;
    uint64_t first_s, last_s; /* since 1970; 0: unknown */
};

struct ledger_history {
    uint64_t number;  /* the last one taken; 0: none yet */
    uint64_t entries; /* ever */
    struct ledger_work *work;
    struct ledger_tally *tally; /* in the order of their first entries */
    size_t works, works_max, tallies, tallies_max;
};

enum status ledger_history_init(struct ledger_history *h) MUST_USE; /* with work 0 */
void ledger_history_deinit(struct ledger_history *h);               /* safe on a zeroed struct */
enum status ledger_history_copy(struct ledger_history *to, const struct ledger_history *h) MUST_USE;

/* UINT32_MAX: not known. */
uint32_t ledger_history_find(const struct ledger_history *h, const struct ledger_work *w);
/* Both with room for one more tally afterwards.  STATUS_MEMORY. */
enum status ledger_history_add(struct ledger_history *h, const struct ledger_work *w) MUST_USE;
enum status ledger_history_reserve(struct ledger_history *h) MUST_USE;

/* Adds to a tally, or makes it: cannot fail after _reserve. */
void ledger_history_enter(struct ledger_history *h, const struct ledger_tally *more);

/* Tells the oldest half as one when there are more than LEDGER_TALLIES_MAX, and forgets works
 * without a tally. */
void ledger_history_shorten(struct ledger_history *h);

#endif
