/* ledger_spare.h -- limits of one record that refuse nothing: what a record has no more to spend
 * for is charged to nobody (LEDGER_NOBODY), and its owner sends nothing of it.
 *
 * A refusal tells that the record is there.  Where that is nobody's affair (alignments of labelled
 * rows), and what is not there is charged under a name of its own, the same releases are charged
 * whoever has something left, in a block of the same size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_SPARE_H
#define COLONNADE_PRIVACY_LEDGER_SPARE_H

#include "common/privacy/ledger.h"

/* Of a block of listed slots, slots[0..b->n): those whose records would pass a limit of one record
 * with it, record_max or judge_one, become nobody's (who is bound), one after the other, and
 * spared[i] says which.  Nothing is charged: the block that is charged is of what is left. */
enum status ledger_spare(struct ledger *l, uint8_t *spared, uint32_t *slots,
                         const struct ledger_block *b, const struct ledger_limits *limits,
                         struct error *err) MUST_USE;

/* Of records that are to be released, each as often as `planned` says at most: spared[i] is 1 where
 * that of slots[i] would pass a limit of one record then, else 0; UINT32_MAX is one that was never
 * released.  Of a ledger that has no more than ACCOUNT_MECHANISMS_MAX mechanisms.  Nothing is
 * changed.  STATUS_MEMORY. */
enum status ledger_spare_planned(const struct ledger *l, uint8_t *spared, const uint32_t *slots,
                                 size_t n, const struct account_entry *planned,
                                 const struct ledger_limits *limits) MUST_USE;

#endif
