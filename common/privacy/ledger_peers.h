/* ledger_peers.h -- the highest number of each peer's ledger that this party has ever seen: what it
 * can tell a peer whose ledger was put back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_PEERS_H
#define COLONNADE_PRIVACY_LEDGER_PEERS_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"
#include "common/privacy/ledger_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_peer {
    uint8_t key[LEDGER_DIGEST_BYTES]; /* SHA-256 of its public key, as in the roster */
    uint64_t seen;
    bool dirty; /* changed since it was last written */
};

struct ledger_peers {
    struct ledger_peer *peer;
    size_t n, max;
};

void ledger_peers_deinit(struct ledger_peers *p); /* safe on a zeroed struct */

/* From the file into a zeroed struct.  STATUS_IO when something is wrong with it, STATUS_MEMORY. */
enum status ledger_peers_load(struct ledger_store *st, struct ledger_peers *p,
                              struct error *err) MUST_USE;

uint64_t ledger_peers_seen(const struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES]);
/* In memory; a number that is not higher changes nothing.  STATUS_MEMORY. */
enum status ledger_peers_see(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES],
                             uint64_t number) MUST_USE;

/* Writes what has changed, inside a transaction; _clean says that it was committed. */
enum status ledger_peers_put(struct ledger_store *st, const struct ledger_peers *p,
                             struct error *err) MUST_USE;
bool ledger_peers_dirty(const struct ledger_peers *p);
void ledger_peers_clean(struct ledger_peers *p);

/* Out of the file, inside a transaction; and, once that is committed, out of memory. */
enum status ledger_peers_delete(struct ledger_store *st, const uint8_t key[LEDGER_DIGEST_BYTES],
                                struct error *err) MUST_USE;
void ledger_peers_drop(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES]);

#endif
