/* ledger_key.h -- the key that a ledger is sealed with: the party's state_key, or a file of its
 * own.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_KEY_H
#define COLONNADE_PRIVACY_LEDGER_KEY_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"

/* Of the ledger at `path`: what is in the file state_key, or where that is "", in `ledger.key`
 * beside the ledger, both 64 hexadecimal digits (common/crypto/sealed.h).  `ledger.key` is made,
 * with mode 0600, where there is neither a ledger nor a key yet.  Beside a ledger a key that is
 * missing is never made anew: STATUS_CONFIG, as for one that others may read, and for a state_key
 * that is another one than a `ledger.key` that is there.  The caller wipes it. */
enum status ledger_key_load(uint8_t key[LEDGER_KEY_BYTES], const char *path, const char *state_key,
                            struct error *err) MUST_USE;

#endif
