/* test_ledger_members.c -- a row that was released counts as the same record or person for good:
 * no other grouping of the rows lets its count begin from nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_members.h"

#include "common/privacy/ledger_records.h"
#include "tests/unit/privacy/ledgers.h"

enum { ROWS = 4 };

/* Rows 0 ... 3, and whose they are. */
static const char *const ids[ROWS] = {"0", "1", "2", "3"};
static const char *const pairs[ROWS] = {"0", "0", "1", "1"}; /* some are named like ids */
static const char *const renamed[ROWS] = {"x", "x", "y", "y"};
static const char *const shifted[ROWS] = {"1", "0", "0", "1"};
static const char *const one_moved[ROWS] = {"0", "0", "1", "2"};
static const char *const split[ROWS] = {"0", "9", "1", "1"};

/* Of the first n rows; persons NULL: each is its own. */
static enum status bind_as(struct ledger *l, const char *const *persons, size_t n, uint32_t **slots)
{
    struct error err = {0};
    const enum status s = ledger_bind_persons(
        l, slots, NULL, &(struct ledger_rows){.ids = ids, .persons = persons, .n = n}, &err);

    assert_true((s == STATUS_OK) == (*slots != NULL));
    if (s != STATUS_OK)
        assert_non_null(strstr(err.text, s == STATUS_DATA
                                             ? "row 1 by id is another person's in a table"
                                             : "data.group: a row that it has released"));
    return s;
}

static void expect_bound(struct ledger *l, const char *const *persons, size_t n, enum status want)
{
    uint32_t *slots;

    assert_int_equal(bind_as(l, persons, n, &slots), want);
    mem_free(slots);
}

static void release(struct ledger *l, const char *const *persons, size_t n)
{
    uint32_t *slots;

    assert_int_equal(bind_as(l, persons, n, &slots), STATUS_OK);
    use(l, &PBM);
    reserve(l, LEDGER_TRAIN, slots, n);
    mem_free(slots);
}

/* All of them, `how` often, with each by another process. */
static const char *const *const others[] = {renamed, shifted, one_moved, split, NULL};
enum { OTHERS = sizeof others / sizeof *others };

static void test_released_rows_stay_with_their_person(void **state)
{
    const char *path = scratch_path("persons.db");
    struct ledger *l = open_at(path);

    (void)state;
    release(l, pairs, ROWS);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < OTHERS; i++)
            expect_bound(l, others[i], ROWS, STATUS_POLICY);
        expect_bound(l, pairs, ROWS, STATUS_OK);
        ledger_close(l);
        l = open_at(path);
    }
    release(l, pairs, ROWS);
    assert_int_equal(most_of(l), 4); /* two rows, twice */
    ledger_close(l);
}

static void test_released_rows_of_nobody_get_no_person(void **state)
{
    const char *path = scratch_path("rows.db");
    struct ledger *l = open_at(path);

    (void)state;
    release(l, NULL, 2);
    for (int again = 0; again < 2; again++) {
        expect_bound(l, pairs, ROWS, STATUS_POLICY);
        expect_bound(l, NULL, ROWS, STATUS_OK);
        ledger_close(l);
        l = open_at(path);
    }
    ledger_close(l);
}

/* A start that came to nothing binds nobody. */
static void test_before_its_release_a_row_may_be_anybodys(void **state)
{
    const char *path = scratch_path("before.db");
    struct ledger *l = open_at(path);

    (void)state;
    for (size_t i = 0; i < 2 * OTHERS; i++) {
        expect_bound(l, others[i % OTHERS], ROWS, STATUS_OK);
        ledger_close(l);
        l = open_at(path);
    }
    release(l, shifted, ROWS);
    ledger_close(l);
    l = open_at(path);
    expect_bound(l, pairs, ROWS, STATUS_POLICY);
    expect_bound(l, shifted, ROWS, STATUS_OK);
    ledger_close(l);
}

/* A row that is in two tables is one person's in both; a binding that was refused holds nobody. */
static void test_a_row_that_is_bound_gets_no_other_person_before_the_ledger_is_closed(void **state)
{
    const char *path = scratch_path("both.db");
    struct ledger *l = open_at(path);

    (void)state;
    expect_bound(l, renamed, 1, STATUS_OK);
    expect_bound(l, pairs, 2, STATUS_DATA);
    expect_bound(l, renamed, ROWS, STATUS_OK);
    release(l, renamed, ROWS);
    ledger_close(l);
    l = open_at(path);
    expect_bound(l, pairs, ROWS, STATUS_POLICY);
    expect_bound(l, renamed, ROWS, STATUS_OK);
    ledger_close(l);
}

