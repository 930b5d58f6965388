/* test_secret.c -- wiping and comparing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void test_wipe_clears_what_it_is_given_and_no_more(void **state)
{
    uint8_t bytes[10];

    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    secret_wipe(bytes + 1, 8);
    assert_int_equal(bytes[0], 0xff);
    assert_int_equal(bytes[9], 0xff);
    for (int i = 1; i < 9; i++)
        assert_int_equal(bytes[i], 0);
}

static void test_equal_sees_every_bit(void **state)
{
    uint8_t a[32] = {3}, b[32] = {3};

    (void)state;
    assert_int_equal(secret_equal(a, b, sizeof a), 1);
    for (size_t i = 0; i < 8 * sizeof a; i++) {
        b[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_int_equal(secret_equal(a, b, sizeof a), 0);
        b[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    b[31] = 1;
    assert_int_equal(secret_equal(a, b, 31), 1);
}

/* In a child, since it cannot be undone. */
static void test_a_hardened_process_leaves_no_core(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit core;

        secret_harden_process();
        _exit(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0 ? 0
                                                                                             : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wipe_clears_what_it_is_given_and_no_more),
        cmocka_unit_test(test_equal_sees_every_bit),
        cmocka_unit_test(test_a_hardened_process_leaves_no_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
