/* statement.h -- `vfl-party --ledger`, `--ledger-forget NAME`, `--ids-forget NAME` and
 * `--asked-forget`: the ledger and what is counted beside it, as their operator meets them outside
 * of a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_STATEMENT_H
#define COLONNADE_PARTY_STATEMENT_H

#include "common/base/buf.h"
#include "party/prepare.h"

/* What this party's records have spent, how far it has seen the others' ledgers come, and with
 * whom ids were compared in vain. */
enum status statement_print(const struct party_inputs *in, struct buf *out,
                            struct error *err) MUST_USE;

/* From here on this party has never seen the ledger of `name`: the way out when that ledger is lost
 * for good.  Of this party itself: its checkpoint goes on from where the ledger ends.
 * STATUS_CONFIG when the roster has no such party. */
enum status statement_forget(const struct party_inputs *in, const char *name, struct buf *out,
                             struct error *err) MUST_USE;

/* The same of comparisons of ids that were in vain, with a party or the server: guesses_order. */
enum status statement_forget_ids(const struct party_inputs *in, const char *name, struct buf *out,
                                 struct error *err) MUST_USE;

/* From here on predictions have asked for nothing (counted.h). */
enum status statement_forget_asked(const struct party_inputs *in, struct buf *out,
                                   struct error *err) MUST_USE;

#endif
