/* test_labels.c -- several labels of each row: which columns, what may stand in them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/labels.h"

#include "common/base/mem.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct error err;

/* The labels of the rows in the order of ids, ? where one is not known, or why there are none. */
static const char *read_text(struct labels *l, const char *text, const struct labels_want *want)
{
    static char out[600];
    struct table t;

    out[0] = 0;
    err = (struct error){0};
    if (labels_read(l, &t, scratch_write_text("l.csv", text), want, &err) != STATUS_OK) {
        const char *file = strstr(err.text, "l.csv");

        assert_true(t.x == NULL && t.rows == 0);
        return file != NULL ? file : err.text;
    }
    for (size_t i = 0; i < t.rows * t.cols; i++) {
        sprintf(out + strlen(out), i == 0 ? "" : i % t.cols == 0 ? " / " : " ");
        sprintf(out + strlen(out), isnan(t.x[i]) ? "?" : "%g", (double)t.x[i]);
    }
    table_deinit(&t);
    return out;
}

static const char *once(const char *text, const struct labels_want *want)
{
    struct labels l = {0};
    const char *out = read_text(&l, text, want);

    labels_deinit(&l);
    return out;
}

static const struct labels_want all;

static void test_every_column_is_a_label(void **state)
{
    (void)state;
    assert_string_equal(once("id,a,label\n2,1,0\n1,0,1\n", &all), "0 1 / 1 0");
    assert_string_equal(once("id,a,b\n1,,1\n2,NA,1.0\n", &all), "? 1 / ? 1");
}

static void test_columns_that_are_named_are_all_that_is_read(void **state)
{
    static const char *const names[] = {"c", "a"};
    const struct labels_want two = {names, 2, NULL, NULL, NULL},
                             missing = {names, 2, "who", NULL, NULL};
    struct labels l = {0};
    char *shown;

    (void)state;
    assert_string_equal(read_text(&l, "id,a,b,c\n1,0,text,1\n", &two), "1 0");
    assert_int_equal(labels_print(&l, &shown), STATUS_OK);
    assert_string_equal(shown, "c\na\n");
    mem_free(shown);
    /* The test file's columns stand where they like. */
    assert_string_equal(read_text(&l, "id,c,a\n7,1,0\n", &two), "1 0");
    assert_non_null(strstr(read_text(&l, "id,c\n7,1\n", &two), "no column \"a\""));
    labels_deinit(&l);
    assert_non_null(strstr(once("id,a,c\n1,0,1\n", &missing), "no column \"who\""));
}

static void test_a_group_and_a_time_are_no_labels(void **state)
{
    const struct labels_want grouped = {NULL, 0, "who", NULL, NULL},
                             both = {NULL, 0, "who", "when", NULL};

    (void)state;
    assert_string_equal(once("id,a,who,b\n1,0,Anna,1\n", &grouped), "0 1");
    assert_string_equal(once("id,when,a,who,b\n1,2020-01-01,0,Anna,1\n", &both), "0 1");
}

static void test_what_is_no_label_is_refused(void **state)
{
    static const char *const twice[] = {"a", "a"};
    const struct labels_want same = {twice, 2, NULL, NULL, NULL};

    (void)state;
    assert_string_equal(once("id,a,b\nx,0,2\n", &all),
                        "l.csv: id \"x\": label \"b\" is neither 0 nor 1 nor missing");
    assert_non_null(strstr(once("id,a,b\n1,0,yes\n", &all), "not a number"));
    assert_null(strstr(err.text, "yes")); /* what stands in a cell is nobody's business */
    assert_string_equal(once("id,a\n1,0\n", &all),
                        "l.csv: 1 columns of labels, multilabel takes 2 to 4096");
    assert_string_equal(once("id,a,b\n1,0,1\n", &same), "labels.columns: \"a\" stands there twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_column_is_a_label),
        cmocka_unit_test(test_columns_that_are_named_are_all_that_is_read),
        cmocka_unit_test(test_a_group_and_a_time_are_no_labels),
        cmocka_unit_test(test_what_is_no_label_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
