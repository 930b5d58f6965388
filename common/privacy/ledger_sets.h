/* ledger_sets.h -- data sets as the slots of their rows, in order.
 *
 * Kept as runs of slots that follow each other: a new file is one run, a changed one a few more.
 * Several rows may be of one slot.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_SETS_H
#define COLONNADE_PRIVACY_LEDGER_SETS_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_run {
    uint32_t first, n;
};
enum { LEDGER_RUN_BYTES = 8 }; /* both, little-endian */

struct ledger_set {
    uint32_t number;
    bool bound; /* by this process */
    uint32_t rows;
    uint8_t *runs; /* as in the file */
    size_t bytes;
};

struct ledger_sets {
    struct ledger_set *set;
    size_t n, max;
    uint32_t next;  /* number */
    uint32_t *slot; /* of the rows of the set that was asked for last */
    size_t slots_max;
    uint32_t open; /* its number + 1; 0: none */
};

void ledger_sets_deinit(struct ledger_sets *sets); /* safe on a zeroed struct */

/* The run at *from, which moves behind it. */
struct ledger_run ledger_sets_take(const uint8_t **from);
/* Slots as runs; mem_free them.  NULL: no memory. */
uint8_t *ledger_sets_pack(const uint32_t *slots, size_t rows, size_t *bytes);
/* One that has these runs; NULL: none has. */
struct ledger_set *ledger_sets_find(const struct ledger_sets *sets, const uint8_t *runs,
                                    size_t bytes);
struct ledger_set *ledger_sets_get(const struct ledger_sets *sets, uint32_t number);
/* Copies the runs.  STATUS_LIMIT when they are not those of slots below `records`, or not the
 * shortest; STATUS_MEMORY. */
enum status ledger_sets_add(struct ledger_sets *sets, uint32_t number, const uint8_t *runs,
                            size_t bytes, size_t records) MUST_USE;
/* Without the last one, which was added in vain. */
void ledger_sets_drop_last(struct ledger_sets *sets);
/* Without those that this process has not bound. */
void ledger_sets_drop_others(struct ledger_sets *sets);

/* The slot of each row, valid until another set is asked for.  NULL: no memory. */
const uint32_t *ledger_sets_slots(struct ledger_sets *sets, const struct ledger_set *set);

#endif
