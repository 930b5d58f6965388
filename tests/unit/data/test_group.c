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

static const struct table_want BY_WHO = {.group = "who"}, ALL = {.labels = false},
                               BY_WHEN = {.time = "when"};

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

/* --- when rows were --- */

static void places(const char *text, const struct table_want *want, const uint32_t *expected)
{
    const char *path = scratch_write_text("when.csv", text);
    struct error err = {0};
    uint32_t *place;
    struct table t;

    read_table(&t, path, want);
    assert_int_equal(t.cols, 1);
    assert_string_equal(t.names, "a");
    if (group_places(&place, &(struct group_from){.path = path, .column = "when"}, &t, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(place, expected, t.rows * sizeof *place);
    mem_free(place);
    table_deinit(&t);
}

/* Rows of a table are in the order of ids, whatever the file's is. */
static void test_places_are_by_time_and_then_by_id(void **state)
{
    static const struct table_want both = {.group = "who", .time = "when"};

    (void)state;
    places("id,when,a\n1,5,0\n2,-1e3,0\n3,5.0,0\n10,4.5,0\n", &BY_WHEN,
           (const uint32_t[]){2, 0, 3, 1});
    places("when,id,a\n2020-03-01,3,0\n2020-02-29 23:59:59,20,0\n2020-03-01 01:00+01:00,1,0\n",
           &BY_WHEN, (const uint32_t[]){1, 2, 0});
    places("id,who,a,when\n1,x,0,1700000000.5\n2,y,0,1700000000.25\n", &both,
           (const uint32_t[]){1, 0});
}

static void no_places(const char *text, const char *words)
{
    const char *path = scratch_write_text("when.csv", text);
    struct error err = {0};
    uint32_t *place = NULL;
    struct table t;
    enum status s = table_read(&t, path, &BY_WHEN, &err);

    if (s == STATUS_OK)
        s = group_places(&place, &(struct group_from){.path = path, .column = "when"}, &t, &err);
    assert_int_equal(s, STATUS_DATA);
    assert_null(place);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    table_deinit(&t);
}

static void test_what_is_no_time_is_refused_with_its_place(void **state)
{
    (void)state;
    no_places("id,a\n1,2\n", "when.csv:1: no column \"when\"");
    no_places("id,when\n1,2\n", "when.csv:1: no column besides id and \"when\"");
    no_places("id,when,a\n1,,2\n", "when.csv:2: column 2 \"when\": neither a number nor a time");
    no_places("id,when,a\n1,NA,2\n", "when.csv:2: column 2 \"when\": neither");
    no_places("id,when,a\n1,2020-01-01,2\n2,,2\n", "when.csv:3: column 2 \"when\": not a time");
    no_places("id,when,a\n1,2020-01-01,2\n2,7,2\n", "when.csv:3: column 2 \"when\": not a time");
    no_places("id,when,a\n1,7,2\n2,2020-01-01,2\n", "when.csv:3: column 2 \"when\": not a number");
    no_places("id,when,a\n1,1e999,2\n", "when.csv:2: column 2 \"when\": neither");
    no_places("id,when,a\n1,nan,2\n", "when.csv:2: column 2 \"when\": neither");
    no_places("id,when,a\n1,2020-02-30,2\n", "when.csv:2: column 2 \"when\": neither");
}

static void test_times_are_no_ids_and_no_names(void **state)
{
    const struct table_want same = {.group = "who", .time = "who"}, ids = {.time = "id"};
    const char *path = scratch_write_text("t.csv", "id,who,a\n1,7,2\n");
    struct error err = {0};
    struct table t;

    (void)state;
    assert_int_equal(table_read(&t, path, &same, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv:1: column 2 \"who\": one column cannot be the times"));
    err = (struct error){0};
    assert_int_equal(table_read(&t, path, &ids, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "t.csv:1: column 1 \"id\": one column cannot be the times"));
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
    err = (struct error){0};
    assert_int_equal(table_read(&t, scratch_write("t.idx", idx, sizeof idx), &BY_WHEN, &err),
                     STATUS_DATA);
    assert_non_null(strstr(err.text, "data.time needs CSV"));
}

/* A file that changes between two readings is not taken for what it was. */
static void test_another_file_under_the_name_is_noticed(void **state)
{
    static const char *const other[] = {"id,who,a\n1,x,2\n", "id,who,a\n1,x,2\n2,x,2\n3,x,2\n",
                                        "id,who,a\n1,x,2\n3,x,2\n"};
    struct error err = {0};
    uint32_t *place;
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
        assert_int_equal(
            group_places(&place, &(struct group_from){.path = scratch_path("t.csv"), .column = "a"},
                         &t, &err),
            STATUS_DATA);
        assert_null(place);
        assert_non_null(strstr(err.text, "changed between"));
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
    n = 0;
    for (enum status s = STATUS_MEMORY; s != STATUS_OK;) {
        uint32_t *place;

        mem_fail_at(++n);
        s = group_places(&place, &(struct group_from){.path = path, .column = "a"}, &t, &err);
        mem_fail_at(0);
        assert_true((place != NULL) == (s == STATUS_OK) && n < 20);
        mem_free(place);
    }
    assert_true(n > 2);
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
        cmocka_unit_test(test_places_are_by_time_and_then_by_id),
        cmocka_unit_test(test_what_is_no_time_is_refused_with_its_place),
        cmocka_unit_test(test_times_are_no_ids_and_no_names),
        cmocka_unit_test(test_a_table_of_images_has_no_such_column),
        cmocka_unit_test(test_another_file_under_the_name_is_noticed),
        cmocka_unit_test(test_short_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
