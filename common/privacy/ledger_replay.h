/* ledger_replay.h -- from the log to memory, trusting nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_REPLAY_H
#define COLONNADE_PRIVACY_LEDGER_REPLAY_H

#include "common/base/status.h"
#include "common/privacy/ledger_inside.h"

/* Reads the whole log into a ledger in which nothing is but its store.  STATUS_IO when a MAC or the
 * head is not right or something does not fit together, STATUS_MEMORY. */
enum status ledger_replay(struct ledger *l, const uint8_t key[LEDGER_KEY_BYTES],
                          struct error *err) MUST_USE;

#endif
