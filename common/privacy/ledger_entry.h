/* ledger_entry.h -- a block as an entry of the log, and back to the slots that it releases.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_ENTRY_H
#define COLONNADE_PRIVACY_LEDGER_ENTRY_H

#include "common/base/status.h"
#include "common/privacy/ledger_inside.h"

#include <stdbool.h>

/* The slots of a block, n in all: b->slots, or worked out in l->slots.  STATUS_LIMIT when that is
 * no stretch of its set; STATUS_MEMORY. */
enum status ledger_entry_expand(struct ledger *l, const struct ledger_block *b,
                                const uint32_t **slots) MUST_USE;
/* The same from places of slots (ledger_records.h), b->places in all, and b->n of them taken; what
 * was asked for is put in l->asked. */
enum status ledger_entry_places(struct ledger *l, const uint8_t *at, size_t bytes,
                                struct ledger_block *b, const uint32_t **slots) MUST_USE;
/* The same from runs of slots (ledger_sets.h), which must be n in all. */
enum status ledger_entry_list(struct ledger *l, const uint8_t *runs, size_t bytes, size_t n,
                              const uint32_t **slots) MUST_USE;
/* As the last one; STATUS_MEMORY. */
enum status ledger_entry_add_law(struct ledger *l, const struct ledger_law *law) MUST_USE;

/* Writes a block by the mechanism in use, given back or not, inside a transaction, with its law and
 * its work where they are new.  *number: the last one that it takes.  STATUS_BUDGET when numbers
 * have run out. */
struct ledger_written {
    uint64_t number;
    size_t laws, works; /* before */
    uint32_t work;
};
enum status ledger_entry_write(struct ledger *l, const struct ledger_block *b, bool back,
                               struct ledger_written *w, struct error *err) MUST_USE;
/* It was committed, or was not: memory follows. */
void ledger_entry_done(struct ledger *l, const struct ledger_block *b, bool back,
                       const struct ledger_written *w, bool committed);

#endif
