/* ledger_load.h -- from the file to memory, trusting nothing: a count that was made smaller by a
 * bad disk must never pass for a budget that is still there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_LOAD_H
#define COLONNADE_PRIVACY_LEDGER_LOAD_H

#include "common/base/status.h"
#include "common/privacy/account.h"
#include "common/privacy/ledger_counts.h"
#include "common/privacy/ledger_store.h"

#include <stddef.h>

/* Reads everything but ids, entries and peers into zeroed counts and mechanisms.  STATUS_IO when
 * something does not fit together, STATUS_MEMORY. */
enum status ledger_load(struct ledger_store *st, struct ledger_counts *counts,
                        struct account_entry mechanisms[ACCOUNT_MECHANISMS_MAX],
                        size_t *mechanisms_n, struct error *err) MUST_USE;

/* How a mechanism's kind, and its bottom, are stored and printed. */
const char *ledger_load_kind_name(enum account_kind kind);
const char *ledger_load_bottom_name(enum account_bottom bottom);

#endif
