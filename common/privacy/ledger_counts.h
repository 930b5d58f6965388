/* ledger_counts.h -- the ledger in memory: how often each record was released, by mechanism and
 * purpose.
 *
 * Counts live in chunks of LEDGER_CHUNK slots, made when first touched; a chunk is also the unit
 * that is written, so a reservation rewrites only what it changed.
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

/* So that a row of 4 bytes each fits one 4096-byte page of SQLite without an overflow page. */
enum { LEDGER_CHUNK = 1000 };

/* Which counts: one mechanism, one purpose. */
struct ledger_column {
    size_t mechanism;
    enum ledger_purpose purpose;
};

struct ledger_chunk {
    uint32_t count[LEDGER_CHUNK];
    bool dirty; /* changed since it was last written */
};

struct ledger_counts {
    struct ledger_chunk **chunk[ACCOUNT_MECHANISMS_MAX][LEDGER_PURPOSES]; /* NULL: all zero */
    size_t chunks;   /* pointers in each of these arrays; `total` covers as many slots */
    size_t records;  /* slots in use */
    uint32_t *total; /* of each slot over mechanisms and purposes */
    uint64_t releases[LEDGER_PURPOSES];
    uint64_t column[ACCOUNT_MECHANISMS_MAX][LEDGER_PURPOSES]; /* releases, mechanism by mechanism */
    uint32_t participations_max;                              /* largest of total */
};

void ledger_counts_deinit(struct ledger_counts *c); /* safe on a zeroed struct */

/* Makes room for `records` slots in all; c->records stays as it is. */
enum status ledger_counts_grow(struct ledger_counts *c, size_t records) MUST_USE;

/* Chunk `index` of a column, made when `make` and it does not exist; NULL when there is none. */
struct ledger_chunk *ledger_counts_chunk(struct ledger_counts *c, struct ledger_column column,
                                         size_t index, bool make);

/* Adds a stored chunk's counts to an empty chunk (load).  STATUS_LIMIT when a total overflows or
 * counts lie beyond the last record; the counts are then worthless. */
enum status ledger_counts_load(struct ledger_counts *c, struct ledger_column column, size_t index,
                               const uint32_t count[LEDGER_CHUNK]) MUST_USE;

/* One more for each of n slots (repeats allowed), all or nothing, and in *highest the largest total
 * among them.  STATUS_MEMORY, or STATUS_LIMIT when a 32-bit total would overflow. */
enum status ledger_counts_add(struct ledger_counts *c, struct ledger_column column,
                              const uint32_t *slots, size_t n, uint32_t *highest) MUST_USE;

/* One less for each of n slots, which must have been added (CHECK). */
void ledger_counts_subtract(struct ledger_counts *c, struct ledger_column column,
                            const uint32_t *slots, size_t n);

/* Forgets which chunks of a column are dirty. */
void ledger_counts_clean(struct ledger_counts *c, struct ledger_column column);

/* e->releases of a mechanism, and the most of one record by it, at all and in training. */
void ledger_counts_sum(const struct ledger_counts *c, size_t mechanism, struct account_entry *e);

#endif
