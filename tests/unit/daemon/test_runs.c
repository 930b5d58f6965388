/* test_runs.c -- a side keeps so many runs and no more.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/runs.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_room_until_as_many_runs_are_kept),
        cmocka_unit_test(test_each_run_is_visited_though_one_fails),
        cmocka_unit_test(test_what_is_no_folder_is_no_run),
        cmocka_unit_test(test_a_run_is_named_by_the_end_of_its_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
