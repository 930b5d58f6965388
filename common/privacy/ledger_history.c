/* ledger_history.c -- writing entries, reading them back, and keeping them few.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_history.h"

#include "common/base/check.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

/* What one row of the table says. */
struct entry {
    int64_t number, numbers, at, run, purpose, place, rounds, releases, mechanism, entries;
};

/* --- reading --- */

/* Does a row follow on `number`, and can it be? */
static bool follows(const struct entry *e, uint64_t number)
{
    bool back = e->rounds < 0 || e->releases < 0;

    if (e->numbers < 1 || e->entries < 1 || e->number < 0 || e->place < 0 || e->mechanism < 0 ||
        e->mechanism >= ACCOUNT_MECHANISMS_MAX || e->purpose < 0 || e->purpose >= LEDGER_PURPOSES)
        return false;
    if ((uint64_t)e->number > LEDGER_NUMBER_MAX || (uint64_t)e->numbers > LEDGER_NUMBER_MAX ||
        (uint64_t)e->number != number + (uint64_t)e->numbers)
        return false;
    if (e->entries > 1) /* several, less what was given back of them */
        return e->rounds >= 0 && e->rounds <= e->numbers && e->releases >= 0;
    return back ? e->numbers == 1 && e->rounds < 0 && e->releases <= 0 : e->rounds == e->numbers;
}

static void read_entry(sqlite3_stmt *row, struct entry *e)
{
    *e = (struct entry){
        .number = sqlite3_column_int64(row, 0),
        .numbers = sqlite3_column_int64(row, 1),
        .purpose = sqlite3_column_int64(row, 2),
        .place = sqlite3_column_int64(row, 3),
        .rounds = sqlite3_column_int64(row, 4),
        .releases = sqlite3_column_int64(row, 5),
        .mechanism = sqlite3_column_int64(row, 6),
        .entries = sqlite3_column_int64(row, 7),
    };
}

/* What the entries amount to is what the counts are. */
static bool adds_up(int64_t sum[ACCOUNT_MECHANISMS_MAX][LEDGER_PURPOSES],
                    const struct ledger_counts *counts)
{
    for (size_t m = 0; m < ACCOUNT_MECHANISMS_MAX; m++) {
        for (size_t p = 0; p < LEDGER_PURPOSES; p++) {
            if (sum[m][p] < 0 || (uint64_t)sum[m][p] != counts->column[m][p])
                return false;
        }
    }
    return true;
}

static enum status runs_exist(struct ledger_store *st, struct error *err)
{
    bool known;
    enum status s = ledger_store_answers(
        st,
        "SELECT (SELECT count(*) FROM entries WHERE run NOT IN (SELECT run FROM runs)) + "
        "(SELECT count(*) FROM runs WHERE length(plan) != 32 OR length(data) != 32) + "
        "(SELECT count(*) != 1 FROM runs WHERE run = 0)",
        "0", &known, err);

    return s == STATUS_OK && !known ? ledger_store_damaged(st, "entries of no run", err) : s;
}

enum status ledger_history_load(struct ledger_store *st, struct ledger_history *h,
                                const struct ledger_counts *counts, struct error *err)
{
    int64_t sum[ACCOUNT_MECHANISMS_MAX][LEDGER_PURPOSES] = {{0}};
    sqlite3_stmt *query = NULL;
    enum status s = runs_exist(st, err);
    int step;

    if (s != STATUS_OK)
        return s;
    if (sqlite3_prepare_v2(st->db,
                           "SELECT number, numbers, purpose, place, rounds, releases, mechanism, "
                           "entries FROM entries ORDER BY number",
                           -1, &query, NULL) != SQLITE_OK)
        return ledger_store_failed(st, err);
    while ((step = sqlite3_step(query)) == SQLITE_ROW && s == STATUS_OK) {
        struct entry e;

        read_entry(query, &e);
        if (!follows(&e, h->number) ||
            __builtin_add_overflow(sum[e.mechanism][e.purpose], e.releases,
                                   &sum[e.mechanism][e.purpose])) {
            s = ledger_store_damaged(st, "entries that do not follow each other", err);
        } else {
            h->number = (uint64_t)e.number;
            h->entries++;
        }
    }
    if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    if (s == STATUS_OK && !adds_up(sum, counts))
        s = ledger_store_damaged(st, "entries do not amount to the counts", err);
    return s;
}

