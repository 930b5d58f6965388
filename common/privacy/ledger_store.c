/* ledger_store.c -- opening, holding, checking and writing the ledger's file.
 *
 * application_id says whose file it is, user_version which layout.  A file is looked at before
 * anything is written to it, so somebody else's database is refused untouched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_store.h"

#include "common/base/mem.h"
#include "common/privacy/ledger_layout.h"
#include "common/privacy/ledger_load.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum status ledger_store_damaged(const struct ledger_store *st, const char *what, struct error *err)
{
    return error_set(err, STATUS_IO, "ledger %s: damaged: %s", st->path, what);
}

/* SQLite quotes what it has read: printable ASCII of it, '?' for the rest. */
static void plain_words(char out[ERROR_TEXT_MAX], const char *text)
{
    size_t n = strnlen(text, ERROR_TEXT_MAX - 1);

    for (size_t i = 0; i < n; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    out[n] = 0;
}

enum status ledger_store_failed(const struct ledger_store *st, struct error *err)
{
    int code = sqlite3_errcode(st->db);
    char text[ERROR_TEXT_MAX];

    plain_words(text, sqlite3_errmsg(st->db));
    switch (code & 0xff) {
    case SQLITE_NOMEM: return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", st->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, STATUS_IO, "ledger %s: in use by another process", st->path);
    case SQLITE_NOTADB:
        return error_set(err, STATUS_IO, "ledger %s: not a ledger, or damaged", st->path);
    case SQLITE_CORRUPT: return ledger_store_damaged(st, text, err);
    case SQLITE_FULL: return error_set(err, STATUS_IO, "ledger %s: the disk is full", st->path);
    default:
        return error_set(err, STATUS_IO, "ledger %s: %s (SQLite %d)", st->path, text,
                         sqlite3_extended_errcode(st->db));
    }
}

enum status ledger_store_run(struct ledger_store *st, const char *sql, struct error *err)
{
    if (sqlite3_exec(st->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    return STATUS_OK;
}

enum status ledger_store_answers(struct ledger_store *st, const char *sql, const char *expected,
                                 bool *yes, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    int step;

    *yes = false;
    if (sqlite3_prepare_v2(st->db, sql, -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    step = sqlite3_step(query);
    if (step == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(query, 0);

        *yes = text != NULL && strcmp(text, expected) == 0;
    } else if (step != SQLITE_DONE) {
        s = ledger_store_failed(st, err);
    }
    sqlite3_finalize(query);
    return s;
}

/* The first value of the query's first row. */
static enum status number_of(struct ledger_store *st, const char *sql, int *number,
                             struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;

    if (sqlite3_prepare_v2(st->db, sql, -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    if (sqlite3_step(query) == SQLITE_ROW)
        *number = sqlite3_column_int(query, 0);
    else
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    return s;
}

/* Ours, and of which version, or so new that it holds nothing (version 0)?  Nothing is written
 * before this has said yes. */
static enum status identify(struct ledger_store *st, int *version, struct error *err)
{
    bool ours, none;
    enum status s;

    *version = 0;
    if ((s = ledger_store_answers(st, "PRAGMA application_id", LEDGER_LAYOUT_APPLICATION, &ours,
                                  err)) != STATUS_OK ||
        (s = ledger_store_answers(st, "SELECT count(*) FROM sqlite_master", "0", &none, err)) !=
            STATUS_OK)
        return s;
    if (!ours && !none)
        return error_set(err, STATUS_IO, "ledger %s: an SQLite file, but not a ledger", st->path);
    if (!ours)
        return STATUS_OK;
    s = number_of(st, "PRAGMA user_version", version, err);
    if (s == STATUS_OK && *version > LEDGER_LAYOUT_VERSION)
        return error_set(err, STATUS_IO,
                         "ledger %s: written by a later version of this program (layout %d, this "
                         "one knows %d)",
                         st->path, *version, LEDGER_LAYOUT_VERSION);
    if (s == STATUS_OK && *version < LEDGER_LAYOUT_FIRST)
        s = ledger_store_damaged(st, "no version of its layout", err);
    return s;
}

/* The directory entry belongs to its owner alone; SQLite's own files take over the mode. */
static enum status make_private(struct ledger_store *st, struct error *err)
{
    int fd = open(st->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set(err, STATUS_IO, "ledger %s: %s", st->path, strerror(errno));
    close(fd);
    return STATUS_OK;
}

/* locking_mode before the first access in WAL mode: the lock is then never let go, and there is no
 * shared memory file.  The kernel drops it when the process dies. */
static enum status configure(struct ledger_store *st, int *version, struct error *err)
{
    bool in_memory = strcmp(st->path, ":memory:") == 0, wal;
    enum status s;

    if ((s = ledger_store_run(st, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF",
                              err)) != STATUS_OK ||
        (s = identify(st, version, err)) != STATUS_OK ||
        (s = ledger_store_answers(st, "PRAGMA journal_mode=WAL", in_memory ? "memory" : "wal", &wal,
                                  err)) != STATUS_OK)
        return s;
    if (!wal)
        return error_set(err, STATUS_IO, "ledger %s: cannot be switched to a write-ahead log",
                         st->path);
    return ledger_store_run(st, "PRAGMA synchronous=FULL; BEGIN EXCLUSIVE; COMMIT", err);
}

/* What is damaged is left as it was. */
static enum status upgrade(struct ledger_store *st, struct error *err)
{
    enum status s = ledger_layout_examine(st, LEDGER_LAYOUT_FIRST, err);

    return s == STATUS_OK ? ledger_layout_upgrade(st, err) : s;
}

static enum status prepare(struct ledger_store *st, struct error *err)
{
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } list[] = {
        {&st->begin, "BEGIN"},
        {&st->commit, "COMMIT"},
        {&st->find, "SELECT slot FROM records WHERE id = ?"},
        {&st->add, "INSERT INTO records (id, slot) VALUES (?, ?)"},
        {&st->put, "INSERT INTO counts (mechanism, purpose, chunk, releases, counts) "
                   "VALUES (?, ?, ?, ?, ?) ON CONFLICT (mechanism, purpose, chunk) "
                   "DO UPDATE SET releases = excluded.releases, counts = excluded.counts"},
        {&st->enter, "INSERT INTO entries (number, numbers, at, run, purpose, place, rounds, "
                     "releases, mechanism, entries) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (sqlite3_prepare_v3(st->db, list[i].sql, -1, SQLITE_PREPARE_PERSISTENT, list[i].stmt,
                               NULL) != SQLITE_OK)
            return ledger_store_failed(st, err);
    return STATUS_OK;
}

enum status ledger_store_open(struct ledger_store *st, const char *path, struct error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int version = 0;
    enum status s = STATUS_OK;

    *st = (struct ledger_store){.path = mem_strdup(path)};
    if (st->path == NULL)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", path);
    if (strcmp(path, ":memory:") != 0)
        s = make_private(st, err);
    if (s == STATUS_OK && sqlite3_open_v2(path, &st->db, flags, NULL) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    if (s == STATUS_OK)
        s = configure(st, &version, err);
    if (s == STATUS_OK && version == 0)
        s = ledger_layout_create(st, err);
    if (s == STATUS_OK && version == LEDGER_LAYOUT_FIRST)
        s = upgrade(st, err);
    if (s == STATUS_OK)
        s = ledger_layout_examine(st, LEDGER_LAYOUT_VERSION, err);
    if (s == STATUS_OK)
        s = prepare(st, err);
    if (s != STATUS_OK)
        ledger_store_close(st);
    return s;
}

void ledger_store_close(struct ledger_store *st)
{
    sqlite3_finalize(st->begin);
    sqlite3_finalize(st->commit);
    sqlite3_finalize(st->find);
    sqlite3_finalize(st->add);
    sqlite3_finalize(st->put);
    sqlite3_finalize(st->enter);
    sqlite3_close(st->db);
    mem_free(st->path);
    *st = (struct ledger_store){0};
}

enum status ledger_store_finish(struct ledger_store *st, struct sqlite3_stmt *stmt,
                                struct error *err)
{
    enum status s = STATUS_OK;

    if (sqlite3_step(stmt) != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return s;
}

enum status ledger_store_begin(struct ledger_store *st, struct error *err)
{
    return ledger_store_finish(st, st->begin, err);
}

enum status ledger_store_commit(struct ledger_store *st, struct error *err)
{
    enum status s = ledger_store_finish(st, st->commit, err);

    if (s != STATUS_OK)
        ledger_store_rollback(st);
    return s;
}

/* Some failures have rolled back by themselves; then there is nothing left to do. */
void ledger_store_rollback(struct ledger_store *st)
{
    if (sqlite3_get_autocommit(st->db) == 0)
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum status bind_id(struct ledger_store *st, sqlite3_stmt *stmt, const char *id,
                           struct error *err)
{
    size_t n = strlen(id);

    if (n > INT_MAX || sqlite3_bind_text(stmt, 1, id, (int)n, SQLITE_STATIC) != SQLITE_OK)
        return ledger_store_failed(st, err);
    return STATUS_OK;
}

enum status ledger_store_find(struct ledger_store *st, const char *id, uint32_t *slot,
                              struct error *err)
{
    enum status s = bind_id(st, st->find, id, err);
    int step;

    *slot = UINT32_MAX;
    if (s != STATUS_OK)
        return s;
    step = sqlite3_step(st->find);
    if (step == SQLITE_ROW)
        *slot = (uint32_t)sqlite3_column_int64(st->find, 0);
    else if (step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_reset(st->find);
    sqlite3_clear_bindings(st->find);
    return s;
}

enum status ledger_store_add(struct ledger_store *st, const char *id, uint32_t slot,
                             struct error *err)
{
    enum status s = bind_id(st, st->add, id, err);

    if (s == STATUS_OK && sqlite3_bind_int64(st->add, 2, slot) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    return s == STATUS_OK ? ledger_store_finish(st, st->add, err) : s;
}

enum status ledger_store_add_mechanism(struct ledger_store *st, size_t number,
                                       const struct account_entry *m, struct error *err)
{
    sqlite3_stmt *add = NULL;
    enum status s;

    if (sqlite3_prepare_v2(st->db,
                           "INSERT INTO mechanisms (mechanism, kind, trials, beta, sigma, clip, "
                           "clear, concat, coordinates, parties, colluders, bottom, "
                           "step_noise, steps) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           -1, &add, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    if (sqlite3_bind_int64(add, 1, (sqlite3_int64)number) != SQLITE_OK ||
        sqlite3_bind_text(add, 2, ledger_load_kind_name(m->kind), -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(add, 3, m->trials) != SQLITE_OK ||
        sqlite3_bind_double(add, 4, m->beta) != SQLITE_OK ||
        sqlite3_bind_double(add, 5, m->sigma) != SQLITE_OK ||
        sqlite3_bind_double(add, 6, m->clip) != SQLITE_OK ||
        sqlite3_bind_int(add, 7, m->clear) != SQLITE_OK ||
        sqlite3_bind_int(add, 8, m->concat) != SQLITE_OK ||
        sqlite3_bind_int64(add, 9, m->coordinates) != SQLITE_OK ||
        sqlite3_bind_int64(add, 10, m->parties) != SQLITE_OK ||
        sqlite3_bind_int64(add, 11, m->colluders) != SQLITE_OK ||
        sqlite3_bind_text(add, 12, ledger_load_bottom_name(m->bottom), -1, SQLITE_STATIC) !=
            SQLITE_OK ||
        sqlite3_bind_double(add, 13, m->step_noise) != SQLITE_OK ||
        sqlite3_bind_int64(add, 14, m->steps) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    else
        s = ledger_store_finish(st, add, err);
    sqlite3_finalize(add);
    return s;
}

static enum status put_chunk(struct ledger_store *st, struct ledger_column column, size_t index,
                             const struct ledger_chunk *chunk, struct error *err)
{
    uint32_t stored[LEDGER_CHUNK];
    uint64_t sum = 0;
    enum status s;

    for (size_t i = 0; i < LEDGER_CHUNK; i++) {
        stored[i] = htole32(chunk->count[i]);
        sum += chunk->count[i];
    }
    if (sqlite3_bind_int64(st->put, 1, (sqlite3_int64)column.mechanism) != SQLITE_OK ||
        sqlite3_bind_int64(st->put, 2, column.purpose) != SQLITE_OK ||
        sqlite3_bind_int64(st->put, 3, (sqlite3_int64)index) != SQLITE_OK ||
        sqlite3_bind_int64(st->put, 4, (sqlite3_int64)sum) != SQLITE_OK ||
        sqlite3_bind_blob(st->put, 5, stored, sizeof stored, SQLITE_STATIC) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    else
        s = ledger_store_finish(st, st->put, err);
    return s;
}

enum status ledger_store_put(struct ledger_store *st, struct ledger_counts *counts,
                             struct ledger_column column, struct error *err)
{
    for (size_t i = 0; i < counts->chunks; i++) {
        const struct ledger_chunk *chunk = ledger_counts_chunk(counts, column, i, false);

        if (chunk != NULL && chunk->dirty) {
            enum status s = put_chunk(st, column, i, chunk, err);

            if (s != STATUS_OK)
                return s;
        }
    }
    return STATUS_OK;
}
