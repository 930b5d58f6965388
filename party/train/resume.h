/* resume.h -- what an operator may change in the bytes that were saved of a training.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_RESUME_H
#define COLONNADE_PARTY_TRAIN_RESUME_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is saved of it names the last number of the ledger, and no session goes on from it with a
 * ledger that lacks what was spent: STATUS_POLICY.  By order of an operator whose ledger is lost
 * for good, these bytes ask for no more than `last`; *was is what they asked for.  False, and
 * nothing is changed, when they are not what a session of this version saved. */
bool party_train_forget_ledger(uint8_t *saved, size_t n, uint64_t last, uint64_t *was) MUST_USE;

#endif