/* --- writing --- */

static enum status write_entry(struct ledger_store *st, const struct entry *e, struct error *err)
{
    const int64_t value[] = {e->number, e->numbers, e->at,       e->run,       e->purpose,
                             e->place,  e->rounds,  e->releases, e->mechanism, e->entries};

    for (int i = 0; i < (int)(sizeof value / sizeof value[0]); i++) {
        if (sqlite3_bind_int64(st->enter, i + 1, value[i]) != SQLITE_OK)
            return ledger_store_failed(st, err);
    }
    return ledger_store_finish(st, st->enter, err);
}

static enum status run_statement(struct ledger_store *st, const char *sql, sqlite3_stmt **out,
                                 const struct ledger_block *b, struct error *err)
{
    if (sqlite3_prepare_v2(st->db, sql, -1, out, NULL) != SQLITE_OK ||
        sqlite3_bind_blob(*out, 1, b->plan, LEDGER_DIGEST_BYTES, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_blob(*out, 2, b->data, LEDGER_DIGEST_BYTES, SQLITE_STATIC) != SQLITE_OK)
        return ledger_store_failed(st, err);
    return STATUS_OK;
}

/* The row of a plan with data, an old one or a new one. */
static enum status find_run(struct ledger_store *st, const struct ledger_block *b, int64_t *run,
                            struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s =
        run_statement(st, "SELECT run FROM runs WHERE plan = ? AND data = ?", &query, b, err);
    int step = s == STATUS_OK ? sqlite3_step(query) : SQLITE_ERROR;

    if (s == STATUS_OK && step == SQLITE_ROW)
        *run = sqlite3_column_int64(query, 0);
    else if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    if (s != STATUS_OK || step == SQLITE_ROW)
        return s;
    query = NULL;
    s = run_statement(st, "INSERT INTO runs (plan, data) VALUES (?, ?)", &query, b, err);
    if (s == STATUS_OK)
        s = ledger_store_finish(st, query, err);
    *run = sqlite3_last_insert_rowid(st->db);
    sqlite3_finalize(query);
    return s;
}

static bool same_run(const struct ledger_history *h, const struct ledger_block *b)
{
    return h->run > 0 && memcmp(h->plan, b->plan, sizeof h->plan) == 0 &&
           memcmp(h->data, b->data, sizeof h->data) == 0;
}

enum status ledger_history_enter(struct ledger_store *st, struct ledger_history *h,
                                 const struct ledger_block *b, size_t mechanism, bool give_back,
                                 struct error *err)
{
    int64_t sign = give_back ? -1 : 1;
    uint32_t numbers = give_back ? 1 : b->rounds;
    enum status s = STATUS_OK;

    CHECK(b->rounds > 0 && b->place <= INT64_MAX);
    if (numbers > LEDGER_NUMBER_MAX - h->number)
        return error_set(err, STATUS_BUDGET, "ledger %s: its numbers have run out", st->path);
    if (!same_run(h, b)) {
        s = find_run(st, b, &h->run, err);
        memcpy(h->plan, b->plan, sizeof h->plan);
        memcpy(h->data, b->data, sizeof h->data);
    }
    if (s != STATUS_OK)
        return s;
    h->number += numbers;
    h->entries++;
    return write_entry(st,
                       &(struct entry){.number = (int64_t)h->number,
                                       .numbers = numbers,
                                       .at = b->at_s,
                                       .run = h->run,
                                       .purpose = b->purpose,
                                       .place = (int64_t)b->place,
                                       .rounds = sign * b->rounds,
                                       .releases = sign * (int64_t)b->n,
                                       .mechanism = (int64_t)mechanism,
                                       .entries = 1},
                       err);
}

/* --- folding --- */

enum { GROUPS_MAX = ACCOUNT_MECHANISMS_MAX * LEDGER_PURPOSES };

/* All entries up to `last` as one for each purpose and mechanism, which take the same numbers. */
static enum status gather(struct ledger_store *st, int64_t last, struct entry group[GROUPS_MAX],
                          size_t *n, struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;
    int64_t number = 0;
    int step = SQLITE_DONE;

    *n = 0;
    if (sqlite3_prepare_v2(st->db,
                           "SELECT 0, sum(numbers), purpose, 0, sum(rounds), sum(releases), "
                           "mechanism, sum(entries), max(at) FROM entries WHERE number <= ? "
                           "GROUP BY purpose, mechanism",
                           -1, &query, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(query, 1, last) != SQLITE_OK)
        s = ledger_store_failed(st, err);
    while (s == STATUS_OK && (step = sqlite3_step(query)) == SQLITE_ROW) {
        CHECK(*n < GROUPS_MAX);
        read_entry(query, &group[*n]);
        group[*n].at = sqlite3_column_int64(query, 8);
        group[*n].number = number += group[*n].numbers;
        (*n)++;
    }
    if (s == STATUS_OK && step != SQLITE_DONE)
        s = ledger_store_failed(st, err);
    sqlite3_finalize(query);
    return s;
}

/* Out with the entries up to `last`, and with the runs that only they were of. */
static enum status forget(struct ledger_store *st, int64_t last, struct error *err)
{
    char sql[160];

    sqlite3_snprintf(sizeof sql, sql,
                     "DELETE FROM entries WHERE number <= %lld; DELETE FROM runs WHERE run != 0 "
                     "AND run NOT IN (SELECT run FROM entries)",
                     (long long)last);
    return ledger_store_run(st, sql, err);
}

/* The number of the entry that has `after` later ones. */
static enum status last_but(struct ledger_store *st, size_t after, int64_t *number,
                            struct error *err)
{
    sqlite3_stmt *query = NULL;
    enum status s = STATUS_OK;

    if (sqlite3_prepare_v2(st->db,
                           "SELECT number FROM entries ORDER BY number DESC LIMIT 1 OFFSET ?", -1,
                           &query, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(query, 1, (sqlite3_int64)after) != SQLITE_OK ||
        sqlite3_step(query) != SQLITE_ROW)
        s = ledger_store_failed(st, err);
    else
        *number = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return s;
}

static enum status fold(struct ledger_store *st, size_t *groups, struct error *err)
{
    struct entry group[GROUPS_MAX];
    int64_t last = 0;
    enum status s = last_but(st, LEDGER_HISTORY_MAX / 2, &last, err);

    if (s == STATUS_OK)
        s = gather(st, last, group, groups, err);
    if (s == STATUS_OK)
        s = forget(st, last, err);
    for (size_t i = 0; i < *groups && s == STATUS_OK; i++)
        s = write_entry(st, &group[i], err);
    return s;
}

enum status ledger_history_fold(struct ledger_store *st, struct ledger_history *h,
                                struct error *err)
{
    size_t groups = 0;
    enum status s;

    if (h->entries < LEDGER_HISTORY_MAX)
        return STATUS_OK;
    s = ledger_store_begin(st, err);
    if (s != STATUS_OK)
        return s;
    s = fold(st, &groups, err);
    if (s == STATUS_OK)
        s = ledger_store_commit(st, err);
    else
        ledger_store_rollback(st);
    if (s != STATUS_OK)
        return s;
    h->entries = LEDGER_HISTORY_MAX / 2 + groups;
    h->run = 0; /* its row may be gone */
    return STATUS_OK;
}
