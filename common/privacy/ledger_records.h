/* ledger_records.h -- what the records of a ledger's log say.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts; N, S, ... are numbers, HEX is hexadecimal.  Numbers in bytes are little-endian.
 *
 *     begin/1 SALT NUMBER ENTRIES           the first: a new ledger, or what it amounted to when
 *                                           everything known was written anew
 *     ids FIRST                             + 16 bytes for each: slots FIRST, FIRST + 1, ...
 *     members                               + 20 bytes for each: a row's digest, and its slot, 4;
 *                                           the last word on a row counts
 *     set N                                 + runs of slots, 4 bytes the first, 4 how many
 *     mechanism N TEXT                      ledger_mechanism.h
 *     law N TEXT                            ledger_law.h
 *     work N PLAN-HEX DATA-HEX              a plan with data: the latter under a key
 *     peer N KEY-HEX
 *     count MECHANISM PURPOSE FIRST SUM     + releases of slots FIRST, ... in 7-bit groups
 *     sums MECHANISM RELEASES MOST TRAINED  what is no longer told apart (ledger_past.h)
 *     past PURPOSE FIRST SUM                + the same as behind count, of all of it
 *     tally WORK PURPOSE ENTRIES ROUNDS RELEASES FIRST-S LAST-S
 *     pay NUMBER ROUNDS AT-S WORK PURPOSE MECHANISM RELEASES PLACE law LAW SET COUNT
 *     pay NUMBER ROUNDS AT-S WORK PURPOSE MECHANISM RELEASES PLACE listed    + runs of slots
 *     pay NUMBER ROUNDS AT-S WORK PURPOSE MECHANISM PLACES PLACE asked       + unknown ids, day and
 *                                           its rows, 8 bytes each; a slot, 4, for each place, or
 *                                           ffffffff
 *     back ...                              the same as the first two: given back
 *     asked UNKNOWN DAY ROWS                without a round
 *     seen                                  + peer, 4 bytes, number, 8 bytes, for each
 *     forget PEER
 *     align N IDS AT-S JOB-HEX NAME         has begun, and ...
 *     told NUMBER N                         ... may have told something; NUMBER 0: written anew
 *
 * N counts from 0, in order and without gaps; a set's may have gaps, a work's counts from 1.
 */
#ifndef COLONNADE_PRIVACY_LEDGER_RECORDS_H
#define COLONNADE_PRIVACY_LEDGER_RECORDS_H

#include "common/base/status.h"
#include "common/privacy/ledger_inside.h"

#include <stdbool.h>
#include <stddef.h>

/* Each inside a transaction.  What they say is not in memory yet, or not only. */
enum status ledger_write(struct ledger *l, const void *bytes, size_t n, struct error *err,
                         const char *format, ...) MUST_USE PRINTF_LIKE(5, 6);
enum status ledger_write_begin(struct ledger *l, const struct ledger_history *h,
                               struct error *err) MUST_USE;
enum status ledger_write_ids(struct ledger *l, size_t first, struct error *err) MUST_USE;
/* `n` of them, as they stand in the file. */
enum status ledger_write_members(struct ledger *l, const uint8_t *members, size_t n,
                                 struct error *err) MUST_USE;
enum status ledger_write_work(struct ledger *l, size_t index, const struct ledger_work *w,
                              struct error *err) MUST_USE;
enum status ledger_write_asked(struct ledger *l, const struct ledger_asked *a,
                               struct error *err) MUST_USE;
/* Has begun. */
enum status ledger_write_alignment(struct ledger *l, size_t index, const struct ledger_alignment *a,
                                   struct error *err) MUST_USE;
/* New peers and numbers; `all` of them, where nothing is in the file. */
enum status ledger_write_peers(struct ledger *l, bool all, struct error *err) MUST_USE;

/* Writes everything anew when opening would have to work out too much, in a transaction of its
 * own. */
enum status ledger_fold(struct ledger *l, struct error *err) MUST_USE;
/* Of so many records, once they are twice those of what is known; or after so many releases, once
 * they are many more than there are slots. */
enum { LEDGER_FOLD_RECORDS = 20000 };
#define LEDGER_FOLD_RELEASES (UINT64_C(1) << 27)

/* The keys of digests of ids, of persons and of data, from the ledger's key and the salt. */
enum status ledger_key_digests(struct ledger *l, const uint8_t key[LEDGER_KEY_BYTES],
                               struct error *err) MUST_USE;
/* All ids have slots by now, for which there is room: counts are of so many, and of nobody. */
void ledger_count_ids(struct ledger *l);

#endif
