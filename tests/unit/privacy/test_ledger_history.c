/* test_ledger_history.c -- entries take numbers that only grow, amount to the counts, and stay few.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_history.h"

#include "common/privacy/ledger_print.h"
#include "common/privacy/ledger_records.h"
#include "tests/unit/privacy/ledgers.h"
#include "tests/unit/privacy/sealed_ledger.h"

static struct ledger_block rounds_of(struct ledger_block b, uint32_t rounds)
{
    b.rounds = rounds;
    return b;
}

static void take(struct ledger *l, struct ledger_block b)
{
    struct error err = {0};

    if (ledger_reserve(l, &b, NULL, &err) != STATUS_OK)
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

static void test_when_numbers_have_run_out_nothing_is_charged(void **state)
{
    const char *path = scratch_path("last.db");
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, 10);
    struct error err = {0};

    (void)state;
    use(l, &PBM);
    ledger_close(l);
    sealed_run(path, "UPDATE log SET text = replace(text, ' 0 0', ' 4611686018427387901 1') "
                     "WHERE serial = 1");
    sealed_anew(path, KEY, LEDGER_NUMBER_MAX - 2);
    l = open_at(path);
    use(l, &PBM);
    take(l, block(LEDGER_TRAIN, slots, 10));
    assert_true(ledger_sequence(l) == LEDGER_NUMBER_MAX - 1);
    assert_int_equal(try_reserve(l, rounds_of(block(LEDGER_TRAIN, slots, 10), 2), 0, 0, &err),
                     STATUS_BUDGET);
    assert_non_null(strstr(err.text, "run out"));
    assert_int_equal(total_of(l), 10);
    take(l, block(LEDGER_TRAIN, slots, 10));
    assert_int_equal(give_back(l, block(LEDGER_TRAIN, slots, 10), &err), STATUS_BUDGET);
    assert_int_equal(total_of(l), 20);
    ledger_close(l);
    ledger_close(open_at(path));
    mem_free(slots);
}

/* --- what entries are of --- */

