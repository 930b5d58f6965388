/* ledger_bind.h -- which records of a ledger the rows of a table are.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_BIND_H
#define COLONNADE_PRIVACY_LEDGER_BIND_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct ledger;

/* Binds a data set of `rows` rows, each a record of its own, named by its id.  *slots maps rows to
 * slots of the ledger (mem_free it), *set (NULL: not asked for) names the data set in blocks, as
 * long as this ledger is open. *slots is NULL on failure. */
enum status ledger_bind(struct ledger *l, uint32_t **slots, uint32_t *set, const char *const *ids,
                        size_t rows, struct error *err) MUST_USE;

/* The name of what is nobody's, as no row is called: no id has a line break.  What is charged to it
 * counts in releases, and in no record's. */
#define LEDGER_NOBODY "\n"

/* The same for rows that are of persons: row i, whose id is ids[i], is of persons[i], whose name is
 * no id.  In either, STATUS_POLICY when a row that was released would count as another record than
 * it did: as its own instead of a person's, or as another person's; STATUS_DATA when a row would be
 * another person's than in a data set that is bound. */
struct ledger_rows {
    const char *const *ids, *const *persons;
    size_t n;
};
enum status ledger_bind_persons(struct ledger *l, uint32_t **slots, uint32_t *set,
                                const struct ledger_rows *rows, struct error *err) MUST_USE;
/* Records that there would be with these n tables bound, which may have no rows; errors as in
 * binding them.  Nothing is written, and nothing stays. */
enum status ledger_records_with(struct ledger *l, const struct ledger_rows *tables, size_t n,
                                uint64_t *records, struct error *err) MUST_USE;
/* Of rows that are each a record of its own: their slots as they are bound, UINT32_MAX where a row
 * is new.  Nothing is written, and nothing stays. */
enum status ledger_slots(struct ledger *l, uint32_t *slots, const char *const *ids,
                         size_t rows) MUST_USE;
/* Data sets that were bound so far; and those after the first so many are no more: nothing is
 * charged for their slots again, and what was not released of them may be another person's. */
uint32_t ledger_bindings(const struct ledger *l);
void ledger_let_go(struct ledger *l, uint32_t bindings);

#endif
