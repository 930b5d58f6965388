/* ledger_print.h -- the table of claims as people read it, also for a plan that is priced and not
 * yet run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_PRINT_H
#define COLONNADE_PRIVACY_LEDGER_PRINT_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/privacy/account.h"

#include <stddef.h>

enum status ledger_print_claims(const struct account_entry *entries, size_t n, double delta,
                                struct buf *out) MUST_USE;

#endif
