/* test_validate.c -- which rows are kept back: by their ids alone, the same ones on every side.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/validate.h"

#include "common/base/mem.h"
#include "common/data/order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 400, ID_ROOM = 16 };
#define ALICE 0.5926261466388542
#define P7 0.968461561842678
#define BY_ID(of) ((struct validate_rule){.share = (of)})

/* Rows `first` .. `first` + rows, whose ids are their numbers and whose values are those, too. */
static struct table table_of(uint32_t first, size_t rows, size_t cols)
{
    struct table t = {.rows = rows, .cols = cols};
    size_t at = 0;

    t.x = mem_alloc(rows, cols * sizeof *t.x);
    t.id_at = mem_alloc(rows, sizeof *t.id_at);
    t.id_text = mem_alloc(rows, ID_ROOM);
    t.names = mem_alloc(cols, TABLE_NAME_MAX);
    for (size_t i = 0; i < rows; i++) {
        t.id_at[i] = (uint32_t)at;
        at += (size_t)snprintf(t.id_text + at, ID_ROOM, "%u", first + (uint32_t)i) + 1;
        for (size_t c = 0; c < cols; c++)
            t.x[i * cols + c] = (float)(first + i);
    }
    snprintf(t.names, TABLE_NAME_MAX, "age");
    return t;
}

static size_t split(struct validate *v, struct table *train, struct table *test, double share)
{
    struct error err = {0};

    assert_int_equal(STATUS_OK, validate_split(v, train, test, &BY_ID(share), &err));
    return train->rows;
}

static void in_order(const struct table *t)
{
    for (size_t i = 1; i < t->rows; i++) {
        const char *a = table_id(t, i - 1), *b = table_id(t, i);

        assert_true(order_compare(a, strlen(a), b, strlen(b)) < 0);
    }
}

static void test_every_row_is_in_one_table_with_its_own_values(void **state)
{
    struct table train = table_of(1000, ROWS, 3), test = table_of(900, 250, 3);
    struct validate v;
    size_t kept = 0;

    (void)state;
    test.rows = 80; /* ids 900 .. 979 */
    split(&v, &train, &test, 0.25);
    assert_int_equal(ROWS + 80, train.rows + test.rows);
    in_order(&train);
    in_order(&test);
    assert_false(validate_repeats(&train, &test).shared || validate_repeats(&train, &test).twice);
    for (size_t i = 0; i < train.rows; i++) {
        assert_false(validate_keeps_back(table_id(&train, i), 0.25));
        assert_true(atof(table_id(&train, i)) == (double)train.x[3 * i + 2]);
    }
    for (size_t i = 0; i < test.rows; i++) {
        const double id = atof(table_id(&test, i));

        assert_true(id == (double)test.x[3 * i]);
        assert_int_equal(id >= 1000, validate_row(&v, i));
        assert_true(id < 1000 || validate_keeps_back(table_id(&test, i), 0.25));
        kept += validate_row(&v, i);
    }
    assert_int_equal(ROWS, train.rows + kept);
    assert_string_equal("age", test.names);
    assert_true(kept > ROWS / 6 && kept < ROWS / 3); /* eight standard deviations */
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&test);
}

/* A server has one column, a party many others: what is kept back is the same. */
static void test_each_side_keeps_the_same_rows_back_whatever_stands_in_them(void **state)
{
    struct table a = table_of(0, ROWS, 1), b = table_of(0, ROWS, 7), none = {0}, no_test = {0};
    struct validate va, vb;

    (void)state;
    for (size_t i = 0; i < b.rows * b.cols; i++)
        b.x[i] = -b.x[i];
    split(&va, &a, &none, 0.1);
    split(&vb, &b, &no_test, 0.1);
    assert_true(table_same_ids(&a, &b) && table_same_ids(&none, &no_test));
    assert_int_equal(va.held, none.rows);
    validate_deinit(&va);
    validate_deinit(&vb);
    table_deinit(&a);
    table_deinit(&b);
    table_deinit(&none);
    table_deinit(&no_test);
}

