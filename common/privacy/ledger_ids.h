/* ledger_ids.h -- which record has which slot, without their names: a keyed digest of each id, in
 * the order in which they were first met.
 *
 * The digest is HMAC-SHA-256 under a key that never leaves this party, cut to 16 bytes: whoever
 * reads the file cannot try names against it.  A record takes some 24 bytes of memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_IDS_H
#define COLONNADE_PRIVACY_LEDGER_IDS_H

#include "common/base/status.h"
#include "common/crypto/digest.h"

#include <stddef.h>
#include <stdint.h>

enum { LEDGER_ID_BYTES = 16 };
#define LEDGER_SLOTS_MAX (UINT32_MAX / 2)

struct ledger_ids {
    uint8_t *digest; /* n of LEDGER_ID_BYTES each, by slot */
    size_t n, max;
    uint32_t *place;       /* open addressing by the first bytes of a digest: slot + 1, 0: free */
    size_t places;         /* a power of two, more than n */
    struct digest_mac mac; /* whoever has the key gives it (ledger_records.h) */
};

void ledger_ids_deinit(struct ledger_ids *ids); /* safe on a zeroed struct */

enum status ledger_ids_digest(struct digest_mac *mac, const char *id,
                              uint8_t out[LEDGER_ID_BYTES]) MUST_USE;
/* UINT32_MAX: not known. */
uint32_t ledger_ids_find(const struct ledger_ids *ids, const uint8_t digest[LEDGER_ID_BYTES]);
/* Gives an unknown one the next slot.  STATUS_MEMORY; STATUS_LIMIT when slots have run out. */
enum status ledger_ids_add(struct ledger_ids *ids, const uint8_t digest[LEDGER_ID_BYTES]) MUST_USE;
/* Forgets those from slot n on. */
void ledger_ids_cut(struct ledger_ids *ids, size_t n);

#endif
