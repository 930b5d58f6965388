/* ledger_store.c -- the log of records and its head.
 *
 * What the log says is proven by MACs; what SQLite itself does with the file is kept harmless by
 * the checks of ledger_schema.c before any row is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_store.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/kex.h"
#include "common/crypto/secret.h"
#include "common/privacy/ledger_file.h"
#include "common/privacy/ledger_schema.h"
#include "common/privacy/ledger_words.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char CHAIN[] = "vfl/ledger/1 chain";

enum status ledger_store_damaged(const struct ledger_store *st, const char *what, struct error *err)
{
    return error_set(err, STATUS_IO, "ledger %s: damaged: %s", st->path, what);
}

enum status ledger_store_status(const struct ledger_store *st, enum status s, struct error *err)
{
    return error_set(err, s, "ledger %s: %s", st->path, status_words(s));
}

static enum status failed(const struct ledger_store *st, struct error *err)
{
    return ledger_schema_failed(st->db, st->path, err);
}

/* --- opening --- */

static enum status prepare_statements(struct ledger_store *st, struct error *err)
{
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } list[] = {
        {&st->begin, "BEGIN"},
        {&st->commit, "COMMIT"},
        {&st->append, "INSERT INTO log (serial, text, bytes, mac) VALUES (?, ?, ?, ?)"},
        {&st->head, "UPDATE head SET serial = ?, number = ?, mac = ? WHERE one = 1"},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (sqlite3_prepare_v3(st->db, list[i].sql, -1, SQLITE_PREPARE_PERSISTENT, list[i].stmt,
                               NULL) != SQLITE_OK)
            return failed(st, err);
    return STATUS_OK;
}

static enum status derive(struct ledger_store *st, const uint8_t key[LEDGER_KEY_BYTES],
                          struct error *err)
{
    uint8_t chain[DIGEST_BYTES];
    enum status s =
        kex_hkdf(chain, sizeof chain, key, LEDGER_KEY_BYTES, NULL, 0, CHAIN, sizeof CHAIN - 1);

    if (s == STATUS_OK)
        s = digest_mac_init(&st->chain, chain, sizeof chain);
    secret_wipe(chain, sizeof chain);
    return s == STATUS_OK ? s : ledger_store_status(st, s, err);
}

enum status ledger_store_open(struct ledger_store *st, const char *path,
                              const uint8_t key[LEDGER_KEY_BYTES], struct error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    const bool in_memory = strcmp(path, ":memory:") == 0;
    char real[PATH_MAX] = ":memory:";
    enum status s;

    *st = (struct ledger_store){.path = mem_strdup(path)};
    if (st->path == NULL)
        return error_set(err, STATUS_MEMORY, "ledger %s: out of memory", path);
    s = derive(st, key, err);
    if (s == STATUS_OK && !in_memory)
        s = ledger_file_claim(path, real, err);
    if (s == STATUS_OK && sqlite3_open_v2(real, &st->db, flags, NULL) != SQLITE_OK)
        s = failed(st, err);
    if (s == STATUS_OK)
        s = ledger_schema_open(st->db, st->path, &st->fresh, err);
    if (s == STATUS_OK && !in_memory)
        s = ledger_file_unbegun(path, st->fresh, err);
    if (s == STATUS_OK)
        s = prepare_statements(st, err);
    if (s != STATUS_OK)
        ledger_store_close(st);
    return s;
}

void ledger_store_close(struct ledger_store *st)
{
    sqlite3_finalize(st->begin);
    sqlite3_finalize(st->commit);
    sqlite3_finalize(st->append);
    sqlite3_finalize(st->head);
    sqlite3_close(st->db);
    digest_mac_deinit(&st->chain);
    mem_free(st->path);
    *st = (struct ledger_store){0};
}

/* --- MACs --- */

enum { NUMBER_BYTES = 8, HEAD_TAG_BYTES = 4 };

static enum status record_mac(struct ledger_store *st, const struct ledger_end *before,
                              uint64_t serial, const struct ledger_record *r,
                              uint8_t mac[DIGEST_BYTES])
{
    uint8_t said[3 * DIGEST_BYTES + NUMBER_BYTES], *to = said;

    memcpy(to, before->mac, DIGEST_BYTES);
    to = le_put(to + DIGEST_BYTES, serial, NUMBER_BYTES);
    digest_sha256(to, r->text, strlen(r->text));
    digest_sha256(to + DIGEST_BYTES, r->n > 0 ? r->bytes : (const uint8_t *)"", r->n);
    return digest_mac_of(&st->chain, mac, said, sizeof said);
}