/* What it began to hold, a row known before, may be anybody's. */
static void test_a_binding_that_is_refused_holds_no_row(void **state)
{
    static const char *const last_first[] = {"3", "0"}, *const one[] = {"x", "y"},
                             *const other[] = {"z", "x"};
    const char *path = scratch_path("refused.db");
    struct ledger *l = open_at(path);
    struct error err = {0};
    uint32_t *slots;

    (void)state;
    expect_bound(l, renamed, ROWS, STATUS_OK);
    ledger_close(l);
    l = open_at(path);
    expect_bound(l, renamed, 1, STATUS_OK);
    assert_int_equal(
        ledger_bind_persons(l, &slots, NULL,
                            &(struct ledger_rows){.ids = last_first, .persons = one, .n = 2}, &err),
        STATUS_DATA);
    assert_int_equal(ledger_bind_persons(
                         l, &slots, NULL,
                         &(struct ledger_rows){.ids = last_first, .persons = other, .n = 2}, &err),
                     STATUS_OK);
    mem_free(slots);
    ledger_close(l);
}

/* Of the tables of a job that is over, while others stay bound. */
static void test_a_table_that_is_let_go_of_holds_no_row(void **state)
{
    struct ledger *l = open_at(":memory:");
    uint32_t before;

    (void)state;
    expect_bound(l, renamed, 1, STATUS_OK);
    before = ledger_bindings(l);
    expect_bound(l, renamed, ROWS, STATUS_OK);
    expect_bound(l, one_moved, ROWS, STATUS_DATA);
    ledger_let_go(l, before);
    expect_bound(l, pairs, ROWS, STATUS_DATA); /* the first row is held by another table */
    ledger_let_go(l, before - 1);
    expect_bound(l, pairs, ROWS, STATUS_OK);
    release(l, pairs, ROWS);
    ledger_let_go(l, 0);
    for (size_t i = 0; i < OTHERS; i++)
        expect_bound(l, others[i], ROWS, STATUS_POLICY); /* for good */
    ledger_close(l);
}

static void test_another_row_of_a_person_inherits_what_it_has_spent(void **state)
{
    struct ledger *l = open_at(":memory:");

    (void)state;
    release(l, pairs, ROWS - 1);
    assert_int_equal(most_of(l), 2);
    release(l, pairs, ROWS);
    assert_int_equal(most_of(l), 4);
    ledger_close(l);
}

static void test_a_refused_data_set_leaves_nothing_behind(void **state)
{
    static const char *const late[ROWS] = {"0", "7", "8", "9"};
    struct ledger *l = open_at(":memory:");
    uint64_t records;

    (void)state;
    release(l, pairs, 2);
    records = l->ids.n;
    expect_bound(l, late, ROWS, STATUS_POLICY); /* by its second row */
    expect_bound(l, NULL, ROWS, STATUS_POLICY);
    assert_int_equal(l->ids.n, records);
    assert_int_equal(l->members.row.n, 2);
    expect_bound(l, pairs, ROWS, STATUS_OK);
    ledger_close(l);
}

static void test_it_is_known_when_all_was_written_anew(void **state)
{
    const char *path = scratch_path("anew.db");
    struct ledger *l = open_at(path);
    uint32_t *slots;

    (void)state;
    release(l, pairs, ROWS);
    l->records = 1000 * LEDGER_FOLD_RECORDS; /* so many, it takes it */
    assert_int_equal(bind_as(l, pairs, ROWS, &slots), STATUS_OK);
    reserve(l, LEDGER_TRAIN, slots, ROWS);
    mem_free(slots);
    assert_true(l->records < LEDGER_FOLD_RECORDS);
    ledger_close(l);
    l = open_at(path);
    for (size_t i = 0; i < OTHERS; i++)
        expect_bound(l, others[i], ROWS, STATUS_POLICY);
    release(l, pairs, ROWS);
    assert_int_equal(most_of(l), 6);
    ledger_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_rows_stay_with_their_person),
        cmocka_unit_test(test_released_rows_of_nobody_get_no_person),
        cmocka_unit_test(test_before_its_release_a_row_may_be_anybodys),
        cmocka_unit_test(test_a_row_that_is_bound_gets_no_other_person_before_the_ledger_is_closed),
        cmocka_unit_test(test_a_binding_that_is_refused_holds_no_row),
        cmocka_unit_test(test_a_table_that_is_let_go_of_holds_no_row),
        cmocka_unit_test(test_another_row_of_a_person_inherits_what_it_has_spent),
        cmocka_unit_test(test_a_refused_data_set_leaves_nothing_behind),
        cmocka_unit_test(test_it_is_known_when_all_was_written_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
