/* test_ledger_history.c -- entries take numbers that only grow, amount to the counts, and stay few.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_history.h"

#include "tests/unit/privacy/ledgers.h"

#include <sqlite3.h>
#include <sys/stat.h>

static struct ledger_block rounds_of(struct ledger_block b, uint32_t rounds)
{
    b.rounds = rounds;
    return b;
}

static void take(struct ledger *l, struct ledger_block b)
{
    struct error err = {0};

    if (ledger_reserve(l, &b, 0, 0, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static struct buf printed(const struct ledger *l)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    return out;
}

static void expect_printed(const struct ledger *l, const char *text, bool there)
{
    struct buf out = printed(l);

    if ((strstr((const char *)out.data, text) != NULL) != there)
        fail_msg("%s '%s' in:\n%s", there ? "no" : "a", text, (const char *)out.data);
    buf_deinit(&out);
}

/* --- numbers --- */

static void
test_a_block_takes_as_many_numbers_as_rounds_and_what_is_given_back_takes_one(void **state)
{
    const char *path = scratch_path("numbers.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    assert_int_equal(ledger_sequence(l), 0);
    use(l, &PBM);
    assert_int_equal(ledger_sequence(l), 0);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 5));
    assert_int_equal(ledger_sequence(l), 5);
    take(l, rounds_of(block(LEDGER_EVALUATE, slots, 10), 1));
    assert_int_equal(ledger_sequence(l), 6);
    assert_int_equal(give_back(l, rounds_of(block(LEDGER_TRAIN, slots, 6), 3), &err), STATUS_OK);
    assert_int_equal(ledger_sequence(l), 7);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 0), 128)); /* rounds of no record are rounds */
    assert_int_equal(ledger_sequence(l), 135);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_sequence(l), 135);
    assert_int_equal(total_of(l), 14);
    expect_printed(l, "entries         4, the last one is number 135\n", true);
    mem_free(slots);
    ledger_close(l);
}

static void test_a_refused_block_takes_no_number(void **state)
{
    struct ledger *l = open_at(":memory:");
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 5));
    assert_int_equal(try_reserve(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 5), 1, 0, &err),
                     STATUS_BUDGET);
    assert_int_equal(ledger_sequence(l), 5);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 5));
    assert_int_equal(ledger_sequence(l), 10);
    mem_free(slots);
    ledger_close(l);
}

static void tamper(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void test_when_numbers_have_run_out_nothing_is_charged(void **state)
{
    const char *path = scratch_path("last.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    take(l, block(LEDGER_TRAIN, slots, 10));
    ledger_close(l);
    tamper(path, "UPDATE entries SET number = (1 << 62) - 3, numbers = (1 << 62) - 3, "
                 "rounds = (1 << 62) - 3");
    l = open_at(path);
    use(l, &PBM);
    take(l, block(LEDGER_TRAIN, slots, 10));
    assert_true(ledger_sequence(l) == LEDGER_NUMBER_MAX - 1);
    assert_int_equal(try_reserve(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 2), 0, 0, &err),
                     STATUS_BUDGET);
    assert_non_null(strstr(err.text, "run out"));
    assert_int_equal(total_of(l), 20);
    take(l, block(LEDGER_TRAIN, slots, 10));
    assert_int_equal(give_back(l, block(LEDGER_TRAIN, slots, 10), &err), STATUS_BUDGET);
    assert_int_equal(total_of(l), 30);
    ledger_close(l);
    ledger_close(open_at(path));
    mem_free(slots);
}

/* --- what entries are of --- */

static void test_entries_are_summed_by_plan_data_and_purpose(void **state)
{
    static const char *const expected[] = {
        "000000000001  000000000009  train           2        7           30  2023-11-14  "
        "2023-11-15",
        "000000000001  000000000009  evaluate        1        1           10",
        "000000000002  000000000009  train           1        4           10",
        "000000000001  000000000008  train           1        1           10",
    };
    const char *path = scratch_path("runs.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 20);
    uint8_t plan[2][LEDGER_DIGEST_BYTES] = {{0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 2}},
            data[2][LEDGER_DIGEST_BYTES] = {{0, 0, 0, 0, 0, 9}, {0, 0, 0, 0, 0, 8}};
    static const struct {
        int plan, data;
        enum ledger_purpose purpose;
        uint32_t rounds, n;
    } blocks[] = {{0, 0, LEDGER_TRAIN, 5, 20},
                  {0, 0, LEDGER_EVALUATE, 1, 10},
                  {1, 0, LEDGER_TRAIN, 4, 10},
                  {0, 1, LEDGER_TRAIN, 1, 10},
                  {0, 0, LEDGER_TRAIN, 2, 10}};

    (void)state;
    use(l, &PBM);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        take(l, (struct ledger_block){.plan = plan[blocks[i].plan],
                                      .data = data[blocks[i].data],
                                      .at_s = 1700000000 + (i == 4 ? 86400 : 0),
                                      .purpose = blocks[i].purpose,
                                      .rounds = blocks[i].rounds,
                                      .slots = slots,
                                      .n = blocks[i].n});
        if (i == 2) { /* runs are found again by another process */
            ledger_close(l);
            l = open_at(path);
            use(l, &PBM);
        }
    }
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        expect_printed(l, expected[i], true);
    expect_printed(l, "earlier", false);
    mem_free(slots);
    ledger_close(l);
}

/* --- few --- */

/* So many entries of one release each, by one record, in rounds of their own. */
static void fill(const char *path, int entries)
{
    char sql[1024];

    snprintf(sql, sizeof sql,
             "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < %d) "
             "INSERT INTO entries SELECT (SELECT max(number) FROM entries) + i, 1, 1700000000 + i, "
             "1, 0, i, 1, 1, 0, 1 FROM k",
             entries);
    tamper(path, sql);
}

static void add_count(const char *path, uint32_t more)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL, *put = NULL;
    uint8_t chunk[4000];
    uint32_t first;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT counts FROM counts WHERE chunk = 0", -1, &get, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    memcpy(chunk, sqlite3_column_blob(get, 0), sizeof chunk);
    sqlite3_finalize(get);
    memcpy(&first, chunk, sizeof first);
    first += more;
    memcpy(chunk, &first, sizeof first);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "UPDATE counts SET counts = ?, releases = releases + ? "
                                        "WHERE chunk = 0",
                                        -1, &put, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_bind_blob(put, 1, chunk, sizeof chunk, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int64(put, 2, more), SQLITE_OK);
    assert_int_equal(sqlite3_step(put), SQLITE_DONE);
    sqlite3_finalize(put);
    sqlite3_close(db);
}