/* By an independent program: int.from_bytes(sha256(b"vfl/validate/1\0" + id)[:8], "little"). */
static void test_an_id_is_kept_back_by_a_hash_that_others_can_compute(void **state)
{
    (void)state;
    assert_true(validate_keeps_back("7", 1));
    assert_false(validate_keeps_back("7", 0));
    assert_false(validate_keeps_back("alice", ALICE - 1e-9));
    assert_true(validate_keeps_back("alice", ALICE + 1e-9));
}

/* A larger share keeps back what a smaller one does. */
static void test_a_larger_share_only_adds_rows(void **state)
{
    char id[ID_ROOM];

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_true(!validate_keeps_back(id, 0.1) || validate_keeps_back(id, 0.3));
    }
}

/* As two IDX files have them: each counts its rows from 0. */
static void test_rows_that_two_files_have_counted_are_other_rows(void **state)
{
    struct table train = table_of(0, ROWS, 2), test = table_of(0, 120, 2);
    struct validate v;
    size_t tested = 0;

    (void)state;
    train.counted = test.counted = true;
    split(&v, &train, &test, 0.25);
    in_order(&test);
    assert_false(table_share_ids(&train, &test));
    assert_int_equal(ROWS + 120, train.rows + test.rows);
    for (size_t i = 0; i < test.rows; i++) {
        const char *id = table_id(&test, i);
        const bool kept = validate_row(&v, i);

        assert_int_equal(kept, strncmp(id, "test-", 5) != 0);
        assert_true(atof(kept ? id : id + 5) == (double)test.x[2 * i]);
        assert_string_equal(validate_own_id(&test, i), kept ? id : id + 5);
        assert_true(!kept || validate_keeps_back(id, 0.25));
        tested += !kept;
    }
    assert_int_equal(120, tested);
    assert_true(validate_repeats(&train, &test).shared); /* they have their numbers in common */
    assert_true(validate_repeats(&train, &test).twice);
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&test);
}

/* Its twin is refused: where somebody has written the ids, the same one is the same row. */
static void test_rows_of_which_one_file_names_the_ids_are_the_same(void **state)
{
    (void)state;
    for (int counted = 0; counted < 3; counted++) {
        struct table train = table_of(0, ROWS, 1), test = table_of(0, 9, 1);
        struct validate v;
        struct error err = {0};

        train.counted = counted == 1;
        test.counted = counted == 2;
        assert_int_equal(STATUS_DATA, validate_split(&v, &train, &test, &BY_ID(0.25), &err));
        assert_string_equal("0", table_id(&test, 0));
        table_deinit(&train);
        table_deinit(&test);
    }
}

/* Takes `chosen` down. */
static void same_left(struct validate *chosen, const struct validate *v)
{
    assert_int_equal(chosen->left, v->left);
    assert_memory_equal(chosen->from, v->from, v->left * sizeof *v->from);
    validate_deinit(chosen);
}

static void test_what_is_left_can_be_looked_at_before_the_split(void **state)
{
    struct table train = table_of(0, ROWS, 2), none = {0};
    struct error err = {0};
    struct validate v, left;

    (void)state;
    assert_int_equal(STATUS_OK, validate_choose(&left, &train, &BY_ID(0.3), &err));
    assert_int_equal(ROWS, train.rows);
    split(&v, &train, &none, 0.3);
    same_left(&left, &v);
    assert_int_equal(STATUS_DATA,
                     validate_choose(&left, &train, &BY_ID(0.3), &err)); /* all of them */
    assert_int_equal(STATUS_DATA, validate_choose(&left, &train, &BY_ID(1), &err)); /* none */
    assert_null(left.from);
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&none);
}

