/* ledger_layout.h -- which tables the ledger's file has, and how a file of an earlier version gets
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_LAYOUT_H
#define COLONNADE_PRIVACY_LEDGER_LAYOUT_H

#include "common/base/status.h"
#include "common/privacy/ledger_store.h"

/* application_id, "COLG"; user_version is the layout's. */
#define LEDGER_LAYOUT_APPLICATION "1129270343"
enum { LEDGER_LAYOUT_FIRST = 1, LEDGER_LAYOUT_VERSION = 2 };

/* Into a file that holds nothing: all at once. */
enum status ledger_layout_create(struct ledger_store *st, struct error *err) MUST_USE;

/* Reads the whole file once: pages, indexes against tables, tables against those of `version`. */
enum status ledger_layout_examine(struct ledger_store *st, int version, struct error *err) MUST_USE;

/* From the first version to this one, in one transaction.  Counts stay as they are; the bottoms of
 * that time were raw, and of its entries nothing is known but what they amount to. */
enum status ledger_layout_upgrade(struct ledger_store *st, struct error *err) MUST_USE;

#endif
