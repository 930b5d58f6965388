/* test_ledger_aligned.c -- alignments are in the ledger before they tell anything, and stay there.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_aligned.h"

#include "common/privacy/ledger_print.h"
#include "common/privacy/ledger_records.h"
#include "tests/unit/privacy/ledgers.h"

static const struct ledger_alignment q3 = {
    .name = "q3-a", .job = {0xab, 0xcd}, .ids = 285, .at_s = 1790000000};

static void expect_noted(const struct ledger *l, size_t n, size_t told)
{
    const struct ledger_alignments *all = ledger_alignments(l);
    size_t found = 0;

    assert_int_equal(all->n, n);
    assert_int_equal(all->told, told);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(all->one[i].name, q3.name);
        assert_memory_equal(all->one[i].job, q3.job, sizeof q3.job);
        assert_int_equal(all->one[i].ids, q3.ids + i);
        assert_int_equal(all->one[i].at_s, q3.at_s);
        found += all->one[i].told;
    }
    assert_int_equal(found, told);
}

static void begin(struct ledger *l, uint32_t more)
{
    struct ledger_alignment a = q3;

    a.ids += more;
    a.told = true; /* which it is not yet, whatever it says */
    assert_int_equal(ledger_align_begin(l, &a, NULL), STATUS_OK);
}

/* What has begun is there after a crash right behind it; what was told has a number, which an older
 * file does not have. */
static void test_an_alignment_is_noted_when_it_begins_and_when_it_tells(void **state)
{
    const char *path = make_ledger("aligned.db");
    struct ledger *l = open_at(path);
    const uint64_t number = ledger_sequence(l), spent = total_of(l);

    (void)state;
    expect_noted(l, 0, 0);
    begin(l, 0);
    assert_int_equal(ledger_sequence(l), number);
    ledger_close(l);
    l = open_at(path);
    expect_noted(l, 1, 0);
    begin(l, 1);
    assert_int_equal(ledger_align_tell(l, NULL), STATUS_OK);
    assert_int_equal(ledger_sequence(l), number + 1);
    begin(l, 2);
    ledger_close(l);
    l = open_at(path);
    expect_noted(l, 3, 1);
    assert_true(ledger_alignments(l)->one[1].told);
    assert_int_equal(ledger_sequence(l), number + 1);
    assert_int_equal(total_of(l), spent); /* it releases nothing */
    ledger_close(l);
    remove_ledger(path);
}

static void test_people_are_shown_them(void **state)
{
    struct ledger *l = open_at(":memory:");
    struct buf out;

    (void)state;
    begin(l, 0);
    begin(l, 1);
    assert_int_equal(ledger_align_tell(l, NULL), STATUS_OK);
    buf_init(&out, 10000);
    assert_int_equal(ledger_print(l, &out), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_non_null(strstr((const char *)out.data, "q3-a "));
    assert_non_null(strstr((const char *)out.data, "abcd00000000      285  2026-09-21  no\n"));
    assert_non_null(strstr((const char *)out.data, "abcd00000000      286  2026-09-21  yes\n"));
    buf_deinit(&out);
    ledger_close(l);
}

/* Everything known is written anew now and then, alignments among it. */
static void test_they_stay_when_the_log_is_written_anew(void **state)
{
    const char *path = make_ledger("folded.db");
    struct ledger *l = open_at(path);
    uint64_t number;

    (void)state;
    begin(l, 0);
    assert_int_equal(ledger_align_tell(l, NULL), STATUS_OK);
    begin(l, 1);
    l->records += 3 * LEDGER_FOLD_RECORDS;
    assert_int_equal(ledger_fold(l, NULL), STATUS_OK);
    assert_true(l->records < LEDGER_FOLD_RECORDS); /* it was */
    number = ledger_sequence(l);
    expect_noted(l, 2, 1);
    ledger_close(l);
    l = open_at(path);
    expect_noted(l, 2, 1);
    assert_int_equal(ledger_sequence(l), number);
    assert_int_equal(ledger_align_tell(l, NULL), STATUS_OK);
    assert_int_equal(ledger_sequence(l), number + 1);
    ledger_close(l);
    remove_ledger(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_alignment_is_noted_when_it_begins_and_when_it_tells),
        cmocka_unit_test(test_people_are_shown_them),
        cmocka_unit_test(test_they_stay_when_the_log_is_written_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
