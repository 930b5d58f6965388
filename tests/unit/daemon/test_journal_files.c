/* test_journal_files.c -- which segments are there, and that all of them go.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/journals.h"

#include <sys/stat.h>

static void touch(const char *name)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void drop(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

static void test_numbers_are_found_in_names_of_one_form_only(void **state)
{
    static const char *const others[] = {
        "journal-7.sealed",
        "journal-0000007.sealed",
        "journal-000000007.sealed",
        "journal-+0000007.sealed",
        "journal-00000000.sealed",
        "journal-.sealed",
        "journal-00000007.sealed~",
        "checkpoint.sealed",
        "journal-00000009.sealed.tmp",
        "journal-99999999999999999999.sealed",
    };
    uint64_t first = 9, count = 9;
    struct error err = {0};

    (void)state;
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(count, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        touch(others[i]);
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(count, 0);
    touch("journal-99999999.sealed");
    touch("journal-100000000.sealed");
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(first, 99999999);
    assert_int_equal(count, 2);
    assert_int_equal(journal_files_remove(dir, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strstr(others[i], ".tmp") == NULL)
            drop(others[i]);
    } /* the tear-down sees that nothing else is left */
}

static void test_a_missing_one_is_named(void **state)
{
    uint64_t first, count;
    struct error err = {0};

    (void)state;
    touch("journal-00000004.sealed");
    touch("journal-00000005.sealed");
    touch("journal-00000007.sealed");
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "journal-00000006.sealed"));
    touch("journal-00000006.sealed");
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(first, 4);
    assert_int_equal(count, 4);
}

static void test_too_many_are_refused(void **state)
{
    uint64_t first, count;
    struct error err = {0};

    (void)state;
    for (uint64_t n = 1; n <= JOURNAL_SEGMENTS_MAX + 1; n++) {
        int fd = open(segment_path(n), O_WRONLY | O_CREAT, 0600);

        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "more than 65536"));
    unlink(segment_path(1));
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(count, JOURNAL_SEGMENTS_MAX);
}

static void test_one_that_stays_is_named_and_later_ones_stay_too(void **state)
{
    char path[PATH_MAX];
    uint64_t first, count;
    struct error err = {0};

    (void)state;
    touch("journal-00000001.sealed");
    touch("journal-00000003.sealed");
    snprintf(path, sizeof path, "%s/journal-00000002.sealed", dir);
    assert_int_equal(mkdir(path, 0700), 0); /* not even root unlinks that */
    assert_int_equal(journal_files_remove(dir, &err), STATUS_IO);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(journal_files_list(dir, &first, &count, &err), STATUS_OK);
    assert_int_equal(first, 2);
    assert_int_equal(count, 2);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(journal_files_remove(dir, &err), STATUS_OK);
}

static void test_a_folder_that_is_not_there_is_an_error(void **state)
{
    uint64_t first, count;
    struct error err = {0};

    (void)state;
    assert_int_equal(journal_files_list("/nowhere/at/all", &first, &count, &err), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_are_found_in_names_of_one_form_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_one_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_stays_is_named_and_later_ones_stay_too,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_that_is_not_there_is_an_error, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