static enum status head_mac(struct ledger_store *st, const struct ledger_end *end, uint64_t number,
                            uint8_t mac[DIGEST_BYTES])
{
    uint8_t said[HEAD_TAG_BYTES + 2 * NUMBER_BYTES + DIGEST_BYTES] = "head";
    uint8_t *to = le_put(said + HEAD_TAG_BYTES, end->serial, NUMBER_BYTES);

    memcpy(le_put(to, number, NUMBER_BYTES), end->mac, DIGEST_BYTES);
    return digest_mac_of(&st->chain, mac, said, sizeof said);
}

/* --- reading --- */

static bool is_blob(sqlite3_stmt *row, int column, int bytes)
{
    return sqlite3_column_type(row, column) == SQLITE_BLOB &&
           sqlite3_column_bytes(row, column) == bytes;
}

/* Columns serial, text, bytes, mac. */
static enum status take_record(struct ledger_store *st, sqlite3_stmt *row,
                               struct ledger_record *out, struct error *err)
{
    const int64_t serial = sqlite3_column_int64(row, 0);
    uint8_t mac[DIGEST_BYTES];
    enum status s;

    if (sqlite3_column_type(row, 1) != SQLITE_TEXT || sqlite3_column_type(row, 2) != SQLITE_BLOB ||
        !is_blob(row, 3, DIGEST_BYTES) || sqlite3_column_bytes(row, 1) >= LEDGER_TEXT_MAX ||
        serial < 1 || (st->last.serial > 0 && (uint64_t)serial != st->last.serial + 1))
        return ledger_store_damaged(st, "records do not follow each other", err);
    *out = (struct ledger_record){.text = (const char *)sqlite3_column_text(row, 1),
                                  .bytes = sqlite3_column_blob(row, 2),
                                  .n = (size_t)sqlite3_column_bytes(row, 2)};
    if (out->n == 0) /* SQLite has no pointer to nothing */
        out->bytes = (const uint8_t *)"";
    if (out->text == NULL || out->bytes == NULL)
        return ledger_store_status(st, STATUS_MEMORY, err);
    s = record_mac(st, &st->last, (uint64_t)serial, out, mac);
    if (s != STATUS_OK)
        return ledger_store_status(st, s, err);
    /* A text has no 0 within, or what is behind it would not count. */
    if (strlen(out->text) != (size_t)sqlite3_column_bytes(row, 1) ||
        !secret_equal(mac, sqlite3_column_blob(row, 3), sizeof mac)) {
        if (st->last.serial == 0)
            return error_set(err, STATUS_IO,
                             "ledger %s: damaged, or not made with this key (state_key, or "
                             "ledger.key where there was none)",
                             st->path);
        return ledger_store_damaged(st, "a record is not what was written", err);
    }
    st->last.serial = (uint64_t)serial;
    memcpy(st->last.mac, mac, sizeof mac);
    return STATUS_OK;
}

/* Columns one, serial, number, mac. */
static enum status check_head(struct ledger_store *st, sqlite3_stmt *row, uint64_t number,
                              struct error *err)
{
    uint8_t mac[DIGEST_BYTES];
    enum status s = head_mac(st, &st->last, number, mac);

    if (s != STATUS_OK)
        return ledger_store_status(st, s, err);
    if (sqlite3_column_int64(row, 0) != 1 || !is_blob(row, 3, DIGEST_BYTES) ||
        (uint64_t)sqlite3_column_int64(row, 1) != st->last.serial ||
        (uint64_t)sqlite3_column_int64(row, 2) != number ||
        !secret_equal(mac, sqlite3_column_blob(row, 3), sizeof mac))
        return ledger_store_damaged(st, "its head is not that of its last record", err);
    return STATUS_OK;
}

static enum status read_log(struct ledger_store *st, const struct ledger_reader *reader,
                            struct error *err)
{
    sqlite3_stmt *query = NULL;
    struct ledger_record r;
    enum status s = STATUS_OK;
    int step;

    if (sqlite3_prepare_v2(st->db, "SELECT serial, text, bytes, mac FROM log ORDER BY serial", -1,
                           &query, NULL) != SQLITE_OK)
        return failed(st, err);
    while (s == STATUS_OK && (step = sqlite3_step(query)) != SQLITE_DONE) {
        s = step == SQLITE_ROW ? take_record(st, query, &r, err) : failed(st, err);
        if (s == STATUS_OK)
            s = reader->each(reader->owner, &r, err);
    }
    sqlite3_finalize(query);
    return s;
}

