/* test_runs.c -- a side keeps so many runs and no more.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/runs.h"
#include "tests/lib/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void run_path(char out[512], unsigned i)
{
    snprintf(out, 512, "%s/runs/%u", scratch_dir(), i);
}

static void test_there_is_room_until_as_many_runs_are_kept(void **state)
{
    struct error err = {0};
    char path[512];

    (void)state;
    run_path(path, RUNS_MAX);
    assert_int_equal(runs_room(scratch_dir(), path, &err), STATUS_OK); /* no folder at all */
    assert_int_equal(mkdir(scratch_path("runs"), 0700), 0);
    for (unsigned i = 0; i < RUNS_MAX; i++) {
        run_path(path, i);
        assert_int_equal(runs_room(scratch_dir(), path, &err), STATUS_OK);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(runs_room(scratch_dir(), path, &err), STATUS_OK); /* it is there already */
    run_path(path, RUNS_MAX);
    assert_int_equal(runs_room(scratch_dir(), path, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "remove some"));
    run_path(path, 7);
    assert_int_equal(rmdir(path), 0);
    run_path(path, RUNS_MAX);
    assert_int_equal(runs_room(scratch_dir(), path, &err), STATUS_OK);
    for (unsigned i = 0; i < RUNS_MAX; i++) {
        run_path(path, i);
        (void)rmdir(path);
    }
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

static enum status visit(void *owner, const char *folder, struct error *err)
{
    unsigned *seen = owner;

    *seen |= 1u << atoi(runs_name(folder));
    return (*seen & 0x80) != 0 && atoi(runs_name(folder)) >= 2
               ? error_set(err, STATUS_IO, "one of two")
               : STATUS_OK;
}

static void test_each_run_is_visited_though_one_fails(void **state)
{
    struct error err = {0};
    unsigned seen = 0;
    char path[512];

    (void)state;
    assert_int_equal(runs_each(scratch_dir(), visit, &seen, &err), STATUS_OK); /* no folder */
    assert_int_equal(seen, 0);
    assert_int_equal(mkdir(scratch_path("runs"), 0700), 0);
    for (unsigned i = 1; i <= 3; i++) {
        run_path(path, i);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(runs_each(scratch_dir(), visit, &seen, &err), STATUS_OK);
    assert_int_equal(seen, 0xe);
    seen = 0x80;
    assert_int_equal(runs_each(scratch_dir(), visit, &seen, &err), STATUS_IO);
    assert_int_equal(seen, 0x8e);
    assert_int_equal(err.status, STATUS_IO);
    assert_memory_equal(err.text, "run ", 4);
    assert_in_range(atoi(err.text + 4), 2, 3);
    assert_non_null(strstr(err.text, ": one of two"));
    for (unsigned i = 1; i <= 3; i++) {
        run_path(path, i);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

static void test_what_is_no_folder_is_no_run(void **state)
{
    struct error err = {0};
    unsigned seen = 0;
    char path[512];
    FILE *f;

    (void)state;
    assert_int_equal(mkdir(scratch_path("runs"), 0700), 0);
    run_path(path, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    run_path(path, 2);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(runs_each(scratch_dir(), visit, &seen, &err), STATUS_OK);
    assert_int_equal(seen, 1u << 1);
    assert_int_equal(unlink(path), 0);
    run_path(path, 1);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

static void test_a_run_is_named_by_the_end_of_its_folder(void **state)
{
    (void)state;
    assert_string_equal(runs_name("/a/state/runs/0123456789abcdef"), "0123456789abcdef");
    assert_string_equal(runs_name("runs/7"), "7");
    assert_string_equal(runs_name("7"), "7");
    assert_string_equal(runs_name("/cut/off/"), "");
}

/* --- of those that cost nothing few stay --- */

static void put_file(unsigned run, const char *name)
{
    char path[600];
    FILE *f;

    snprintf(path, sizeof path, "%s/runs/%u/%s", scratch_dir(), run, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static bool is_there(unsigned run)
{
    struct stat is;
    char path[512];

    run_path(path, run);
    return lstat(path, &is) == 0;
}

static void make_run(unsigned run)
{
    char path[512];

    run_path(path, run);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file(run, "shares");
}

static void pay_for(unsigned run)
{
    struct error err = {0};
    char path[512];

    run_path(path, run);
    assert_int_equal(runs_mark_paid(path, &err), STATUS_OK);
    assert_true(runs_is_paid(path));
}

/* As if its last file had been written on that day of 1970. */
static void age(unsigned run, time_t day)
{
    const struct timespec at[2] = {{.tv_sec = 86400 * day}, {.tv_sec = 86400 * day}};
    char path[512];

    run_path(path, run);
    assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void keep_few(unsigned newest)
{
    struct error err = {0};
    char path[512];

    run_path(path, newest);
    assert_int_equal(runs_keep_few_unpaid(scratch_dir(), path, &err), STATUS_OK);
}

static void remove_run(unsigned run)
{
    static const char *const names[] = {"/shares", "/paid", ""};
    char path[600];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/runs/%u%s", scratch_dir(), run, names[i]);
        (void)remove(path);
    }
}

static void test_of_runs_without_a_charge_the_oldest_goes(void **state)
{
    enum { RUNS = RUNS_UNPAID_MAX + 3 };

    (void)state;
    assert_int_equal(mkdir(scratch_path("runs"), 0700), 0);
    for (unsigned i = 0; i < RUNS_UNPAID_MAX; i++) {
        make_run(i);
        age(i, i == 2 ? 1 : 10 + i);
    }
    keep_few(0);
    assert_true(is_there(2));
    make_run(RUNS_UNPAID_MAX); /* one too many */
    keep_few(RUNS_UNPAID_MAX);
    assert_false(is_there(2));
    assert_true(is_there(0) && is_there(1) && is_there(3) && is_there(RUNS_UNPAID_MAX));

    /* What was charged for is counted no more, however old, and however often it is said. */
    pay_for(0);
    pay_for(0);
    age(0, 1);
    make_run(RUNS - 2);
    keep_few(RUNS - 2);
    assert_true(is_there(0) && is_there(1) && is_there(3));
    make_run(RUNS - 1);
    keep_few(RUNS - 1);
    assert_true(is_there(0) && is_there(3));
    assert_false(is_there(1));
    for (unsigned i = 0; i < RUNS; i++)
        remove_run(i);
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

/* However old the clock says that it is. */
static void test_the_run_that_has_just_ended_stays(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("runs"), 0700), 0);
    for (unsigned i = 0; i <= RUNS_UNPAID_MAX; i++) {
        make_run(i);
        age(i, 100 - (time_t)i);
        keep_few(i);
        assert_true(is_there(i));
    }
    assert_false(is_there(RUNS_UNPAID_MAX - 1));
    for (unsigned i = 0; i <= RUNS_UNPAID_MAX; i++)
        remove_run(i);
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

static void test_the_mark_of_a_charge_makes_its_folder_and_can_be_taken_back(void **state)
{
    struct error err = {0};
    char path[512];

    (void)state;
    run_path(path, 7);
    assert_false(runs_is_paid(path));
    assert_int_equal(runs_unmark(path, &err), STATUS_OK);
    pay_for(7);
    assert_int_equal(runs_unmark(path, &err), STATUS_OK);
    assert_false(runs_is_paid(path));
    assert_true(is_there(7));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(scratch_path("runs")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_room_until_as_many_runs_are_kept),
        cmocka_unit_test(test_each_run_is_visited_though_one_fails),
        cmocka_unit_test(test_what_is_no_folder_is_no_run),
        cmocka_unit_test(test_a_run_is_named_by_the_end_of_its_folder),
        cmocka_unit_test(test_of_runs_without_a_charge_the_oldest_goes),
        cmocka_unit_test(test_the_run_that_has_just_ended_stays),
        cmocka_unit_test(test_the_mark_of_a_charge_makes_its_folder_and_can_be_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
