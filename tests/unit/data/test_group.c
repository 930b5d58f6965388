/* test_group.c -- the column that says whose a row is: no feature, compared as bytes, in the order
 * of the table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/group.h"

#include "common/base/mem.h"
#include "common/data/intake.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct table_want BY_WHO = {.group = "who"}, ALL = {.labels = false};

static void read_table(struct table *t, const char *path, const struct table_want *want)
{
    struct error err = {0};

    if (table_read(t, path, want, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Wherever the column stands, and in whatever order the lines are. */
static void test_the_column_is_no_feature_and_the_rest_is_as_without_it(void **state)
{
    static const char *const with[] = {
        "id,who,a,b\n3,ann,5,6\n1,bob,1,2\n2,ann,3,4\n",
        "id,a,who,b\n3,5,ann,6\n1,1,bob,2\n2,3,ann,4\n",
        "id,a,b,who\n3,5,6,ann\n1,1,2,bob\n2,3,4,ann\n",
    };
    struct table plain;

    (void)state;
    read_table(&plain, scratch_write_text("plain.csv", "id,a,b\n3,5,6\n1,1,2\n2,3,4\n"), &ALL);
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        const char *path = scratch_write_text("with.csv", with[i]);
        struct error err = {0};
        struct group g = {0};
        struct table t;

        read_table(&t, path, &BY_WHO);
        assert_int_equal(t.rows, 3);
        assert_int_equal(t.cols, 2);
        assert_memory_equal(t.x, plain.x, 6 * sizeof *t.x);
        assert_string_equal(t.names, "a");
        assert_string_equal(t.names + TABLE_NAME_MAX, "b");
        assert_int_equal(
            group_read(&g, &(struct group_from){.path = path, .column = "who"}, &t, &err),
            STATUS_OK);
        assert_int_equal(group_number(&g, &err), STATUS_OK);
        assert_int_equal(g.n, 2);
        assert_string_equal(group_name(&g, 0), "bob");
        assert_string_equal(group_name(&g, 1), "ann");
        assert_string_equal(group_name(&g, 2), "ann");
        assert_true(g.of[1] == g.of[2] && g.of[0] != g.of[1]);
        group_deinit(&g);
        table_deinit(&t);
    }
    table_deinit(&plain);
}

static void test_values_are_compared_as_bytes_and_over_both_tables(void **state)
{
    const char *train =
        scratch_write_text("train.csv", "id,who,a\n1,7,0\n2,07,0\n3,7.0,0\n4,7,0\n");
    const char *test = scratch_write_text("test.csv", "id,who,a\n9,7,0\n8,new one,0\n");
    struct table a, b;
    struct error err = {0};
    struct group g = {0};

    (void)state;
    read_table(&a, train, &BY_WHO);
    read_table(&b, test, &BY_WHO);
    assert_int_equal(group_read(&g, &(struct group_from){.path = train, .column = "who"}, &a, &err),
                     STATUS_OK);
    assert_int_equal(group_read(&g, &(struct group_from){.path = test, .column = "who"}, &b, &err),
                     STATUS_OK);
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    assert_int_equal(g.rows, 6);
    assert_int_equal(g.n, 4);
    assert_true(g.of[0] == g.of[3] && g.of[0] == g.of[5]); /* row 8 stands before 9 */
    assert_true(g.of[0] != g.of[1] && g.of[1] != g.of[2] && g.of[0] != g.of[2]);
    assert_string_equal(group_name(&g, 4), "new one");
    group_deinit(&g);
    table_deinit(&a);
    table_deinit(&b);
}

static size_t odd_row(const char *train_text, const char *test_text)
{
    const char *train = scratch_write_text("train.csv", train_text);
    const char *test = scratch_write_text("test.csv", test_text);
    struct table a, b;
    struct error err = {0};
    struct group g = {0};
    size_t row;

    read_table(&a, train, &BY_WHO);
    read_table(&b, test, &BY_WHO);
    assert_int_equal(group_read(&g, &(struct group_from){.path = train, .column = "who"}, &a, &err),
                     STATUS_OK);
    assert_int_equal(group_read(&g, &(struct group_from){.path = test, .column = "who"}, &b, &err),
                     STATUS_OK);
    assert_int_equal(group_number(&g, &err), STATUS_OK);
    row = group_at_odds(&g, &a, &b);
    group_deinit(&g);
    table_deinit(&a);
    table_deinit(&b);
    return row;
}

static void test_the_ids_may_stand_in_a_column_of_another_name(void **state)
{
    const char *path = scratch_write_text("t.csv", "a,who,key\n1,ann,7\n2,bob,8\n");
    const struct intake_want want = {.id = "key", .group = "who", .limits = &INTAKE_LIMITS};
    struct group_from from = {.path = path, .id = "key", .column = "who"};
    struct schema schema = {0};
    struct error err = {0};
    struct group g = {0};
    struct table t;

    (void)state;
    assert_int_equal(intake_read(&t, &schema, path, &want, &err), STATUS_OK);
    assert_int_equal(group_read(&g, &from, &t, &err), STATUS_OK);
    assert_string_equal(group_name(&g, 1), "bob");
    from.id = "";
    assert_int_equal(group_read(&g, &from, &t, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv:1: no column \"id\""));
    group_deinit(&g);
    table_deinit(&t);
    schema_deinit(&schema);
}

