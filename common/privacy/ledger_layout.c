/* ledger_layout.c -- the tables, as SQLite keeps them in its schema.
 *
 * What a flipped bit must not change unnoticed stands twice: counts beside their sum, and what has
 * no sum in a table and in the index over all of its columns, which are compared at opening.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_layout.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

enum { TABLES_MAX = 8 };

struct table {
    const char *name, *sql;
};

#define RECORDS "CREATE TABLE records (slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT"
/* `releases` is the sum of the chunk's counts. */
#define COUNTS                                                                                     \
    "CREATE TABLE counts (mechanism INTEGER NOT NULL, purpose INTEGER NOT NULL, "                  \
    "chunk INTEGER NOT NULL, releases INTEGER NOT NULL, counts BLOB NOT NULL, "                    \
    "UNIQUE (mechanism, purpose, chunk)) STRICT"
#define MECHANISMS_1                                                                               \
    "CREATE TABLE mechanisms (mechanism INTEGER PRIMARY KEY, kind TEXT NOT NULL, "                 \
    "trials INTEGER NOT NULL, beta REAL NOT NULL, sigma REAL NOT NULL, "                           \
    "clip REAL NOT NULL, clear INTEGER NOT NULL, concat INTEGER NOT NULL, "                        \
    "coordinates INTEGER NOT NULL, parties INTEGER NOT NULL, "                                     \
    "colluders INTEGER NOT NULL, UNIQUE (kind, trials, beta, sigma, clip, clear, "                 \
    "concat, coordinates, parties, colluders)) STRICT"
#define MECHANISMS                                                                                 \
    "CREATE TABLE mechanisms (mechanism INTEGER PRIMARY KEY, kind TEXT NOT NULL, "                 \
    "trials INTEGER NOT NULL, beta REAL NOT NULL, sigma REAL NOT NULL, "                           \
    "clip REAL NOT NULL, clear INTEGER NOT NULL, concat INTEGER NOT NULL, "                        \
    "coordinates INTEGER NOT NULL, parties INTEGER NOT NULL, "                                     \
    "colluders INTEGER NOT NULL, bottom TEXT NOT NULL, step_noise REAL NOT NULL, "                 \
    "steps INTEGER NOT NULL, UNIQUE (kind, trials, beta, sigma, clip, clear, "                     \
    "concat, coordinates, parties, colluders, bottom, step_noise, steps)) STRICT"
/* Run 0: of what was before entries were kept, or is no longer told apart. */
#define RUNS                                                                                       \
    "CREATE TABLE runs (run INTEGER PRIMARY KEY, plan BLOB NOT NULL, data BLOB NOT NULL, "         \
    "UNIQUE (plan, data)) STRICT"
/* `number` is the last of the `numbers` that an entry takes; rounds and releases are negative where
 * they were given back; `entries` is more than one where as many became one. */
#define ENTRIES                                                                                    \
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, numbers INTEGER NOT NULL, "                 \
    "at INTEGER NOT NULL, run INTEGER NOT NULL, purpose INTEGER NOT NULL, "                        \
    "place INTEGER NOT NULL, rounds INTEGER NOT NULL, releases INTEGER NOT NULL, "                 \
    "mechanism INTEGER NOT NULL, entries INTEGER NOT NULL) STRICT"
#define PEERS                                                                                      \
    "CREATE TABLE peers (key BLOB NOT NULL, seen INTEGER NOT NULL, UNIQUE (key, seen)) STRICT"

static const struct table first[TABLES_MAX] = {
    {"records", RECORDS}, {"mechanisms", MECHANISMS_1}, {"counts", COUNTS}};
static const struct table present[TABLES_MAX] = {{"records", RECORDS}, {"mechanisms", MECHANISMS},
                                                 {"counts", COUNTS},   {"runs", RUNS},
                                                 {"entries", ENTRIES}, {"peers", PEERS}};

/* Ends a transaction of several statements. */
static enum status stamp(struct ledger_store *st, struct error *err)
{
    char sql[96];

    snprintf(sql, sizeof sql, "PRAGMA application_id=%s; PRAGMA user_version=%d; COMMIT",
             LEDGER_LAYOUT_APPLICATION, LEDGER_LAYOUT_VERSION);
    return ledger_store_run(st, sql, err);
}

#define RUN_0 "INSERT INTO runs (run, plan, data) VALUES (0, zeroblob(32), zeroblob(32))"

enum status ledger_layout_create(struct ledger_store *st, struct error *err)
{
    enum status s = ledger_store_run(st, "BEGIN EXCLUSIVE", err);

    for (size_t i = 0; present[i].name != NULL && s == STATUS_OK; i++)
        s = ledger_store_run(st, present[i].sql, err);
    if (s == STATUS_OK)
        s = ledger_store_run(st, RUN_0, err);
    return s == STATUS_OK ? stamp(st, err) : s;
}

enum status ledger_layout_examine(struct ledger_store *st, int version, struct error *err)
{
    const struct table *tables = version == LEDGER_LAYOUT_FIRST ? first : present;
    bool same;
    enum status s = ledger_store_answers(st, "PRAGMA integrity_check(1)", "ok", &same, err);

    if (s == STATUS_OK && !same)
        s = ledger_store_damaged(st, "its pages or indexes contradict each other", err);
    for (size_t i = 0; tables[i].name != NULL && s == STATUS_OK; i++) {
        char *query = sqlite3_mprintf("SELECT sql FROM sqlite_master WHERE type = 'table' AND "
                                      "name = %Q",
                                      tables[i].name);

        if (query == NULL)
            return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", st->path);
        s = ledger_store_answers(st, query, tables[i].sql, &same, err);
        sqlite3_free(query);
        if (s == STATUS_OK && !same)
            s = ledger_store_damaged(st, "its tables are not those of a ledger", err);
    }
    return s;
}

/* One entry, with one number, for all that a mechanism released for a purpose. */
static const char upgrade[] =
    "BEGIN EXCLUSIVE; "
    "ALTER TABLE mechanisms RENAME TO mechanisms_1; " MECHANISMS "; "
    "INSERT INTO mechanisms SELECT mechanism, kind, trials, beta, sigma, clip, clear, concat, "
    "coordinates, parties, colluders, 'raw', 0.0, 0 FROM mechanisms_1 ORDER BY mechanism; "
    "DROP TABLE mechanisms_1; " RUNS "; " RUN_0 "; " ENTRIES "; "
    "INSERT INTO entries SELECT row_number() OVER (ORDER BY mechanism, purpose), 1, 0, 0, "
    "purpose, 0, 1, sum(releases), mechanism, 1 FROM counts GROUP BY mechanism, purpose "
    "HAVING sum(releases) > 0; " PEERS;

enum status ledger_layout_upgrade(struct ledger_store *st, struct error *err)
{
    enum status s = ledger_store_run(st, upgrade, err);

    if (s == STATUS_OK)
        s = stamp(st, err);
    if (s != STATUS_OK)
        ledger_store_rollback(st);
    return s;
}
