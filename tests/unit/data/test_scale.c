/* test_scale.c -- standardisation: the figures, their file, and what they do to a table.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/scale.h"
#include "tests/lib/scratch.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

static struct error err;

static struct table read_table(const char *text)
{
    const struct table_want features = {.labels = false};
    struct table t;

    err = (struct error){0};
    if (table_read(&t, scratch_write_text("t.csv", text), &features, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return t;
}

static const char *said(void)
{
    return err.text + strlen(scratch_dir()) + 1;
}

static void test_fit_is_the_population_mean_and_deviation(void **unused)
{
    struct table t =
        read_table("id,a,b\n1,2,-1\n2,4,-1\n3,4,-1\n4,4,-1\n5,5,-1\n6,5,-1\n7,7,-1\n8,9,5\n");
    struct scale s;

    (void)unused;
    assert_int_equal(scale_fit(&s, &t), STATUS_OK);
    assert_int_equal(s.cols, 2);
    assert_true(s.mean[0] == 5 && s.sd[0] == 2);
    assert_true(s.mean[1] == -0.25f);
    assert_true(s.sd[1] == (float)sqrt((7 * 0.75 * 0.75 + 5.25 * 5.25) / 8));
    scale_apply(&s, &t);
    assert_true(t.x[0] == -1.5f && t.x[14] == 2);
    scale_deinit(&s);
    assert_int_equal(scale_fit(&s, &t), STATUS_OK);
    assert_true(fabsf(s.mean[1]) < 1e-7f && fabsf(s.sd[1] - 1) < 1e-6f);
    scale_deinit(&s);
    table_deinit(&t);
}

/* 0.1 is no float, and the mean of three of it is not it either. */
static void test_a_constant_column_keeps_deviation_1(void **unused)
{
    struct table t = read_table("id,a,b\n1,0.1,1e8\n2,0.1,1e8\n3,0.1,100000008\n");
    struct scale s;

    (void)unused;
    assert_int_equal(scale_fit(&s, &t), STATUS_OK);
    assert_true(s.mean[0] == 0.1f && s.sd[0] == 1);
    assert_true(fabsf(s.sd[1] - 3.7712362f) < 1e-5f); /* not lost in cancellation */
    scale_apply(&s, &t);
    assert_true(t.x[0] == 0 && t.x[2] == 0 && t.x[4] == 0);
    scale_deinit(&s);
    table_deinit(&t);
}

static void test_a_scaled_table_stays_finite(void **unused)
{
    struct table t = read_table("id,a\n1,3.4e38\n2,-3.4e38\n3,0\n");
    float mean = -3.4e38f, sd = 1e-30f;
    struct scale other = {.cols = 1, .mean = &mean, .sd = &sd}, s;

    (void)unused;
    assert_int_equal(scale_fit(&s, &t), STATUS_OK);
    assert_true(isfinite(s.mean[0]) && isfinite(s.sd[0]));
    scale_apply(&s, &t);
    assert_true(t.x[0] > 1.2f && t.x[0] < 1.3f);
    scale_apply(&other, &t);
    for (size_t i = 0; i < 3; i++)
        assert_true(isfinite(t.x[i]));
    assert_true(t.x[0] == FLT_MAX);
    scale_deinit(&s);
    table_deinit(&t);
}