static void refused(size_t rows, uint32_t test_first, size_t test_rows, double share)
{
    struct table train = table_of(0, rows, 1), test = {0};
    struct validate v;
    struct error err = {0};

    if (test_rows > 0)
        test = table_of(test_first, test_rows, 1);
    assert_int_equal(STATUS_DATA, validate_split(&v, &train, &test, &BY_ID(share), &err));
    assert_non_null(strstr(err.text, "data.validate"));
    assert_int_equal(rows, train.rows); /* nothing was taken */
    assert_int_equal(test_rows, test.rows);
    table_deinit(&train);
    table_deinit(&test);
}

static void test_a_split_with_nothing_on_one_side_is_refused(void **state)
{
    (void)state;
    refused(3, 0, 0, 1e-12);
    refused(3, 0, 0, 1);
}

static void test_a_row_that_is_also_tested_by_is_refused(void **state)
{
    (void)state;
    refused(ROWS, ROWS - 1, 10, 0.2);
    refused(ROWS, 5, 1, 0.2);
}

static void test_labels_are_cut_as_their_rows_were(void **state)
{
    struct table train = table_of(0, ROWS, 2), labels = table_of(0, ROWS, 1), none = {0};
    struct validate v;
    struct error err = {0};

    (void)state;
    split(&v, &train, &none, 0.3);
    assert_int_equal(STATUS_OK, validate_cut(&v, &labels, &err));
    assert_true(table_same_ids(&train, &labels));
    for (size_t i = 0; i < labels.rows; i++)
        assert_true(fabs((double)labels.x[i] - (double)train.x[2 * i]) < 0.5);
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&labels);
    table_deinit(&none);
}

/* Of `rows` rows of persons with `each` rows, whose names are p0, p1, ... */
static struct group persons_of(size_t rows, size_t each)
{
    struct group g = {.rows = rows, .at = mem_alloc(rows, sizeof *g.at)};
    char name[24];

    buf_init(&g.text, 1 << 20);
    for (size_t i = 0; i < rows; i++) {
        snprintf(name, sizeof name, "p%zu", i / each);
        g.at[i] = (uint32_t)g.text.len;
        assert_int_equal(STATUS_OK, buf_append(&g.text, name, strlen(name) + 1));
    }
    return g;
}

static void test_rows_of_one_person_stay_together(void **state)
{
    enum { EACH = 8 };
    struct table train = table_of(0, ROWS, 1), test = {0};
    struct group g = persons_of(ROWS, EACH);
    const struct validate_rule rule = {.share = 0.25, .by = VALIDATE_GROUP, .group = &g};
    bool back[ROWS] = {0};
    struct error err = {0};
    struct validate v;
    size_t apart = 0;

    (void)state;
    assert_int_equal(STATUS_OK, validate_split(&v, &train, &test, &rule, &err));
    for (size_t i = 0; i < test.rows; i++)
        back[(size_t)test.x[i]] = true;
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(back[i], back[i - i % EACH]);
        apart += back[i] != validate_keeps_back(group_name(&g, i), 0.25);
    }
    assert_true(test.rows > ROWS / 8 && test.rows < ROWS / 2);
    assert_true(apart > 0); /* a person is no id: the two rules choose apart */
    validate_deinit(&v);
    group_deinit(&g);
    table_deinit(&train);
    table_deinit(&test);
}

static void test_the_last_rows_by_id_are_kept_back(void **state)
{
    struct table train = table_of(0, ROWS, 1), test = table_of(ROWS, 9, 1);
    const struct validate_rule rule = {.share = 0.3, .by = VALIDATE_ORDER},
                               none = {.share = 0.0001, .by = VALIDATE_ORDER};
    const size_t kept = (size_t)(0.3 * ROWS);
    struct error err = {0};
    struct validate v, left;

    (void)state;
    assert_int_equal(STATUS_OK, validate_choose(&left, &train, &rule, &err));
    assert_int_equal(STATUS_OK, validate_split(&v, &train, &test, &rule, &err));
    same_left(&left, &v);
    assert_int_equal(ROWS - kept, train.rows);
    for (size_t i = 0; i < train.rows; i++)
        assert_true(train.x[i] < (float)(ROWS - kept));
    for (size_t i = 0; i < test.rows; i++)
        assert_int_equal(test.x[i] < ROWS, validate_row(&v, i));
    in_order(&test);
    validate_deinit(&v);
    assert_int_equal(STATUS_DATA, validate_choose(&left, &train, &none, &err)); /* not one row */
    table_deinit(&train);
    table_deinit(&test);
}

