/* ledger.h -- what a party's own records have spent, by record id, across runs (SQLite, WAL,
 * synchronous=FULL).
 *
 * Reserved in blocks before the uploads that spend them; after a crash the unsent rest counts as
 * spent.  One namespace per party: a changed file inherits what its ids have spent.  One process
 * holds the file at a time.  Functions may be called from any thread, but never two at once on one
 * ledger.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_H
#define COLONNADE_PRIVACY_LEDGER_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/privacy/account.h"

#include <stddef.h>
#include <stdint.h>

enum ledger_purpose { LEDGER_TRAIN, LEDGER_EVALUATE, LEDGER_PREDICT };
enum { LEDGER_PURPOSES = 3 };

struct ledger;

/* Opens or creates `path` (":memory:" in tests).  STATUS_IO when it cannot, is in use, damaged, or
 * somebody else's file; the text says which. */
enum status ledger_open(struct ledger **out, const char *path, struct error *err) MUST_USE;
void ledger_close(struct ledger *l); /* NULL is fine */

/* Says which mechanism the following reservations (and returns) are by; releases and participations
 * are ignored, parameters without a meaning for its kind too.  STATUS_BUDGET when it would be
 * number ACCOUNT_MECHANISMS_MAX + 1. */
enum status ledger_use(struct ledger *l, const struct account_entry *mechanism,
                       struct error *err) MUST_USE;

/* Binds a data set of `rows` ids to slots of the ledger; the result maps rows to slots (mem_free
 * it). *slots is NULL on failure. */
enum status ledger_bind(struct ledger *l, uint32_t **slots, const char *const *ids, size_t rows,
                        struct error *err) MUST_USE;

/* Charges one release to each of the n slots (a slot may occur several times) and commits durably.
 * record_max (of one record over all purposes and mechanisms), total_max (of all): 0 = no limit;
 * STATUS_BUDGET when they would be passed.  On any failure nothing is charged. */
enum status ledger_reserve(struct ledger *l, enum ledger_purpose purpose, const uint32_t *slots,
                           size_t n, uint64_t record_max, uint64_t total_max,
                           struct error *err) MUST_USE;
/* Gives back reservations that were never sent (orderly end of a generation); more than was
 * reserved is a programmer's mistake.  On failure they stay charged. */
enum status ledger_return(struct ledger *l, enum ledger_purpose purpose, const uint32_t *slots,
                          size_t n, struct error *err) MUST_USE;

struct ledger_totals {
    uint64_t releases[LEDGER_PURPOSES]; /* vectors, by purpose */
    uint64_t participations_max;        /* of one record over all purposes and mechanisms */
    uint64_t records;
};
void ledger_totals(const struct ledger *l, struct ledger_totals *out);
/* What one record has spent, over all purposes and mechanisms. */
uint32_t ledger_spent(const struct ledger *l, uint32_t slot);
/* One entry per mechanism that has released something, with releases and participations_max filled
 * in.  Each participations_max is its own mechanism's, so their composition is an upper bound: the
 * records that hold them may differ. */
size_t ledger_entries(const struct ledger *l, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
/* What --ledger prints: releases, histogram of participations, mechanisms, claims at `delta`. */
enum status ledger_print(const struct ledger *l, double delta, struct buf *out) MUST_USE;

#endif