static size_t entries_of(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL;
    size_t n;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM entries", -1, &get, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    n = (size_t)sqlite3_column_int64(get, 0);
    sqlite3_finalize(get);
    sqlite3_close(db);
    return n;
}

static void test_the_oldest_half_becomes_one_entry_for_each_purpose_and_mechanism(void **state)
{
    const char *path = scratch_path("fold.db");
    struct account_entry other = PBM, before[ACCOUNT_MECHANISMS_MAX], after[ACCOUNT_MECHANISMS_MAX];
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};
    uint64_t number;

    (void)state;
    use(l, &PBM);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 7));
    assert_int_equal(give_back(l, rounds_of(block(LEDGER_TRAIN, slots, 4), 3), &err), STATUS_OK);
    ledger_close(l);
    fill(path, LEDGER_HISTORY_MAX - 2 - 3);
    add_count(path, LEDGER_HISTORY_MAX - 2 - 3);
    l = open_at(path);
    use(l, &PBM);
    take(l, block(LEDGER_EVALUATE, slots, 2));
    other.trials = 3;
    use(l, &other);
    take(l, block_of_run(3, 2, LEDGER_TRAIN, slots, 2));
    take(l, block_of_run(3, 2, LEDGER_TRAIN, slots, 1));
    number = ledger_sequence(l);
    assert_int_equal(number, 8 + LEDGER_HISTORY_MAX - 5 + 3);
    assert_int_equal(ledger_entries(l, before), 2);
    expect_printed(l, "earlier", false);

    take(l, rounds_of(block_of_run(3, 2, LEDGER_TRAIN, slots, 1), 9));
    assert_int_equal(ledger_sequence(l), number + 9);
    ledger_close(l);
    /* One of the old mechanism's training; all else is among the younger half. */
    assert_int_equal(entries_of(path), LEDGER_HISTORY_MAX / 2 + 1 + 1);
    l = open_at(path);
    assert_int_equal(ledger_sequence(l), number + 9);
    assert_int_equal(ledger_entries(l, after), 2);
    assert_int_equal(after[0].releases, before[0].releases);
    assert_int_equal(after[1].releases, before[1].releases + 1);
    expect_printed(l, "earlier       -             train       25000    25002        25004", true);
    mem_free(slots);
    ledger_close(l);
}

static void test_runs_that_no_entry_is_left_of_go_too(void **state)
{
    const char *path = scratch_path("gone.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);

    (void)state;
    use(l, &PBM);
    for (uint8_t plan = 10; plan < 20; plan++)
        take(l, block_of_run(plan, 1, LEDGER_TRAIN, slots, 1));
    ledger_close(l);
    tamper(path, "INSERT INTO runs (run, plan, data) VALUES (99, randomblob(32), randomblob(32))");
    fill(path, LEDGER_HISTORY_MAX - 10);
    add_count(path, LEDGER_HISTORY_MAX - 10);
    l = open_at(path);
    use(l, &PBM);
    expect_printed(l, "\n  0000", true);
    take(l, block_of_run(11, 1, LEDGER_TRAIN, slots, 1)); /* whose row has just gone */
    ledger_close(l);
    tamper(path,
           "CREATE TEMP TABLE must (n CHECK (n = 3)); "
           "INSERT INTO must SELECT count(*) FROM runs"); /* 0, plan 10 and its filling, plan 11 */
    ledger_close(open_at(path));
    mem_free(slots);
}

static void test_entries_cost_no_more_than_is_said(void **state)
{
    const char *path = scratch_path("size.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct stat before, after;

    (void)state;
    use(l, &PBM);
    take(l, block(LEDGER_TRAIN, slots, 10));
    ledger_close(l);
    assert_int_equal(stat(path, &before), 0);
    fill(path, LEDGER_HISTORY_MAX - 1);
    tamper(path, "UPDATE entries SET at = 1800000000, place = 3000000000, rounds = 120, "
                 "numbers = 120, releases = 4000000000");
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size - before.st_size < 45 * (LEDGER_HISTORY_MAX - 1));
    mem_free(slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_block_takes_as_many_numbers_as_rounds_and_what_is_given_back_takes_one),
        cmocka_unit_test(test_a_refused_block_takes_no_number),
        cmocka_unit_test(test_when_numbers_have_run_out_nothing_is_charged),
        cmocka_unit_test(test_entries_are_summed_by_plan_data_and_purpose),
        cmocka_unit_test(test_the_oldest_half_becomes_one_entry_for_each_purpose_and_mechanism),
        cmocka_unit_test(test_runs_that_no_entry_is_left_of_go_too),
        cmocka_unit_test(test_entries_cost_no_more_than_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