/* Places run against the ids, and neighbours are swapped. */
static void test_the_latest_rows_are_kept_back_whatever_their_ids(void **state)
{
    struct table train = table_of(0, ROWS, 1), test = table_of(ROWS, 9, 1);
    static uint32_t place[ROWS];
    const struct validate_rule rule = {.share = 0.3, .by = VALIDATE_TIME, .place = place};
    const size_t kept = (size_t)(0.3 * ROWS);
    struct error err = {0};
    struct validate v, left;

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        place[i] = (uint32_t)(ROWS - 1 - (i ^ 1));
    assert_int_equal(STATUS_OK, validate_choose(&left, &train, &rule, &err));
    assert_int_equal(STATUS_OK, validate_split(&v, &train, &test, &rule, &err));
    same_left(&left, &v);
    assert_int_equal(ROWS - kept, train.rows);
    assert_int_equal(kept + 9, test.rows);
    for (size_t i = 0; i < train.rows; i++)
        assert_true(place[(size_t)train.x[i]] < ROWS - kept);
    for (size_t i = 0; i < test.rows; i++)
        assert_int_equal(test.x[i] < ROWS, validate_row(&v, i));
    in_order(&test);
    validate_deinit(&v);
    table_deinit(&train);
    table_deinit(&test);
}

/* By an independent program: sha256(b"vfl/validate/group/1\0p7")[:8], little-endian, over 2^64. */
static void test_the_hash_of_a_group_is_the_documented_one(void **state)
{
    const double p7 = P7;

    (void)state;
    for (int above = 0; above < 2; above++) {
        struct table train = table_of(0, 2, 1), test = {0};
        struct group g = persons_of(2, 1);
        const struct validate_rule rule = {
            .share = p7 + (above ? 1e-9 : -1e-9), .by = VALIDATE_GROUP, .group = &g};
        struct error err = {0};
        struct validate v;
        enum status s;

        memcpy(g.text.data, "p7", 3);
        memcpy(g.text.data + g.at[1], "p9", 3);
        s = validate_split(&v, &train, &test, &rule, &err);
        assert_int_equal(s, above ? STATUS_DATA : STATUS_OK); /* above: both are kept back */
        validate_deinit(&v);
        group_deinit(&g);
        table_deinit(&train);
        table_deinit(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_in_one_table_with_its_own_values),
        cmocka_unit_test(test_each_side_keeps_the_same_rows_back_whatever_stands_in_them),
        cmocka_unit_test(test_an_id_is_kept_back_by_a_hash_that_others_can_compute),
        cmocka_unit_test(test_a_larger_share_only_adds_rows),
        cmocka_unit_test(test_a_split_with_nothing_on_one_side_is_refused),
        cmocka_unit_test(test_a_row_that_is_also_tested_by_is_refused),
        cmocka_unit_test(test_rows_that_two_files_have_counted_are_other_rows),
        cmocka_unit_test(test_rows_of_which_one_file_names_the_ids_are_the_same),
        cmocka_unit_test(test_what_is_left_can_be_looked_at_before_the_split),
        cmocka_unit_test(test_labels_are_cut_as_their_rows_were),
        cmocka_unit_test(test_rows_of_one_person_stay_together),
        cmocka_unit_test(test_the_last_rows_by_id_are_kept_back),
        cmocka_unit_test(test_the_latest_rows_are_kept_back_whatever_their_ids),
        cmocka_unit_test(test_the_hash_of_a_group_is_the_documented_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