static void test_entries_are_summed_by_plan_data_and_purpose(void **state)
{
    static const char *const expected[] = {
        "000000000001     1  train             2        7           30  2023-11-14  2023-11-15",
        "000000000001     1  evaluate          1        1           10",
        "000000000002     1  train             1        4           10",
        "000000000001     3  train             1        1           10",
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

/* The record of a ledger's only plan with data. */
static void work_of(char out[256], const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *get = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT text FROM log WHERE text LIKE 'work 1 %'", -1, &get, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    snprintf(out, 256, "%s", (const char *)sqlite3_column_text(get, 0));
    sqlite3_finalize(get);
    sqlite3_close(db);
}

/* A plain digest of the data would let anybody with the file, or with what is printed of it, try
 * values on it: it is under the ledger's key and salt. */
static void test_the_digest_of_the_data_is_neither_in_the_file_nor_printed(void **state)
{
    static const char plain[] = "abababababababababababababababababababababababababababababababab";
    const char *path = scratch_path("data.db"), *other = scratch_path("other-data.db");
    uint8_t data[LEDGER_DIGEST_BYTES], plan[LEDGER_DIGEST_BYTES] = {0};
    char sql[128], work[2][256];

    (void)state;
    memset(data, 0xab, sizeof data);
    for (int i = 0; i < 2; i++) { /* another ledger of the same key names the same data anew */
        struct ledger *l = open_at(i == 0 ? path : other);
        uint32_t *slots = bind_rows(l, 10);
        struct ledger_block b = block(LEDGER_TRAIN, slots, 10);

        b.plan = plan;
        b.data = data;
        use(l, &PBM);
        take(l, b);
        take(l, b);
        expect_printed(l, "abababababab", false);
        expect_printed(l, "000000000000     1  train             2", true);
        mem_free(slots);
        ledger_close(l);
    }
    assert_int_equal(sealed_number(path, "SELECT count(*) FROM log WHERE text LIKE 'work %'"), 1);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM log WHERE text LIKE '%%%s%%'", plain);
    assert_int_equal(sealed_number(path, sql), 0);
    work_of(work[0], path);
    work_of(work[1], other);
    assert_string_not_equal(work[0], work[1]);
}

/* --- few --- */

/* What a ledger says of itself, before and after. */
static void expect_same(const struct ledger *l, const struct buf *before)
{
    struct buf after = printed(l);

    if (strcmp((const char *)before->data, (const char *)after.data) != 0)
        fail_msg("before:\n%s\nafter:\n%s", (const char *)before->data, (const char *)after.data);
    buf_deinit(&after);
}

static void test_all_is_written_anew_after_so_many_records_and_says_the_same(void **state)
{
    const char *path = scratch_path("fold.db");
    struct account_entry other = PBM;
    struct ledger *l = open_at(path);
    uint32_t *slots = bind_rows(l, ROWS_MAX), *again;
    struct error err = {0};
    struct buf before;
    uint64_t number;

    (void)state;
    other.parties = 9;
    use(l, &other);
    take(l, rounds_of(block_of_run(7, 8, LEDGER_ALIGN, slots + 2400, 100), 3));
    use(l, &PBM);
    take(l, rounds_of(block(LEDGER_TRAIN, slots, 300), 7));
    assert_int_equal(give_back(l, rounds_of(block(LEDGER_TRAIN, slots, 4), 3), &err), STATUS_OK);
    assert_int_equal(ledger_see(l, PEER, 99, &err), STATUS_OK);
    for (unsigned i = 0; i < LEDGER_FOLD_RECORDS / 2; i++)
        take(l, block(LEDGER_EVALUATE, slots + i % ROWS_MAX, 1));
    number = ledger_sequence(l);
    before = printed(l);
    ledger_close(l);
    assert_true(sealed_number(path, "SELECT count(*) FROM log") < 100);
    l = open_at(path);
    expect_same(l, &before);
    assert_int_equal(ledger_sequence(l), number);
    assert_int_equal(ledger_seen(l, PEER), 99);
    again = bind_rows(l, ROWS_MAX);
    assert_memory_equal(slots, again, ROWS_MAX * sizeof *slots);
    use(l, &PBM); /* and goes on */
    assert_int_equal(give_back(l, block(LEDGER_EVALUATE, slots + 1, 1), &err), STATUS_OK);
    assert_int_equal(ledger_sequence(l), number + 1);
    buf_deinit(&before);
    mem_free(slots);
    mem_free(again);
    ledger_close(l);
}

static void test_works_beyond_the_most_are_told_as_one(void **state)
{
    struct ledger_history h, copy;
    struct ledger_work w = {.data = {1}};
    uint64_t entries = 0;

    (void)state;
    assert_int_equal(ledger_history_init(&h), STATUS_OK);
    for (unsigned i = 0; i < LEDGER_TALLIES_MAX + 100; i++) {
        memcpy(w.plan, &i, sizeof i);
        assert_int_equal(ledger_history_add(&h, &w), STATUS_OK);
        ledger_history_enter(
            &h, &(struct ledger_tally){.work = i + 1,
                                       .purpose = i % 2 ? LEDGER_TRAIN : LEDGER_EVALUATE,
                                       .entries = 2,
                                       .rounds = 3,
                                       .releases = 5,
                                       .first_s = 1000 + i,
                                       .last_s = 2000 + i});
    }
    assert_int_equal(ledger_history_copy(&copy, &h), STATUS_OK);
    ledger_history_shorten(&copy);
    assert_int_equal(copy.tallies, 2 + (LEDGER_TALLIES_MAX + 100) / 2);
    assert_int_equal(copy.works, 1 + (LEDGER_TALLIES_MAX + 100) / 2);
    assert_int_equal(copy.tally[0].work, 0);
    assert_int_equal(copy.tally[0].first_s, 1000);
    assert_int_equal(copy.tally[0].last_s, 2000 + (LEDGER_TALLIES_MAX + 100) / 2 - 2);
    for (size_t i = 0; i < copy.tallies; i++) {
        const struct ledger_tally *t = &copy.tally[i];

        entries += t->entries;
        if (i >= 2) { /* the younger half, each of its own plan still */
            const unsigned plan = (LEDGER_TALLIES_MAX + 100) / 2 + (unsigned)i - 2;

            assert_memory_equal(copy.work[t->work].plan, &plan, sizeof plan);
            assert_int_equal(t->first_s, 1000 + plan);
        }
    }
    assert_int_equal(entries, 2 * (LEDGER_TALLIES_MAX + 100));
    ledger_history_shorten(&copy); /* few enough now */
    assert_int_equal(copy.tallies, 2 + (LEDGER_TALLIES_MAX + 100) / 2);
    ledger_history_deinit(&copy);
    ledger_history_deinit(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_block_takes_as_many_numbers_as_rounds_and_what_is_given_back_takes_one),
        cmocka_unit_test(test_a_refused_block_takes_no_number),
        cmocka_unit_test(test_when_numbers_have_run_out_nothing_is_charged),
        cmocka_unit_test(test_entries_are_summed_by_plan_data_and_purpose),
        cmocka_unit_test(test_the_digest_of_the_data_is_neither_in_the_file_nor_printed),
        cmocka_unit_test(test_all_is_written_anew_after_so_many_records_and_says_the_same),
        cmocka_unit_test(test_works_beyond_the_most_are_told_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
