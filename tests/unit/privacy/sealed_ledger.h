/* sealed_ledger.h -- a ledger's file as somebody with another tool and, if it is said so, with the
 * key would change it.  Chain and head are worked out here anew, from the words of ledger_store.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_PRIVACY_SEALED_LEDGER_H
#define COLONNADE_TESTS_PRIVACY_SEALED_LEDGER_H

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/crypto/kex.h"
#include "common/privacy/ledger.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Runs SQL without the key.  False: SQLite would not. */
static inline bool sealed_try(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    bool well = sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

    if (!well)
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
    return well;
}

static inline void sealed_run(const char *path, const char *sql)
{
    CHECK(sealed_try(path, sql));
}

static inline uint64_t sealed_number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL;
    uint64_t n;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, sql, -1, &get, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(get) == SQLITE_ROW);
    n = (uint64_t)sqlite3_column_int64(get, 0);
    sqlite3_finalize(get);
    sqlite3_close(db);
    return n;
}

static inline void sealed_record(sqlite3_stmt *row, sqlite3_stmt *put, const uint8_t chain[32],
                                 uint8_t mac[32])
{
    const int text_n = sqlite3_column_bytes(row, 1), bytes_n = sqlite3_column_bytes(row, 2);
    const void *text = sqlite3_column_blob(row, 1), *bytes = sqlite3_column_blob(row, 2);
    uint8_t said[32 + 8 + 32 + 32];

    memcpy(said, mac, 32);
    le_put(said + 32, (uint64_t)sqlite3_column_int64(row, 0), 8);
    digest_sha256(said + 40, text == NULL ? "" : text, (size_t)text_n);
    digest_sha256(said + 72, bytes == NULL ? "" : bytes, (size_t)bytes_n);
    CHECK(digest_hmac(mac, chain, 32, said, sizeof said) == STATUS_OK);
    CHECK(sqlite3_bind_blob(put, 1, mac, 32, SQLITE_STATIC) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(put, 2, sqlite3_column_int64(row, 0)) == SQLITE_OK);
    CHECK(sqlite3_step(put) == SQLITE_DONE && sqlite3_reset(put) == SQLITE_OK);
}

/* Seals what is there, whatever it is, under `key`; the head says `number`. */
static inline void sealed_anew(const char *path, const uint8_t key[32], uint64_t number)
{
    static const char label[] = "vfl/ledger/1 chain";
    uint8_t chain[32], mac[32] = {0}, said[4 + 8 + 8 + 32] = "head";
    sqlite3_stmt *row = NULL, *put = NULL, *head = NULL;
    sqlite3_int64 serial = 0;
    sqlite3 *db = NULL;

    CHECK(kex_hkdf(chain, 32, key, 32, NULL, 0, label, sizeof label - 1) == STATUS_OK);
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT serial, text, bytes FROM log ORDER BY serial", -1, &row,
                             NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "UPDATE log SET mac = ? WHERE serial = ?", -1, &put, NULL) ==
          SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        serial = sqlite3_column_int64(row, 0);
        sealed_record(row, put, chain, mac);
    }
    le_put(said + 4, (uint64_t)serial, 8);
    le_put(said + 12, number, 8);
    memcpy(said + 20, mac, 32);
    CHECK(digest_hmac(mac, chain, 32, said, sizeof said) == STATUS_OK);
    CHECK(sqlite3_prepare_v2(db, "UPDATE head SET serial = ?, number = ?, mac = ?", -1, &head,
                             NULL) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(head, 1, serial) == SQLITE_OK);
    CHECK(sqlite3_bind_int64(head, 2, (sqlite3_int64)number) == SQLITE_OK);
    CHECK(sqlite3_bind_blob(head, 3, mac, 32, SQLITE_STATIC) == SQLITE_OK);
    CHECK(sqlite3_step(head) == SQLITE_DONE);
    sqlite3_finalize(row);
    sqlite3_finalize(put);
    sqlite3_finalize(head);
    CHECK(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

#endif