/* One row, of a log that has a record. */
static enum status read_head(struct ledger_store *st, const struct ledger_reader *reader,
                             struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    size_t rows = 0;
    int step;

    if (sqlite3_prepare_v2(st->db, "SELECT one, serial, number, mac FROM head", -1, &query, NULL) !=
        SQLITE_OK)
        return failed(st, err);
    while (s == STATUS_OK && (step = sqlite3_step(query)) != SQLITE_DONE) {
        s = step != SQLITE_ROW ? failed(st, err)
                               : check_head(st, query, reader->number(reader->owner), err);
        rows++;
    }
    sqlite3_finalize(query);
    if (s == STATUS_OK && (rows != 1 || st->last.serial == 0))
        s = ledger_store_damaged(st, "its head or its records are missing", err);
    return s;
}

enum status ledger_store_read(struct ledger_store *st, const struct ledger_reader *reader,
                              struct error *err)
{
    enum status s;

    CHECK(st->last.serial == 0);
    s = read_log(st, reader, err);
    return s == STATUS_OK ? read_head(st, reader, err) : s;
}

/* --- writing --- */

static enum status finish(struct ledger_store *st, sqlite3_stmt *stmt, struct error *err)
{
    enum status s = sqlite3_step(stmt) == SQLITE_DONE ? STATUS_OK : failed(st, err);

    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return s;
}

enum status ledger_store_begin(struct ledger_store *st, struct error *err)
{
    st->next = st->last;
    return finish(st, st->begin, err);
}

enum status ledger_store_append(struct ledger_store *st, const struct ledger_record *r,
                                struct error *err)
{
    struct ledger_end end = {.serial = st->next.serial + 1};
    enum status s;

    CHECK(strlen(r->text) < LEDGER_TEXT_MAX);
    if (r->n > LEDGER_RECORD_BYTES_MAX || end.serial > INT64_MAX)
        return error_set(err, STATUS_BUDGET, "ledger %s: a record too many, or too large",
                         st->path);
    s = record_mac(st, &st->next, end.serial, r, end.mac);
    if (s != STATUS_OK)
        return ledger_store_status(st, s, err);
    if (sqlite3_bind_int64(st->append, 1, (sqlite3_int64)end.serial) != SQLITE_OK ||
        sqlite3_bind_text(st->append, 2, r->text, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_blob(st->append, 3, r->n > 0 ? r->bytes : (const uint8_t *)"", (int)r->n,
                          SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_blob(st->append, 4, end.mac, sizeof end.mac, SQLITE_STATIC) != SQLITE_OK)
        return failed(st, err);
    s = finish(st, st->append, err);
    if (s == STATUS_OK)
        st->next = end;
    return s;
}

enum status ledger_store_clear(struct ledger_store *st, struct error *err)
{
    memset(st->next.mac, 0, sizeof st->next.mac); /* the first has nothing before it */
    return sqlite3_exec(st->db, "DELETE FROM log", NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK
                                                                                  : failed(st, err);
}

enum status ledger_store_seal(struct ledger_store *st, uint64_t number, struct error *err)
{
    uint8_t mac[DIGEST_BYTES];
    enum status s = head_mac(st, &st->next, number, mac);

    if (s != STATUS_OK)
        s = ledger_store_status(st, s, err);
    else if (sqlite3_bind_int64(st->head, 1, (sqlite3_int64)st->next.serial) != SQLITE_OK ||
             sqlite3_bind_int64(st->head, 2, (sqlite3_int64)number) != SQLITE_OK ||
             sqlite3_bind_blob(st->head, 3, mac, sizeof mac, SQLITE_STATIC) != SQLITE_OK)
        s = failed(st, err);
    else
        s = finish(st, st->head, err);
    if (s == STATUS_OK)
        s = finish(st, st->commit, err);
    if (s == STATUS_OK) {
        st->last = st->next;
        st->fresh = false;
    } else {
        ledger_store_rollback(st);
    }
    return s;
}

/* Some failures have rolled back by themselves; then there is nothing left to do. */
void ledger_store_rollback(struct ledger_store *st)
{
    if (sqlite3_get_autocommit(st->db) == 0)
        sqlite3_exec(st->db, "ROLLBACK", NULL, NULL, NULL);
}

enum status ledger_store_end(struct ledger_store *st, enum status s, uint64_t number,
                             struct error *err)
{
    if (s == STATUS_OK)
        return ledger_store_seal(st, number, err);
    ledger_store_rollback(st);
    return s;
}
