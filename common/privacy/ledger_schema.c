/* ledger_schema.c -- the schema, byte for byte, and a connection that runs nothing a file asks for.
 *
 * application_id says whose file it is, user_version which layout.  A file is looked at before
 * anything is written to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_schema.h"

#include "common/privacy/ledger_store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define APPLICATION "1129270343" /* "COLG" */
enum { LAYOUT = 4, LAYOUT_FIRST = 1 };

static const struct {
    const char *name, *sql;
} tables[] = {
    {"log", "CREATE TABLE log (serial INTEGER PRIMARY KEY, text TEXT NOT NULL, "
            "bytes BLOB NOT NULL, mac BLOB NOT NULL) STRICT"},
    {"head", "CREATE TABLE head (one INTEGER PRIMARY KEY, serial INTEGER NOT NULL, "
             "number INTEGER NOT NULL, mac BLOB NOT NULL) STRICT"},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* SQLite quotes what it has read: printable ASCII of it, '?' for the rest. */
static void plain_words(char out[ERROR_TEXT_MAX], const char *text)
{
    size_t n = strnlen(text, ERROR_TEXT_MAX - 1);

    for (size_t i = 0; i < n; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    out[n] = 0;
}

enum status ledger_schema_failed(struct sqlite3 *db, const char *path, struct error *err)
{
    int code = sqlite3_errcode(db);
    char text[ERROR_TEXT_MAX];

    plain_words(text, sqlite3_errmsg(db));
    switch (code & 0xff) {
    case SQLITE_NOMEM: return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, STATUS_IO, "ledger %s: in use by another process", path);
    case SQLITE_NOTADB:
        return error_set(err, STATUS_IO, "ledger %s: not a ledger, or damaged", path);
    case SQLITE_CORRUPT: return error_set(err, STATUS_IO, "ledger %s: damaged: %s", path, text);
    case SQLITE_FULL: return error_set(err, STATUS_IO, "ledger %s: the disk is full", path);
    default:
        return error_set(err, STATUS_IO, "ledger %s: %s (SQLite %d)", path, text,
                         sqlite3_extended_errcode(db));
    }
}

static enum status run_sql(sqlite3 *db, const char *path, const char *sql, struct error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? STATUS_OK
               : ledger_schema_failed(db, path, err);
}

/* The first value of a query's first row, as text. */
static enum status ask_text(sqlite3 *db, const char *path, const char *sql, char out[64],
                            struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;

    out[0] = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
        return ledger_schema_failed(db, path, err);
    if (sqlite3_step(query) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(query, 0);

        snprintf(out, 64, "%s", text == NULL ? "" : text);
    } else {
        s = ledger_schema_failed(db, path, err);
    }
    sqlite3_finalize(query);
    return s;
}

/* Triggers and views of a file never run, its schema calls no function, and nothing of it can be
 * changed by the side door. */
static enum status make_safe(sqlite3 *db, const char *path, struct error *err)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},  {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},         {SQLITE_DBCONFIG_DQS_DDL, 0},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (sqlite3_db_config(db, options[i].option, options[i].value, NULL) != SQLITE_OK)
            return ledger_schema_failed(db, path, err);
    }
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LEDGER_RECORD_BYTES_MAX + 4096);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    /* locking_mode before the first access in WAL mode: the lock is then never let go, and there is
     * no shared memory file.  The kernel drops it when the process dies. */
    return run_sql(db, path,
                   "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; "
                   "PRAGMA cell_size_check=ON",
                   err);
}

/* Ours and of this layout, or so new that it holds nothing?  Nothing is written before this. */
static enum status identify_program(sqlite3 *db, const char *path, bool *empty, struct error *err)
{
    char id[64], objects[64], version[64];
    enum status s = ask_text(db, path, "PRAGMA application_id", id, err);
    int layout = 0;