static void test_an_id_in_both_tables_is_of_one_group(void **state)
{
    static const char train[] = "id,who,a\n1,ann,0\n2,bob,0\n30,ann,0\n";

    (void)state;
    assert_int_equal(odd_row(train, "id,who,a\n2,bob,0\n1,ann,0\n4,new,0\n"), 3);
    assert_int_equal(odd_row(train, "id,who,a\n3,bob,0\n4,ann,0\n"), 2);
    assert_int_equal(odd_row(train, "id,who,a\n30,bob,0\n2,bob,0\n1,ann,0\n"), 2);
    assert_int_equal(odd_row(train, "id,who,a\n30,new,0\n2,new,0\n4,ann,0\n"), 0);
}

static void refused(const char *text, const char *words)
{
    const char *path = scratch_write_text("bad.csv", text);
    struct table t;
    struct error err = {0};
    struct group g = {0};
    enum status s = table_read(&t, path, &BY_WHO, &err);

    if (s == STATUS_OK)
        s = group_read(&g, &(struct group_from){.path = path, .column = "who"}, &t, &err);
    assert_int_equal(s, STATUS_DATA);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    group_deinit(&g);
    table_deinit(&t);
}

static void test_what_is_no_such_column_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("id,a\n1,2\n", "bad.csv:1: no column \"who\"");
    refused("id,who\n1,2\n", "bad.csv:1: no column besides id and \"who\"");
    refused("id,who,a\n1,,2\n", "bad.csv:2: data.group: a value is");
    refused("id,a,who\n1,2,x\n2,3,\n", "bad.csv:3: data.group");
    refused("id,who,a\n1,\"x,y\",2\n", "bad.csv:2: data.group");
    refused("id,who,a\n1,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,2\n",
            "bad.csv:2: data.group");
    refused("id,who,a\n1,x\n", "bad.csv:2: 2 cells, but the header has 3");
    refused("id,a,who\n1,2\n", "bad.csv:2: 2 cells, but the header has 3");
    refused("id,who,a\n1,x,2,3\n", "bad.csv:2: 4 cells, but the header has 3");
    refused("id,a,who\n1,2,x,y\n", "bad.csv:2: 4 cells, but the header has 3");
    refused("id,who,a\n1,x,y\n", "bad.csv:2: column 3 \"a\": not a number");
    refused("id,a,who,b\n1,2,x,\n", "bad.csv:2: column 4 \"b\": empty cell");
    refused("id,a,who\n1,z,x\n", "bad.csv:2: column 2 \"a\": not a number");
    refused("id,who,who,a\n1,x,x,2\n", "columns 2 and 3 are both");
}

static void test_a_table_of_images_has_no_such_column(void **state)
{
    static const uint8_t idx[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 1, 7};
    struct error err = {0};
    struct table t;

    (void)state;
    assert_int_equal(table_read(&t, scratch_write("t.idx", idx, sizeof idx), &BY_WHO, &err),
                     STATUS_DATA);
    assert_non_null(strstr(err.text, "data.group needs CSV"));
}

/* A file that changes between two readings is not taken for what it was. */
static void test_another_file_under_the_name_is_noticed(void **state)
{
    static const char *const other[] = {"id,who,a\n1,x,2\n", "id,who,a\n1,x,2\n2,x,2\n3,x,2\n",
                                        "id,who,a\n1,x,2\n3,x,2\n"};
    struct error err = {0};
    struct table t;

    (void)state;
    read_table(&t, scratch_write_text("t.csv", "id,who,a\n1,x,2\n2,y,2\n"), &BY_WHO);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        struct group g = {0};

        assert_int_equal(
            group_read(&g,
                       &(struct group_from){.path = scratch_write_text("t.csv", other[i]),
                                            .column = "who"},
                       &t, &err),
            STATUS_DATA);
        assert_non_null(strstr(err.text, "changed between"));
        group_deinit(&g);
    }
    table_deinit(&t);
}

static void test_short_memory_is_told(void **state)
{
    const char *path = scratch_write_text("t.csv", "id,who,a\n1,x,2\n2,y,2\n");
    struct error err = {0};
    struct table t;
    uint64_t n = 0;

    (void)state;
    read_table(&t, path, &BY_WHO);
    for (enum status s = STATUS_MEMORY; s != STATUS_OK;) {
        struct group g = {0};

        mem_fail_at(++n);
        s = group_read(&g, &(struct group_from){.path = path, .column = "who"}, &t, &err);
        if (s == STATUS_OK)
            s = group_number(&g, &err);
        mem_fail_at(0);
        assert_true(s == STATUS_OK || status_kind(s) == STATUS_KIND_LOCAL || s == STATUS_DATA);
        group_deinit(&g);
        assert_true(n < 20);
    }
    assert_true(n > 3);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_column_is_no_feature_and_the_rest_is_as_without_it),
        cmocka_unit_test(test_values_are_compared_as_bytes_and_over_both_tables),
        cmocka_unit_test(test_the_ids_may_stand_in_a_column_of_another_name),
        cmocka_unit_test(test_an_id_in_both_tables_is_of_one_group),
        cmocka_unit_test(test_what_is_no_such_column_is_refused_with_its_place),
        cmocka_unit_test(test_a_table_of_images_has_no_such_column),
        cmocka_unit_test(test_another_file_under_the_name_is_noticed),
        cmocka_unit_test(test_short_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