static void save_and_load(const struct table *t, const char *name)
{
    const char *path = scratch_path(name);
    struct scale s, back;
    struct stat st;

    assert_int_equal(scale_fit(&s, t), STATUS_OK);
    assert_int_equal(scale_save(&s, t, path, &err), STATUS_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(scale_load(&back, path, t, &err), STATUS_OK);
    assert_int_equal(back.cols, s.cols);
    assert_memory_equal(back.mean, s.mean, s.cols * sizeof *s.mean);
    assert_memory_equal(back.sd, s.sd, s.cols * sizeof *s.sd);
    scale_deinit(&s);
    scale_deinit(&back);
}

static void test_a_saved_scale_comes_back_exactly(void **unused)
{
    struct table t = read_table("id,a,net income\n1,0.1,1e-30\n2,0.7,3e30\n3,0.33333333,-7\n");

    (void)unused;
    save_and_load(&t, "scale.csv");
    mem_free(t.names);
    t.names = NULL; /* as read from IDX: columns are called 1, 2, ... */
    save_and_load(&t, "scale-idx.csv");
    table_deinit(&t);
}

static void refuse(const struct table *t, const char *text, const char *expected)
{
    struct scale s;

    err = (struct error){0};
    assert_int_equal(scale_load(&s, scratch_write_text("s.csv", text), t, &err), STATUS_DATA);
    assert_string_equal(said(), expected);
    assert_true(s.mean == NULL && s.sd == NULL && s.cols == 0);
}

static void test_a_scale_of_other_columns_is_refused(void **unused)
{
    struct table t = read_table("id,a,b\n1,2,3\n");
    struct scale s;

    (void)unused;
    assert_int_equal(
        scale_load(&s, scratch_write_text("s.csv", "name,mean,sd\na,1,2\nb,3,4\n"), &t, &err), 0);
    assert_true(s.mean[0] == 1 && s.sd[0] == 2 && s.mean[1] == 3 && s.sd[1] == 4);
    scale_deinit(&s);
    refuse(&t, "name,mean,sd\na,1,2\n", "s.csv: fewer columns than the data, which has 2");
    refuse(&t, "name,mean,sd\na,1,2\nb,3,4\nc,5,6\n",
           "s.csv: more columns than the data, which has 2");
    refuse(&t, "name,mean,sd\nb,1,2\na,3,4\n", "s.csv:2: column \"b\" where the data has \"a\"");
    refuse(&t, "name,mean,sd\na,1,2\nbb,3,4\n", "s.csv:3: column \"bb\" where the data has \"b\"");
    refuse(&t, "a,1,2\nb,3,4\n", "s.csv:1: the header must be name,mean,sd");
    refuse(&t, "", "s.csv:1: the header must be name,mean,sd");
    table_deinit(&t);
}

static void test_a_scale_that_cannot_be_applied_is_refused(void **unused)
{
    static const char *const rows[] = {"a,1,0",    "a,1,-1",  "a,nan,1",  "a,1,inf", "a,1e99,1",
                                       "a,1,1e99", "a,1,2,3", "a,1",      "a",       "a,,1",
                                       "a,1,",     "a,1,x",   "a,1,1e-99"};
    struct table t = read_table("id,a\n1,2\n");
    char text[64];

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "name,mean,sd\n%s\n", rows[i]);
        refuse(&t, text, "s.csv:2: column \"a\": expected name,mean,sd with sd above 0");
    }
    table_deinit(&t);
}

static void test_each_failing_allocation_is_reported(void **unused)
{
    struct table t = read_table("id,a\n1,2\n");
    const char *path = scratch_write_text("s.csv", "name,mean,sd\na,1,2\n");
    struct scale s;

    (void)unused;
    for (uint64_t n = 1; n <= 4; n++) {
        mem_fail_at(n);
        assert_int_equal(scale_fit(&s, &t), STATUS_MEMORY);
        assert_true(s.mean == NULL && s.sd == NULL);
    }
    for (uint64_t n = 1; n <= 3; n++) {
        mem_fail_at(n);
        assert_int_equal(scale_load(&s, path, &t, &err), STATUS_MEMORY);
        assert_true(s.mean == NULL && s.sd == NULL);
    }
    mem_fail_at(4);
    assert_int_equal(scale_load(&s, path, &t, &err), STATUS_OK);
    mem_fail_at(1);
    assert_int_equal(scale_save(&s, &t, path, &err), STATUS_MEMORY);
    mem_fail_at(0);
    scale_deinit(&s);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_is_the_population_mean_and_deviation),
        cmocka_unit_test(test_a_constant_column_keeps_deviation_1),
        cmocka_unit_test(test_a_scaled_table_stays_finite),
        cmocka_unit_test(test_a_saved_scale_comes_back_exactly),
        cmocka_unit_test(test_a_scale_of_other_columns_is_refused),
        cmocka_unit_test(test_a_scale_that_cannot_be_applied_is_refused),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
