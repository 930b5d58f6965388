/* ledger_load.c -- reading a ledger back, with every value checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_load.h"

#include "common/base/check.h"

#include <endian.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

const char *ledger_load_kind_name(enum account_kind kind)
{
    static const char *const names[] = {
        [ACCOUNT_PBM] = "pbm",
        [ACCOUNT_GAUSSIAN] = "gaussian",
        [ACCOUNT_NONE] = "none",
    };

    return names[kind];
}

const char *ledger_load_bottom_name(enum account_bottom bottom)
{
    static const char *const names[] = {
        [ACCOUNT_RAW] = "raw",
        [ACCOUNT_FROZEN] = "frozen",
        [ACCOUNT_DP] = "dp",
    };

    return names[bottom];
}

/* Slots are numbered without gaps from 0. */
static enum status load_records(struct ledger_store *st, struct ledger_counts *counts,
                                struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    sqlite3_int64 n = 0, highest = -1;

    if (sqlite3_prepare_v2(st->db,
                           "SELECT count(*), ifnull(max(slot), -1), ifnull(min(slot), 0) "
                           "FROM records",
                           -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    if (sqlite3_step(query) != SQLITE_ROW) {
        s = ledger_store_failed(st, err);
    } else {
        n = sqlite3_column_int64(query, 0);
        highest = sqlite3_column_int64(query, 1);
        if (highest != n - 1 || sqlite3_column_int64(query, 2) != 0 || n >= UINT32_MAX)
            s = ledger_store_damaged(st, "records are not numbered without gaps", err);
    }
    sqlite3_finalize(query);
    if (s == STATUS_OK && ledger_counts_grow(counts, (size_t)n) != STATUS_OK)
        s = error_set(err, STATUS_MEMORY, "ledger %s: out of memory", st->path);
    if (s == STATUS_OK)
        counts->records = (size_t)n;
    return s;
}

static bool known_kind(const char *name, enum account_kind *kind)
{
    for (int k = ACCOUNT_PBM; k <= ACCOUNT_NONE; k++) {
        if (name != NULL && strcmp(name, ledger_load_kind_name((enum account_kind)k)) == 0) {
            *kind = (enum account_kind)k;
            return true;
        }
    }
    return false;
}

static bool known_bottom(const char *name, enum account_bottom *bottom)
{
    for (int b = ACCOUNT_RAW; b <= ACCOUNT_DP; b++) {
        if (name != NULL && strcmp(name, ledger_load_bottom_name((enum account_bottom)b)) == 0) {
            *bottom = (enum account_bottom)b;
            return true;
        }
    }
    return false;
}

static bool is_count(sqlite3_stmt *row, int i, sqlite3_int64 low)
{
    sqlite3_int64 v = sqlite3_column_int64(row, i);

    return v >= low && v <= UINT32_MAX;
}

/* Columns in the order of the query in load_mechanisms. */
static bool read_mechanism(sqlite3_stmt *row, struct account_entry *m)
{
    if (!known_kind((const char *)sqlite3_column_text(row, 1), &m->kind) || !is_count(row, 2, 0) ||
        !is_count(row, 8, 1) || !is_count(row, 9, 1) || !is_count(row, 10, 1) ||
        !known_bottom((const char *)sqlite3_column_text(row, 11), &m->bottom) ||
        !is_count(row, 13, 0))
        return false;
    m->trials = (uint32_t)sqlite3_column_int64(row, 2);
    m->beta = sqlite3_column_double(row, 3);
    m->sigma = sqlite3_column_double(row, 4);
    m->clip = sqlite3_column_double(row, 5);
    m->clear = sqlite3_column_int(row, 6) != 0;
    m->concat = sqlite3_column_int(row, 7) != 0;
    m->coordinates = (uint32_t)sqlite3_column_int64(row, 8);
    m->parties = (uint32_t)sqlite3_column_int64(row, 9);
    m->colluders = (uint32_t)sqlite3_column_int64(row, 10);
    m->step_noise = sqlite3_column_double(row, 12);
    m->steps = (uint32_t)sqlite3_column_int64(row, 13);
    if (m->bottom == ACCOUNT_DP && !(m->step_noise > 0 && isfinite(m->step_noise) && m->steps > 0))
        return false;
    if (m->kind == ACCOUNT_PBM)
        return m->trials >= 1 && m->beta > 0 && m->beta < 0.5;
    return m->kind == ACCOUNT_NONE || (m->sigma > 0 && m->clip > 0 && isfinite(m->sigma));
}

static enum status load_mechanisms(struct ledger_store *st, struct account_entry *mechanisms,
                                   size_t *n, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    int step;

    if (sqlite3_prepare_v2(
            st->db,
            "SELECT mechanism, kind, trials, beta, sigma, clip, clear, concat, "
            "coordinates, parties, colluders, bottom, step_noise, steps FROM mechanisms "
            "ORDER BY mechanism",
            -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    *n = 0;
    while ((step = sqlite3_step(query)) == SQLITE_ROW && s == STATUS_OK) {
        if (*n >= ACCOUNT_MECHANISMS_MAX || sqlite3_column_int64(query, 0) != (sqlite3_int64)*n ||
            !read_mechanism(query, &mechanisms[*n]))
            s = ledger_store_damaged(st, "a mechanism has impossible parameters", err);
        else
            (*n)++;
    }
    if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    return s;
}

/* One row of counts: mechanism, purpose, chunk, releases, counts. */
static enum status load_chunk(struct ledger_store *st, struct ledger_counts *counts,
                              sqlite3_stmt *row, size_t mechanisms_n, struct error *err)
{
    sqlite3_int64 mechanism = sqlite3_column_int64(row, 0), purpose = sqlite3_column_int64(row, 1);
    sqlite3_int64 index = sqlite3_column_int64(row, 2), releases = sqlite3_column_int64(row, 3);
    struct ledger_column column = {(size_t)mechanism, (enum ledger_purpose)purpose};
    const void *blob = sqlite3_column_blob(row, 4);
    uint32_t count[LEDGER_CHUNK];
    sqlite3_int64 sum = 0;
    enum status s;

    if (mechanism < 0 || mechanism >= (sqlite3_int64)mechanisms_n || purpose < 0 ||
        purpose >= LEDGER_PURPOSES || index < 0 || blob == NULL ||
        sqlite3_column_bytes(row, 4) != (int)sizeof count)
        return ledger_store_damaged(st, "counts of nothing known", err);
    memcpy(count, blob, sizeof count);
    for (size_t i = 0; i < LEDGER_CHUNK; i++) {
        count[i] = le32toh(count[i]);
        sum += count[i];
    }
    if (sum != releases)
        return ledger_store_damaged(st, "counts do not add up", err);
    s = ledger_counts_load(counts, column, (size_t)index, count);
    if (s == STATUS_MEMORY)
        return error_set(err, s, "ledger %s: out of memory", st->path);
    if (s != STATUS_OK)
        return ledger_store_damaged(st, "counts of records that do not exist", err);
    return STATUS_OK;
}

static enum status load_counts(struct ledger_store *st, struct ledger_counts *counts,
                               size_t mechanisms_n, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    int step;

    if (sqlite3_prepare_v2(st->db, "SELECT mechanism, purpose, chunk, releases, counts FROM counts",
                           -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    while ((step = sqlite3_step(query)) == SQLITE_ROW && s == STATUS_OK)
        s = load_chunk(st, counts, query, mechanisms_n, err);
    if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    return s;
}

enum status ledger_load(struct ledger_store *st, struct ledger_counts *counts,
                        struct account_entry mechanisms[ACCOUNT_MECHANISMS_MAX],
                        size_t *mechanisms_n, struct error *err)
{
    enum status s = load_records(st, counts, err);

    if (s == STATUS_OK)
        s = load_mechanisms(st, mechanisms, mechanisms_n, err);
    if (s == STATUS_OK)
        s = load_counts(st, counts, *mechanisms_n, err);
    return s;
}
