/* ledger_print.h -- the ledger for people.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_PRINT_H
#define COLONNADE_PRIVACY_LEDGER_PRINT_H

#include "common/privacy/ledger.h"

/* What --ledger prints: releases, histogram of participations, entries by plan and data set,
 * mechanisms, claims at ledger_delta() of its records. */
enum status ledger_print(const struct ledger *l, struct buf *out) MUST_USE;

#endif
