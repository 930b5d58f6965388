/* statement.h -- `vfl-party --ledger` and `--ledger-forget NAME`: the ledger as its operator meets
 * it, outside of a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_STATEMENT_H
#define COLONNADE_PARTY_STATEMENT_H

#include "common/base/buf.h"
#include "party/prepare.h"

/* What this party's records have spent, and how far it has seen the others' ledgers come. */
enum status statement_print(const struct party_inputs *in, struct buf *out,
                            struct error *err) MUST_USE;

/* From here on this party has never seen the ledger of `name`: the way out when that ledger is lost
 * for good.  Of this party itself: its checkpoint goes on from where the ledger ends.
 * STATUS_CONFIG when the roster has no such party. */
enum status statement_forget(const struct party_inputs *in, const char *name, struct buf *out,
                             struct error *err) MUST_USE;

#endif
