/* ledger_peers.c -- peers in memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_peers.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <string.h>

void ledger_peers_deinit(struct ledger_peers *p)
{
    mem_free(p->peer);
    *p = (struct ledger_peers){0};
}

struct ledger_peer *ledger_peers_find(const struct ledger_peers *p,
                                      const uint8_t key[LEDGER_DIGEST_BYTES])
{
    for (size_t i = 0; i < p->n; i++) {
        if (memcmp(p->peer[i].key, key, LEDGER_DIGEST_BYTES) == 0)
            return &p->peer[i];
    }
    return NULL;
}

struct ledger_peer *ledger_peers_get(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES])
{
    struct ledger_peer *peer = ledger_peers_find(p, key);

    if (peer != NULL || p->n == LEDGER_PEERS_MAX)
        return peer;
    peer = mem_room(p->peer, &p->max, p->n + 1, sizeof *peer);
    if (peer == NULL)
        return NULL;
    p->peer = peer;
    peer = &p->peer[p->n++];
    *peer = (struct ledger_peer){0};
    memcpy(peer->key, key, LEDGER_DIGEST_BYTES);
    return peer;
}

enum status ledger_peers_see(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES],
                             uint64_t number)
{
    struct ledger_peer *peer;

    CHECK(number <= LEDGER_NUMBER_MAX);
    if (number == 0)
        return STATUS_OK;
    peer = ledger_peers_get(p, key);
    if (peer == NULL)
        return p->n == LEDGER_PEERS_MAX ? STATUS_LIMIT : STATUS_MEMORY;
    if (number > peer->seen) {
        peer->seen = number;
        peer->dirty = true;
    }
    return STATUS_OK;
}

bool ledger_peers_dirty(const struct ledger_peers *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->peer[i].dirty)
            return true;
    }
    return false;
}

void ledger_peers_clean(struct ledger_peers *p)
{
    for (size_t i = 0; i < p->n; i++)
        p->peer[i].dirty = false;
    p->written = p->n;
}
