/* old_ledger.h -- ledgers of the first version, made by hand as that version made them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_PRIVACY_OLD_LEDGER_H
#define COLONNADE_TESTS_PRIVACY_OLD_LEDGER_H

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* OLD_ROWS records, "r0", "r1", ...: all trained on once by one mechanism, the first ten evaluated
 * as well; and record r20 trained on by another one. */
enum { OLD_ROWS = 1200, OLD_TRAIN = OLD_ROWS + 1, OLD_EVALUATE = 10 };

#define OLD_TABLES                                                                                 \
    "PRAGMA journal_mode=WAL; BEGIN; "                                                             \
    "CREATE TABLE records (slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT; "            \
    "CREATE TABLE mechanisms (mechanism INTEGER PRIMARY KEY, kind TEXT NOT NULL, "                 \
    "trials INTEGER NOT NULL, beta REAL NOT NULL, sigma REAL NOT NULL, "                           \
    "clip REAL NOT NULL, clear INTEGER NOT NULL, concat INTEGER NOT NULL, "                        \
    "coordinates INTEGER NOT NULL, parties INTEGER NOT NULL, "                                     \
    "colluders INTEGER NOT NULL, UNIQUE (kind, trials, beta, sigma, clip, clear, "                 \
    "concat, coordinates, parties, colluders)) STRICT; "                                           \
    "CREATE TABLE counts (mechanism INTEGER NOT NULL, purpose INTEGER NOT NULL, "                  \
    "chunk INTEGER NOT NULL, releases INTEGER NOT NULL, counts BLOB NOT NULL, "                    \
    "UNIQUE (mechanism, purpose, chunk)) STRICT; "                                                 \
    "PRAGMA application_id=1129270343; PRAGMA user_version=1; COMMIT"

static inline void old_run(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* A chunk of 1000 counts, of which those from `first` on, `n` of them, are 1. */
static inline void old_chunk(const char *path, int mechanism, int purpose, int chunk, int first,
                             int n)
{
    uint8_t counts[4000] = {0};
    sqlite3 *db = NULL;
    sqlite3_stmt *put = NULL;

    for (int i = first; i < first + n; i++)
        counts[4 * i] = 1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO counts VALUES (?, ?, ?, ?, ?)", -1, &put, NULL),
        SQLITE_OK);
    sqlite3_bind_int(put, 1, mechanism);
    sqlite3_bind_int(put, 2, purpose);
    sqlite3_bind_int(put, 3, chunk);
    sqlite3_bind_int(put, 4, n);
    sqlite3_bind_blob(put, 5, counts, sizeof counts, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(put), SQLITE_DONE);
    sqlite3_finalize(put);
    sqlite3_close(db);
}

static inline const char *old_ledger(const char *name)
{
    const char *path = scratch_path(name);

    old_run(path, OLD_TABLES);
    old_run(path, "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 1199) "
                  "INSERT INTO records SELECT i, 'r' || i FROM k");
    old_run(path, "INSERT INTO mechanisms VALUES (0, 'pbm', 16, 0.1, 0, 0, 0, 0, 16, 5, 1), "
                  "(1, 'gaussian', 0, 0, 2.5, 1, 1, 0, 16, 5, 2)");
    old_chunk(path, 0, 0, 0, 0, 1000);
    old_chunk(path, 0, 0, 1, 0, 200);
    old_chunk(path, 0, 1, 0, 0, 10);
    old_chunk(path, 1, 0, 0, 20, 1);
    return path;
}

#endif