    if (s == STATUS_OK)
        s = ask_text(db, path, "SELECT count(*) FROM sqlite_schema", objects, err);
    if (s == STATUS_OK)
        s = ask_text(db, path, "PRAGMA user_version", version, err);
    if (s != STATUS_OK)
        return s;
    *empty = strcmp(id, APPLICATION) != 0 && strcmp(objects, "0") == 0;
    if (*empty)
        return STATUS_OK;
    if (strcmp(id, APPLICATION) != 0)
        return error_set(err, STATUS_IO, "ledger %s: an SQLite file, but not a ledger", path);
    sscanf(version, "%d", &layout);
    if (layout > LAYOUT)
        return error_set(err, STATUS_IO,
                         "ledger %s: written by a later version of this program (layout %d, this "
                         "one knows %d)",
                         path, layout, LAYOUT);
    if (layout >= LAYOUT_FIRST && layout < LAYOUT)
        return error_set(err, STATUS_IO,
                         "ledger %s: written by an earlier version of this program, which alone "
                         "reads it: move it away to begin another, and lower policy.max_epsilon "
                         "and policy.max_releases by what it says was spent",
                         path);
    if (layout != LAYOUT)
        return error_set(err, STATUS_IO, "ledger %s: damaged: no version of its layout", path);
    return STATUS_OK;
}

static enum status create_tables(sqlite3 *db, const char *path, struct error *err)
{
    char stamp[96];
    enum status s = run_sql(db, path, "BEGIN EXCLUSIVE", err);

    for (size_t i = 0; i < TABLES && s == STATUS_OK; i++)
        s = run_sql(db, path, tables[i].sql, err);
    if (s == STATUS_OK)
        s = run_sql(db, path, "INSERT INTO head VALUES (1, 0, 0, zeroblob(32))", err);
    snprintf(stamp, sizeof stamp, "PRAGMA application_id=%s; PRAGMA user_version=%d", APPLICATION,
             LAYOUT);
    return s == STATUS_OK ? run_sql(db, path, stamp, err) : s;
}

/* Columns type, name, tbl_name, sql: of a table that should be there? */
static bool is_table(sqlite3_stmt *row, size_t i)
{
    const char *want[] = {"table", tables[i].name, tables[i].name, tables[i].sql};

    for (int c = 0; c < 4; c++) {
        const char *text = (const char *)sqlite3_column_text(row, c);

        if (text == NULL || strcmp(text, want[c]) != 0)
            return false;
    }
    return true;
}

/* Every row of the schema, in the order in which they were made: an index, a trigger or a view is
 * one too many. */
static enum status compare_tables(sqlite3 *db, const char *path, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    size_t n = 0;
    bool ours = true;
    int step;

    if (sqlite3_prepare_v2(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid",
                           -1, &query, NULL) != SQLITE_OK)
        return ledger_schema_failed(db, path, err);
    while (ours && (step = sqlite3_step(query)) == SQLITE_ROW) {
        ours = n < TABLES && is_table(query, n);
        n++;
    }
    if (ours && step != SQLITE_DONE)
        s = ledger_schema_failed(db, path, err);
    sqlite3_finalize(query);
    if (s == STATUS_OK && (!ours || n != TABLES))
        s = error_set(err, STATUS_IO,
                      "ledger %s: damaged: it holds something else than a ledger's two tables",
                      path);
    return s;
}

static enum status examine_schema(sqlite3 *db, const char *path, struct error *err)
{
    char said[64];
    enum status s = compare_tables(db, path, err);

    if (s == STATUS_OK)
        s = ask_text(db, path, "PRAGMA quick_check(1)", said, err);
    if (s == STATUS_OK && strcmp(said, "ok") != 0)
        s = error_set(err, STATUS_IO, "ledger %s: damaged: its pages contradict each other", path);
    return s;
}

enum status ledger_schema_open(struct sqlite3 *db, const char *path, bool *fresh, struct error *err)
{
    const char *mode = strcmp(path, ":memory:") == 0 ? "memory" : "wal";
    char said[64];
    enum status s = make_safe(db, path, err);

    if (s == STATUS_OK)
        s = identify_program(db, path, fresh, err);
    if (s == STATUS_OK && !*fresh)
        s = compare_tables(db, path, err); /* before anything else is read or written */
    if (s == STATUS_OK)
        s = ask_text(db, path, "PRAGMA journal_mode=WAL", said, err);
    if (s == STATUS_OK && strcmp(said, mode) != 0)
        s = error_set(err, STATUS_IO, "ledger %s: cannot be switched to a write-ahead log", path);
    if (s == STATUS_OK)
        s = run_sql(db, path, "PRAGMA synchronous=FULL; BEGIN EXCLUSIVE; COMMIT", err);
    if (s == STATUS_OK && *fresh)
        s = create_tables(db, path, err);
    return s == STATUS_OK ? examine_schema(db, path, err) : s;
}
