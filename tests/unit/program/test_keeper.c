/* test_keeper.c -- processes that are started, and ended; and what they have given up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/keeper.h"

#include "common/base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

enum { SOON_MS = 20000 };

static struct config_program command;
static struct keeper keeper;

static void keep(const char *first, const char *second, const char *third)
{
    const char *word[] = {first, second, third};
    struct error err = {0};

    command = (struct config_program){.memory_mib = 1024, .timeout_ms = 1000};
    for (size_t i = 0; i < 3 && word[i] != NULL; i++)
        snprintf(command.command.arg[command.command.n++], CONFIG_PATH_MAX, "%s", word[i]);
    assert_int_equal(keeper_fork(&keeper, &command, &err), STATUS_OK);
}

/* What a shell writes into its end of the socket. */
static void heard(const char *script, char *said, size_t max)
{
    struct error err = {0};
    ssize_t n;
    int fd;

    keep("sh", "-c", script);
    assert_int_equal(keeper_start(&keeper, &fd, &err), STATUS_OK);
    assert_true(keeper_await(fd, SOON_MS));
    n = recv(fd, said, max - 1, 0);
    assert_true(n >= 0);
    said[n] = 0;
    close(fd);
    keeper_close(&keeper);
}

static void test_a_process_is_started_and_ended_and_says_how(void **state)
{
    char ended[KEEPER_ENDED_MAX];
    struct error err = {0};
    int fd, none;

    (void)state;
    keep("sleep", "1000", NULL);
    keeper_kill(&keeper, SOON_MS, ended);
    assert_string_equal(ended, "gone"); /* there was none */
    assert_int_equal(keeper_start(&keeper, &fd, &err), STATUS_OK);
    keeper_kill(&keeper, SOON_MS, ended);
    assert_string_equal(ended, "signal 9");
    assert_true(keeper_await(fd, SOON_MS));
    assert_int_equal(recv(fd, &none, sizeof none, 0), 0); /* its end is closed */
    close(fd);
    keeper_close(&keeper);
}

static void test_a_command_that_there_is_not_is_told_by_its_name(void **state)
{
    struct error err = {0};
    int fd;

    (void)state;
    keep("/nowhere/at/all", NULL, NULL);
    assert_int_equal(keeper_start(&keeper, &fd, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "its command: No such file"));
    assert_int_equal(fd, -1);
    keeper_close(&keeper);
}

static void test_it_has_its_socket_and_no_more_of_ours(void **state)
{
    char said[256], want[64];
    const int ours = dup(STDERR_FILENO);

    (void)state;
    CHECK(ours >= 3 && setenv("PGPASSWORD", "xyzzy", 1) == 0);
    heard("for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && s=$s$n; done; echo $s >&3",
          said, sizeof said);
    assert_string_equal(said, "0123\n");
    heard("echo $PGPASSWORD. >&3", said, sizeof said);
    assert_string_equal(said, ".\n");
    snprintf(want, sizeof want, "%u\n", 1024 * 1024);
    heard("ulimit -v >&3", said, sizeof said);
    assert_string_equal(said, want);
    heard("grep -c 'Seccomp:.*2' /proc/self/status >&3", said, sizeof said);
    assert_string_equal(said, "1\n");
    close(ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_is_started_and_ended_and_says_how),
        cmocka_unit_test(test_a_command_that_there_is_not_is_told_by_its_name),
        cmocka_unit_test(test_it_has_its_socket_and_no_more_of_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
