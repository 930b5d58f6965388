/* test_process.c -- a process starts over: the same program, its own name, today's environment.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/process.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Set by a child before it starts over; main then does not run the tests but exits with the code of
 * what it finds. */
#define AGAIN "COLONNADE_TEST_AGAIN"
enum { STARTED_OVER = 42, LOST_ARGUMENTS = 43, LOST_NAME = 44, CAME_BACK = 45 };

static int after_the_start(int argc, char **argv)
{
    char name[16] = {0}; /* what ps and top show */

    if (argc != 3 || strcmp(argv[1], "one") != 0 || strcmp(argv[2], "two words") != 0)
        return LOST_ARGUMENTS;
    if (prctl(PR_GET_NAME, name) != 0 || strcmp(name, "test_process") != 0)
        return LOST_NAME;
    return STARTED_OVER;
}

/* The exit code of a child that starts over with these arguments. */
static int start_over(char **argv)
{
    int code = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (setenv(AGAIN, "1", 1) == 0)
            process_exec_again(argv);
        _exit(CAME_BACK);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static void test_the_same_program_starts_with_arguments_and_environment(void **state)
{
    char *argv[] = {(char[]){"test_process"}, (char[]){"one"}, (char[]){"two words"}, NULL};

    (void)state;
    assert_int_equal(start_over(argv), STARTED_OVER);
}

static void test_it_is_found_whatever_its_first_argument_says(void **state)
{
    char *argv[] = {(char[]){"/nowhere/else"}, (char[]){"one"}, (char[]){"two words"}, NULL};

    (void)state;
    assert_int_equal(start_over(argv), STARTED_OVER);
}

static void test_other_arguments_arrive_as_others(void **state)
{
    char *argv[] = {(char[]){"test_process"}, (char[]){"one"}, NULL};

    (void)state;
    assert_int_equal(start_over(argv), LOST_ARGUMENTS);
}

static void test_a_failure_comes_back(void **state)
{
    /* More than a kernel takes as one argument (128 KiB). */
    enum { HUGE_BYTES = 1 << 20 };
    char *huge = test_calloc(HUGE_BYTES, 1);
    char *argv[] = {(char[]){"test_process"}, huge, NULL};

    (void)state;
    memset(huge, 'x', HUGE_BYTES - 1);
    assert_int_equal(start_over(argv), CAME_BACK);
    test_free(huge);
}

/* For good: no way leads back to root, or to root's groups.  A process of its own does it. */
static bool works_as_its_owner(uid_t owner)
{
    int status = 1;
    const pid_t child = fork();

    if (child == 0) {
        const bool became = process_become_owner(scratch_dir()) && getuid() == owner &&
                            geteuid() == owner && getegid() == owner && getgroups(0, NULL) == 0 &&
                            setuid(0) != 0 && mkdir(scratch_path("made"), 0700) == 0;

        _exit(became ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

static void test_root_works_in_a_folder_as_its_owner(void **state)
{
    enum { SOMEBODY = 4242 };
    struct stat is;

    (void)state;
    assert_true(process_become_owner(scratch_dir())); /* the own one, and one that there is not */
    assert_true(process_become_owner(scratch_path("nowhere")));
    if (geteuid() != 0 || chown(scratch_dir(), SOMEBODY, SOMEBODY) != 0)
        return; /* not root, or not in this container */
    assert_true(works_as_its_owner(SOMEBODY));
    assert_int_equal(stat(scratch_path("made"), &is), 0);
    assert_true(is.st_uid == SOMEBODY && is.st_gid == SOMEBODY);
    assert_int_equal(rmdir(scratch_path("made")), 0);
}

/* In a child of these limits: how many it has room for, and, where that is told, the limit then. */
static unsigned files_of(rlim_t soft, rlim_t hard, uint32_t more, bool tells_limit)
{
    const pid_t child = fork();
    int code = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit l = {soft, hard};
        uint32_t room = 0;

        if (setrlimit(RLIMIT_NOFILE, &l) == 0)
            room = process_files(more);
        _exit(getrlimit(RLIMIT_NOFILE, &l) != 0 ? 0 : tells_limit ? (int)l.rlim_cur : (int)room);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return (unsigned)WEXITSTATUS(code);
}

static void test_more_files_are_as_many_as_there_may_be_and_leave_half_of_the_others(void **state)
{
    (void)state;
    assert_int_equal(files_of(40, 200, 100, true), 140);
    assert_int_equal(files_of(40, 200, 100, false), 100);
    assert_int_equal(files_of(40, 90, 100, true), 90);
    assert_int_equal(files_of(40, 90, 100, false), 70);
    assert_int_equal(files_of(40, 40, 100, true), 40);
    assert_int_equal(files_of(40, 40, 100, false), 20);
    assert_int_equal(files_of(40, 40, 10, false), 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_program_starts_with_arguments_and_environment),
        cmocka_unit_test(test_it_is_found_whatever_its_first_argument_says),
        cmocka_unit_test(test_other_arguments_arrive_as_others),
        cmocka_unit_test(test_a_failure_comes_back),
        cmocka_unit_test(test_root_works_in_a_folder_as_its_owner),
        cmocka_unit_test(test_more_files_are_as_many_as_there_may_be_and_leave_half_of_the_others),
    };

    if (getenv(AGAIN) != NULL)
        return after_the_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
