/* test_mapped.c -- a file as memory: kept over openings, grown and cut, private, unnamed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mapped.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/mappedXXXXXX";
static char path[64];

static int make_dir(void **state)
{
    (void)state;
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/shares", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir); /* fails when an unnamed file had a name */
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static void test_what_was_written_is_there_for_the_next_process(void **state)
{
    struct mapped m, again;
    struct error err = {0};

    (void)state;
    assert_int_equal(mapped_make(&m, path, 10000, &err), STATUS_OK);
    assert_int_equal(m.n, 10000);
    assert_int_equal(m.data[9999], 0);
    m.data[9999] = 7;
    assert_int_equal(mapped_sync(&m, &err), STATUS_OK);
    mapped_close(&m);
    assert_null(m.data);
    assert_int_equal(mapped_open(&again, path, &err), STATUS_OK);
    assert_int_equal(again.n, 10000);
    assert_int_equal(again.data[9999], 7);
    mapped_close(&again);
}

static void test_nothing_there_is_no_failure(void **state)
{
    struct mapped m;
    struct error err = {0};
    FILE *f;

    (void)state;
    assert_int_equal(mapped_open(&m, path, &err), STATUS_OK);
    assert_null(m.data);
    assert_true(err.status == STATUS_OK && err.text[0] == 0);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(mapped_open(&m, path, &err), STATUS_OK);
    assert_null(m.data);
    assert_int_equal(m.n, 0);
    mapped_close(&m);
}

static void test_another_size_keeps_what_fits(void **state)
{
    struct mapped m;
    struct error err = {0};

    (void)state;
    assert_int_equal(mapped_make(&m, path, 5000, &err), STATUS_OK);
    memset(m.data, 3, m.n);
    mapped_close(&m);
    assert_int_equal(mapped_make(&m, path, 100, &err), STATUS_OK);
    assert_int_equal(m.data[99], 3);
    mapped_close(&m);
    assert_int_equal(mapped_make(&m, path, 200, &err), STATUS_OK);
    assert_int_equal(m.data[99], 3);
    assert_int_equal(m.data[100], 0);
    mapped_close(&m);
}

static void test_only_the_owner_may_read(void **state)
{
    struct mapped m;
    struct error err = {0};
    struct stat st;

    (void)state;
    assert_int_equal(mapped_make(&m, path, 1, &err), STATUS_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    mapped_close(&m);
}

static void test_an_unnamed_one_leaves_nothing(void **state)
{
    struct mapped m, none;
    struct error err = {0};

    (void)state;
    assert_int_equal(mapped_make_unnamed(&m, dir, 4096, &err), STATUS_OK);
    m.data[0] = m.data[4095] = 1;
    assert_int_equal(mapped_open(&none, path, &err), STATUS_OK);
    assert_null(none.data);
    mapped_close(&m);
}

static void test_a_place_that_is_none_is_named(void **state)
{
    struct mapped m;
    struct error err = {0};

    (void)state;
    assert_int_equal(mapped_make(&m, "/nowhere/shares", 10, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "/nowhere/shares"));
    assert_int_equal(mapped_make_unnamed(&m, "/nowhere", 10, &err), STATUS_IO);
    assert_int_equal(mapped_open(&m, dir, &err), STATUS_IO); /* a folder */
    assert_null(m.data);
}

/* A disk of 10 GiB with this much free, whatever the true one has: nothing is filled up. */
static size_t free_bytes;

int fstatvfs(int fd, struct statvfs *disk)
{
    enum { BLOCK = 4096 };

    if (free_bytes == 0)
        return statvfs(dir, disk);
    (void)fd;
    *disk = (struct statvfs){
        .f_frsize = BLOCK, .f_blocks = (10ull << 30) / BLOCK, .f_bavail = free_bytes / BLOCK};
    return 0;
}

enum { SPARE_BYTES = 64 << 20 };

static void test_a_disk_is_never_filled_up(void **state)
{
    struct mapped m;
    struct error err = {0};

    (void)state;
    free_bytes = SPARE_BYTES + (1 << 20);
    assert_int_equal(mapped_make(&m, path, 1 << 20, &err), STATUS_OK);
    mapped_close(&m);
    unlink(path);
    assert_int_equal(mapped_make(&m, path, (1 << 20) + 1, &err), STATUS_IO);
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    assert_null(m.data);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(mapped_make_unnamed(&m, dir, (1 << 20) + 1, &err), STATUS_IO);
    assert_null(m.data);
    free_bytes = SPARE_BYTES - 1;
    assert_int_equal(mapped_make(&m, path, 1, &err), STATUS_IO);
    free_bytes = 0;
}

static void test_one_that_is_mapped_grows_as_far_as_the_disk_goes(void **state)
{
    struct mapped m;
    struct error err = {0};

    (void)state;
    assert_int_equal(mapped_make_unnamed(&m, dir, 5000, &err), STATUS_OK);
    m.data[99] = m.data[4999] = 3;
    assert_int_equal(mapped_resize(&m, 100, dir, &err), STATUS_OK);
    assert_int_equal(mapped_resize(&m, 1 << 20, dir, &err), STATUS_OK);
    assert_true(m.n == 1 << 20 && m.data[99] == 3 && m.data[4999] == 0);
    free_bytes = SPARE_BYTES + 4096;
    assert_int_equal(mapped_resize(&m, 2 << 20, dir, &err), STATUS_IO);
    assert_non_null(strstr(err.text, dir));
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    free_bytes = 0;
    assert_true(m.n == 1 << 20 && m.data[99] == 3);
    mapped_close(&m);
}

static void test_what_finds_no_room_leaves_nothing(void **state)
{
    struct mapped m;
    struct error err = {0};
    struct rlimit all, few;

    (void)state;
    assert_int_equal(mapped_make(&m, path, 5000, &err), STATUS_OK);
    mapped_close(&m);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    few = (struct rlimit){8192, all.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    assert_int_equal(mapped_make(&m, path, 10000, &err), STATUS_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_was_written_is_there_for_the_next_process, remove_file),
        cmocka_unit_test_teardown(test_nothing_there_is_no_failure, remove_file),
        cmocka_unit_test_teardown(test_another_size_keeps_what_fits, remove_file),
        cmocka_unit_test_teardown(test_only_the_owner_may_read, remove_file),
        cmocka_unit_test(test_an_unnamed_one_leaves_nothing),
        cmocka_unit_test(test_a_place_that_is_none_is_named),
        cmocka_unit_test_teardown(test_a_disk_is_never_filled_up, remove_file),
        cmocka_unit_test(test_one_that_is_mapped_grows_as_far_as_the_disk_goes),
        cmocka_unit_test_teardown(test_what_finds_no_room_leaves_nothing, remove_file),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
