/* ledger_counts.h -- the ledger in memory: how often each record was released, by mechanism and
 * purpose; of mechanisms that are summed up together (ledger_past.h), by purpose alone.
 *
 * Counts live in chunks of LEDGER_CHUNK slots, made when first touched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_COUNTS_H
#define COLONNADE_PRIVACY_LEDGER_COUNTS_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_CHUNK = 1024, LEDGER_PAST = ACCOUNT_MECHANISMS_MAX, LEDGER_COLUMNS };

/* Which counts: one mechanism or LEDGER_PAST, all that are summed up; one purpose. */
struct ledger_column {
    size_t mechanism;
    enum ledger_purpose purpose;
};

struct ledger_chunk {
    uint32_t count[LEDGER_CHUNK];
};

struct ledger_counts {
    struct ledger_chunk **chunk[LEDGER_COLUMNS][LEDGER_PURPOSES]; /* NULL: all zero */
    size_t chunks;  /* pointers in each of these arrays; `total` covers as many slots */
    size_t records; /* slots in use */
    size_t nobody;  /* the slot that is no record's (LEDGER_NOBODY) + 1; 0: there is none */
    /* Of each slot over mechanisms and purposes; nobody's, as its counts, modulo 2^32. */
    uint32_t *total;
    uint64_t releases[LEDGER_PURPOSES];
    uint64_t column[LEDGER_COLUMNS][LEDGER_PURPOSES]; /* releases, mechanism by mechanism */
};

static inline bool ledger_counts_is_nobody(const struct ledger_counts *c, size_t slot)
{
    return slot + 1 == c->nobody;
}

void ledger_counts_deinit(struct ledger_counts *c); /* safe on a zeroed struct */

/* Makes room for `records` slots in all; c->records stays as it is. */
enum status ledger_counts_grow(struct ledger_counts *c, size_t records) MUST_USE;

/* `more` to the count of one slot.  STATUS_LIMIT when a record's total overflows. */
enum status ledger_counts_load(struct ledger_counts *c, struct ledger_column column, uint32_t slot,
                               uint64_t more) MUST_USE;
/* Releases of a column that are no record's. */
uint64_t ledger_counts_nobodys(const struct ledger_counts *c, struct ledger_column column);
uint32_t ledger_counts_of(const struct ledger_counts *c, struct ledger_column column,
                          uint32_t slot);

/* One more for each of n slots (repeats allowed), all or nothing, and in *highest the largest total
 * among them.  STATUS_MEMORY, or STATUS_LIMIT when a record's 32-bit total would overflow. */
enum status ledger_counts_add(struct ledger_counts *c, struct ledger_column column,
                              const uint32_t *slots, size_t n, uint32_t *highest) MUST_USE;

/* One less for each of n slots.  False, and nothing is changed, when that would be less than none.
 */
bool ledger_counts_subtract(struct ledger_counts *c, struct ledger_column column,
                            const uint32_t *slots, size_t n) MUST_USE;

/* The largest total of a record. */
uint32_t ledger_counts_most(const struct ledger_counts *c);

/* Its releases. */
uint64_t ledger_counts_released(const struct ledger_counts *c, size_t mechanism);

/* Its counts become LEDGER_PAST's: they can no longer be told from others'. */
void ledger_counts_sum_up(struct ledger_counts *c, size_t mechanism);

/* e->participations_max and trained_max of one record by a mechanism. */
void ledger_counts_record(const struct ledger_counts *c, size_t mechanism, uint32_t slot,
                          struct account_entry *e);
/* e->releases of a mechanism, and the most of one record by it, at all and in training. */
void ledger_counts_sum(const struct ledger_counts *c, size_t mechanism, struct account_entry *e);

#endif
