/* test_table.c -- which reader a file gets, labels as classes, gathering rows,
 * equal ids.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"

#include "common/data/table.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct table_want FEATURES = {.labels = false}, LABELS = {.labels = true};
static const char CSV[] = "id,a,b\n2,3,4\n1,1,2\n10,5,6\n";
static const uint8_t IDX[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255};
static struct error err;

static const char *said(void)
{
    return err.text + strlen(scratch_dir()) + 1;
}

static struct table read_text(const char *text, const struct table_want *want)
{
    struct table t;

    err = (struct error){0};
    if (table_read(&t, scratch_write_text("t.csv", text), want, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return t;
}

/* --- which reader --------------------------------------------------------------------------------
 */

static void expect_rows(const char *path, size_t rows)
{
    struct table t;

    if (table_read(&t, path, &FEATURES, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(t.rows, rows);
    assert_int_equal(t.cols, 2);
    assert_int_equal(t.names == NULL, rows == 1);
    table_deinit(&t);
    assert_true(t.x == NULL && t.rows == 0);
    table_deinit(&t);
}

static void test_the_name_or_the_content_chooses_the_reader(void **unused)
{
    (void)unused;
    expect_rows(scratch_write("t.csv", CSV, sizeof CSV - 1), 3);
    expect_rows(scratch_write_gzip("t.csv.gz", CSV, sizeof CSV - 1), 3);
    expect_rows(scratch_write("t.idx", IDX, sizeof IDX), 1);
    expect_rows(scratch_write_gzip("t.idx.gz", IDX, sizeof IDX), 1);
    expect_rows(scratch_write("features", CSV, sizeof CSV - 1), 3);
    expect_rows(scratch_write_gzip("train-images-idx3-ubyte.gz", IDX, sizeof IDX), 1);
}

static void refuse(const char *path, const char *expected)
{
    struct table t;

    assert_int_equal(table_read(&t, path, &FEATURES, &err), STATUS_DATA);
    assert_string_equal(said(), expected);
    assert_true(t.x == NULL && t.rows == 0);
}

static void test_content_that_belies_the_name_is_refused(void **unused)
{
    (void)unused;
    refuse(scratch_write("t.csv", IDX, sizeof IDX), "t.csv:1: byte 0 in the line: not a text file");
    refuse(scratch_write("t.idx", CSV, sizeof CSV - 1), "t.idx: not an IDX file");
    refuse(scratch_path("missing"), "missing: No such file or directory");
    refuse(scratch_write("empty", "", 0), "empty: empty file");
}

/* The shipped sets are whole: features and labels in one file.  A party must not read its labels.
 */
static void test_the_shipped_sets_keep_their_labels_from_parties(void **unused)
{
    struct table t;

    (void)unused;
    assert_int_equal(table_read(&t, "tests/data/breast_cancer.csv.gz", &FEATURES, &err),
                     STATUS_DATA);
    assert_non_null(strstr(err.text, "column 32 \"label\": labels belong to the server"));
    assert_int_equal(table_read(&t, "tests/data/digits.csv.gz", &FEATURES, &err), STATUS_DATA);
    assert_non_null(strstr(err.text, "column 66 \"label\": labels belong to the server"));
}

/* --- bounds --- */

static void test_values_are_cut_off_at_the_limit_and_counted(void **unused)
{
    struct table t = read_text("id,a,b\n1,3e38,-3e38\n2,1e12,1.1e12\n3,-5,0\n", &FEATURES);

    (void)unused;
    assert_int_equal(table_limit(&t), 3);
    assert_true(t.x[0] == TABLE_VALUE_LIMIT && t.x[1] == -TABLE_VALUE_LIMIT);
    assert_true(t.x[2] == TABLE_VALUE_LIMIT && t.x[3] == TABLE_VALUE_LIMIT);
    assert_true(t.x[4] == -5 && t.x[5] == 0);
    assert_int_equal(table_limit(&t), 0);
    table_deinit(&t);
}

/* --- labels --------------------------------------------------------------------------------------
 */

static void test_labels_are_classes_from_0(void **unused)
{
    struct table t = read_text("id,label\n1,0\n3,4\n2,2.0\n", &LABELS);
    uint32_t classes = 0;
    int32_t label[3];

    (void)unused;
    assert_int_equal(table_classes(&t, label, &classes, 5, "l.csv", &err), STATUS_OK);
    assert_int_equal(classes, 5);
    assert_true(label[0] == 0 && label[1] == 2 && label[2] == 4);
    assert_int_equal(table_classes(&t, label, &classes, 4, "l.csv", &err), STATUS_DATA);
    assert_string_equal(err.text, "l.csv: id \"3\": the label is not a whole number from 0 to 3");
    table_deinit(&t);
}

static void test_a_label_that_is_no_class_is_refused(void **unused)
{
    static const char *const labels[] = {"0.5", "-1", "1e9", "4294967296", "1.0000001"};
    char text[64];

    (void)unused;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct table t;
        uint32_t classes;
        int32_t label[2];

        snprintf(text, sizeof text, "id,label\n1,0\n2,%s\n", labels[i]);
        t = read_text(text, &LABELS);
        assert_int_equal(table_classes(&t, label, &classes, 1000, "l.csv", &err), STATUS_DATA);
        assert_string_equal(err.text,
                            "l.csv: id \"2\": the label is not a whole number from 0 to 999");
        table_deinit(&t);
    }
}

/* --- gathering -----------------------------------------------------------------------------------
 */

static void test_gather_copies_rows_in_the_order_asked(void **unused)
{
    enum { ROWS = 50, COLS_MAX = 130, PICKS = 70 };
    static float x[ROWS * COLS_MAX], out[PICKS * COLS_MAX + 1];
    uint32_t rows[PICKS];

    (void)unused;
    for (size_t i = 0; i < ROWS * COLS_MAX; i++)
        x[i] = (float)i;
    for (uint32_t i = 0; i < PICKS; i++)
        rows[i] = i * 37 % ROWS;
    for (size_t cols = 1; cols <= COLS_MAX; cols++) {
        struct table t = {.rows = ROWS, .cols = cols, .x = x};

        for (size_t n = 0; n <= PICKS; n += n < 12 ? 1 : 29) {
            out[n * cols] = -1;
            table_gather(out, &t, rows, n);
            for (size_t i = 0; i < n * cols; i++)
                assert_true(out[i] == (float)(rows[i / cols] * cols + i % cols));
            assert_true(out[n * cols] == -1);
        }
    }
}

static void test_gather_allocates_nothing(void **unused)
{
    struct table t = read_text(CSV, &FEATURES);
    const uint32_t rows[] = {2, 0, 2};
    static const float expected[] = {5, 6, 1, 2, 5, 6};
    float out[6];
    uint64_t before = mem_count();

    (void)unused;
    table_gather(out, &t, rows, 3);
    assert_memory_equal(out, expected, sizeof out);
    assert_int_equal(mem_count(), before);
    table_deinit(&t);
}

/* --- ids -----------------------------------------------------------------------------------------
 */

static bool same_ids(const char *a, const char *b)
{
    struct table x = read_text(a, &FEATURES), y = read_text(b, &FEATURES);
    const bool same = table_same_ids(&x, &y);

    assert_int_equal(table_same_ids(&y, &x), same);
    table_deinit(&x);
    table_deinit(&y);
    return same;
}

static void test_files_of_the_same_ids_are_alike_in_any_order(void **unused)
{
    static const char *const others[] = {"id,a\n1,0\n2,0\n11,0\n", "id,a\n1,0\n2,0\n",
                                         "id,a\n1,0\n2,0\n10,0\n20,0\n", "id,a\n12,0\n10,0\n",
                                         "id,a\n01,0\n2,0\n10,0\n"};
    const struct table none = {0};
    struct table t = read_text(CSV, &FEATURES);

    (void)unused;
    assert_true(same_ids(CSV, CSV));
    assert_true(same_ids(CSV, "id,other\n10,0\n1,0\n2,0\n"));
    assert_true(same_ids(CSV, "id,other\n1,0\n2,0\n10,0\n"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(same_ids(CSV, others[i]));
    assert_int_equal(table_ids_bytes(&t), 7);
    assert_int_equal(table_ids_bytes(&none), 0);
    assert_true(table_same_ids(&none, &none));
    assert_false(table_same_ids(&t, &none));
    table_deinit(&t);
}

static void test_ids_that_another_table_lacks_are_counted(void **unused)
{
    struct table x = read_text("id,a\n1,0\n2,0\n10,0\nab,0\n", &FEATURES),
                 y = read_text("id,a\n2,0\n3,0\nab,0\n", &FEATURES);
    size_t first;

    (void)unused;
    assert_int_equal(table_lacks(&x, &y, &first), 1);
    assert_int_equal(first, 1);
    assert_int_equal(table_lacks(&y, &x, &first), 2);
    assert_int_equal(first, 0);
    assert_int_equal(table_lacks(&x, &x, &first), 0);
    table_deinit(&x);
    table_deinit(&y);
}

static bool shared(const char *a, const char *b)
{
    struct table x = read_text(a, &FEATURES), y = read_text(b, &FEATURES);
    const bool found = table_share_ids(&x, &y);

    assert_true(table_share_ids(&y, &x) == found);
    table_deinit(&x);
    table_deinit(&y);
    return found;
}

static void test_an_id_in_both_tables_is_found_wherever_it_stands(void **unused)
{
    const struct table none = {.rows = 0};
    struct table one = read_text("id,a\n7,1\n", &FEATURES);

    (void)unused;
    assert_true(shared("id,a\n9,1\n10,2\nab,3\n", "id,a\n8,1\n11,2\nab,4\n"));
    assert_true(shared("id,a\n10,1\n9,2\n", "id,a\n9,1\n"));
    assert_false(shared("id,a\n9,1\n10,2\n", "id,a\n1,1\n11,2\n100,3\n"));
    assert_false(table_share_ids(&one, &none));
    table_deinit(&one);
}

static bool counts(const char *csv)
{
    struct table t = read_text(csv, &FEATURES);
    const bool yes = table_counts(&t);

    table_deinit(&t);
    return yes;
}

static void test_ids_that_are_numbers_of_rows_are_known_for_that(void **unused)
{
    (void)unused;
    assert_true(counts("id,a\n0,1\n"));
    assert_true(counts("id,a\n0,1\n1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n8,1\n9,1\n10,1\n"));
    assert_false(counts("id,a\n1,1\n2,1\n"));
    assert_false(counts("id,a\n0,1\n2,1\n"));
    assert_false(counts("id,a\n0,1\n01,1\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_that_another_table_lacks_are_counted),
        cmocka_unit_test(test_an_id_in_both_tables_is_found_wherever_it_stands),
        cmocka_unit_test(test_ids_that_are_numbers_of_rows_are_known_for_that),
        cmocka_unit_test(test_the_name_or_the_content_chooses_the_reader),
        cmocka_unit_test(test_content_that_belies_the_name_is_refused),
        cmocka_unit_test(test_the_shipped_sets_keep_their_labels_from_parties),
        cmocka_unit_test(test_values_are_cut_off_at_the_limit_and_counted),
        cmocka_unit_test(test_labels_are_classes_from_0),
        cmocka_unit_test(test_a_label_that_is_no_class_is_refused),
        cmocka_unit_test(test_gather_copies_rows_in_the_order_asked),
        cmocka_unit_test(test_gather_allocates_nothing),
        cmocka_unit_test(test_files_of_the_same_ids_are_alike_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
