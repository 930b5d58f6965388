/* ledger_peers.c -- peers and their numbers, in memory and in the file.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_peers.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <sqlite3.h>
#include <string.h>

void ledger_peers_deinit(struct ledger_peers *p)
{
    mem_free(p->peer);
    *p = (struct ledger_peers){0};
}

static struct ledger_peer *find(const struct ledger_peers *p, const uint8_t *key)
{
    for (size_t i = 0; i < p->n; i++) {
        if (memcmp(p->peer[i].key, key, LEDGER_DIGEST_BYTES) == 0)
            return &p->peer[i];
    }
    return NULL;
}

uint64_t ledger_peers_seen(const struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES])
{
    const struct ledger_peer *peer = find(p, key);

    return peer == NULL ? 0 : peer->seen;
}

static enum status add(struct ledger_peers *p, const uint8_t *key, uint64_t number, bool dirty)
{
    if (p->n == p->max) {
        size_t more = p->max == 0 ? 16 : 2 * p->max;
        struct ledger_peer *grown = mem_grow(p->peer, p->max * sizeof *grown, more * sizeof *grown);

        if (grown == NULL)
            return STATUS_MEMORY;
        p->peer = grown;
        p->max = more;
    }
    memcpy(p->peer[p->n].key, key, LEDGER_DIGEST_BYTES);
    p->peer[p->n].seen = number;
    p->peer[p->n].dirty = dirty;
    p->n++;
    return STATUS_OK;
}

enum status ledger_peers_see(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES],
                             uint64_t number)
{
    struct ledger_peer *peer = find(p, key);

    CHECK(number <= LEDGER_NUMBER_MAX);
    if (number <= (peer == NULL ? 0 : peer->seen))
        return STATUS_OK;
    if (peer == NULL)
        return add(p, key, number, true);
    peer->seen = number;
    peer->dirty = true;
    return STATUS_OK;
}

enum status ledger_peers_load(struct ledger_store *st, struct ledger_peers *p, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    int step;

    if (sqlite3_prepare_v2(st->db, "SELECT key, seen FROM peers", -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    while ((step = sqlite3_step(query)) == SQLITE_ROW && s == STATUS_OK) {
        const uint8_t *key = sqlite3_column_blob(query, 0);
        sqlite3_int64 seen = sqlite3_column_int64(query, 1);

        if (key == NULL || sqlite3_column_bytes(query, 0) != LEDGER_DIGEST_BYTES || seen <= 0 ||
            (uint64_t)seen > LEDGER_NUMBER_MAX || find(p, key) != NULL)
            s = ledger_store_damaged(st, "an impossible peer", err);
        else if (add(p, key, (uint64_t)seen, false) != STATUS_OK)
            s = error_set(err, STATUS_MEMORY, "ledger %s: out of memory", st->path);
    }
    if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    return s;
}

enum status ledger_peers_delete(struct ledger_store *st, const uint8_t key[LEDGER_DIGEST_BYTES],
                                struct error *err)
{
    sqlite3_stmt *out = NULL;
    enum status s;

    if (sqlite3_prepare_v2(st->db, "DELETE FROM peers WHERE key = ?", -1, &out, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    if (sqlite3_bind_blob(out, 1, key, LEDGER_DIGEST_BYTES, SQLITE_STATIC) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    else
        s = ledger_store_finish(st, out, err);
    sqlite3_finalize(out);
    return s;
}

/* The old row goes, since its number is part of the index. */
static enum status put(struct ledger_store *st, const struct ledger_peer *peer, struct error *err)
{
    sqlite3_stmt *in = NULL;
    enum status s = ledger_peers_delete(st, peer->key, err);

    if (s != STATUS_OK)
        return s;
    if (sqlite3_prepare_v2(st->db, "INSERT INTO peers (key, seen) VALUES (?, ?)", -1, &in, NULL) !=
        SQLITE_OK)
        return ledger_store_failed(st, err);
    if (sqlite3_bind_blob(in, 1, peer->key, LEDGER_DIGEST_BYTES, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(in, 2, (sqlite3_int64)peer->seen) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    else
        s = ledger_store_finish(st, in, err);
    sqlite3_finalize(in);
    return s;
}

enum status ledger_peers_put(struct ledger_store *st, const struct ledger_peers *p,
                             struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < p->n && s == STATUS_OK; i++)
        s = p->peer[i].dirty ? put(st, &p->peer[i], err) : STATUS_OK;
    return s;
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
}

void ledger_peers_drop(struct ledger_peers *p, const uint8_t key[LEDGER_DIGEST_BYTES])
{
    struct ledger_peer *peer = find(p, key);

    if (peer != NULL)
        *peer = p->peer[--p->n];
}
