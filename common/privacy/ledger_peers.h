/* ledger_peers.h -- the highest number of each peer's ledger that this party has ever seen: what it
 * can tell a peer whose ledger was put back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_PEERS_H
#define COLONNADE_PRIVACY_LEDGER_PEERS_H

#include "common/base/status.h"
#include "common/privacy/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEDGER_PEERS_MAX = 1 << 16 };

struct ledger_peer {
    uint8_t key[LEDGER_DIGEST_BYTES]; /* SHA-256 of its public key, as in the roster */
    uint64_t seen;                    /* 0: none */
    bool dirty;                       /* changed since it was last written */
};

/* A peer stays where it is: records name it by its place. */
struct ledger_peers {
    struct ledger_peer *peer;
    size_t n, max;
    size_t written; /* whose keys are in the file */
};

void ledger_peers_deinit(struct ledger_peers *p); /* safe on a zeroed struct */

/* NULL: not known. */
struct ledger_peer *ledger_peers_find(const struct ledger_peers *p,
                                      const uint8_t key[LEDGER_DIGEST_BYTES]);
/* The same, made when there is none; NULL: no memory, or too many. */
struct ledger_peer *ledger_peers_get(struct ledger_peers *p,
                                     const uint8_t key[LEDGER_DIGEST_BYTES]);
/* In memory; a number that is not higher changes nothing.  STATUS_MEMORY; STATUS_LIMIT:
 * it would be peer LEDGER_PEERS_MAX + 1. */
enum status ledger_peers_see(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES],
                             uint64_t number) MUST_USE;
bool ledger_peers_dirty(const struct ledger_peers *p);
/* All is written. */
void ledger_peers_clean(struct ledger_peers *p);

#endif
