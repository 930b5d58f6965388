/* test_ledger_layout.c -- a file of the first version becomes one of this version, with every
 * count.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_layout.h"

#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/old_ledger.h"

static int version_of(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL;
    int version;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &get, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    version = sqlite3_column_int(get, 0);
    sqlite3_finalize(get);
    sqlite3_close(db);
    return version;
}

static void test_an_old_file_keeps_its_counts_and_its_bottoms_were_raw(void **state)
{
    const char *path = old_ledger("old.db");

    (void)state;
    assert_int_equal(version_of(path), LEDGER_LAYOUT_FIRST);
    for (int again = 0; again < 2; again++) {
        struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
        struct ledger *l = open_at(path);
        struct ledger_totals t;
        uint32_t *slots;

        ledger_totals(l, &t);
        assert_int_equal(t.releases[LEDGER_TRAIN], OLD_TRAIN);
        assert_int_equal(t.releases[LEDGER_EVALUATE], OLD_EVALUATE);
        assert_int_equal(t.releases[LEDGER_PREDICT], 0);
        assert_int_equal(t.records, OLD_ROWS);
        assert_int_equal(ledger_entries(l, entries), 2);
        assert_true(entries[0].kind == ACCOUNT_PBM && entries[0].beta == 0.1);
        assert_true(entries[1].kind == ACCOUNT_GAUSSIAN && entries[1].sigma == 2.5);
        for (int m = 0; m < 2; m++) {
            assert_int_equal(entries[m].bottom, ACCOUNT_RAW);
            assert_int_equal(entries[m].steps, 0);
            assert_true(entries[m].step_noise == 0);
        }
        slots = bind_rows(l, OLD_ROWS);
        assert_int_equal(ledger_spent(l, slots[0]), 2);
        assert_int_equal(ledger_spent(l, slots[OLD_ROWS - 1]), 1);
        /* Of its entries nothing is known but what they amount to: training and evaluation by the
         * first mechanism, training by the second. */
        assert_int_equal(ledger_sequence(l), 3);
        mem_free(slots);
        ledger_close(l);
        assert_int_equal(version_of(path), LEDGER_LAYOUT_VERSION);
    }
}

static void test_an_old_file_is_charged_on(void **state)
{
    const char *path = old_ledger("on.db");
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX], frozen = PBM;
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, OLD_ROWS);

    (void)state;
    use(l, &PBM); /* the old mechanism, found again */
    reserve(l, LEDGER_TRAIN, slots, OLD_ROWS);
    frozen.bottom = ACCOUNT_FROZEN;
    use(l, &frozen); /* and a new one */
    reserve(l, LEDGER_TRAIN, slots, 1);
    ledger_close(l);
    l = open_at(path);
    assert_int_equal(ledger_entries(l, entries), 3);
    assert_int_equal(entries[0].releases, OLD_ROWS + OLD_ROWS + OLD_EVALUATE);
    assert_int_equal(entries[2].bottom, ACCOUNT_FROZEN);
    assert_int_equal(ledger_sequence(l), 5);
    mem_free(slots);
    ledger_close(l);
}

static void test_an_old_file_without_releases_has_no_entry(void **state)
{
    const char *path = scratch_path("bare.db");
    struct ledger *l;

    (void)state;
    old_run(path, OLD_TABLES);
    l = open_at(path);
    assert_int_equal(ledger_sequence(l), 0);
    assert_int_equal(total_of(l), 0);
    ledger_close(l);
    assert_int_equal(version_of(path), LEDGER_LAYOUT_VERSION);
}

static void test_a_damaged_old_file_is_refused(void **state)
{
    static const char *const sql[] = {
        "DROP TABLE counts",
        "ALTER TABLE records ADD COLUMN name TEXT",
        "UPDATE counts SET releases = releases - 1",
        "UPDATE mechanisms SET parties = 0",
        "DELETE FROM mechanisms WHERE mechanism = 1",
        "DELETE FROM records WHERE slot = 3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof sql / sizeof sql[0]; i++) {
        const char *path = old_ledger("damaged.db");

        old_run(path, sql[i]);
        for (int again = 0; again < 2; again++) {
            struct error err = {0};
            struct ledger *l;

            assert_int_equal(ledger_open(&l, path, &err), STATUS_IO);
            if (strstr(err.text, "damaged") == NULL)
                fail_msg("%s: %s", sql[i], err.text);
        }
        assert_int_equal(remove(path), 0);
    }
}

/* What made an old file's tables must not be what is compared, or an old file with the new number
 * would pass. */
static void test_the_number_alone_makes_no_new_file(void **state)
{
    const char *path = old_ledger("number.db");
    struct error err = {0};
    struct ledger *l;

    (void)state;
    old_run(path, "PRAGMA user_version = 2");
    assert_int_equal(ledger_open(&l, path, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "damaged"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_old_file_keeps_its_counts_and_its_bottoms_were_raw),
        cmocka_unit_test(test_an_old_file_is_charged_on),
        cmocka_unit_test(test_an_old_file_without_releases_has_no_entry),
        cmocka_unit_test(test_a_damaged_old_file_is_refused),
        cmocka_unit_test(test_the_number_alone_makes_no_new_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
