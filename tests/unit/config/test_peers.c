/* test_peers.c -- whom --insecure-seed is allowed with.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static const struct config_names none;

static void test_loopback_is_trusted_by_its_number(void **state)
{
    (void)state;
    assert_true(peers_on_loopback("127.0.0.1:7400"));
    assert_true(peers_on_loopback("127.9.9.9:1"));
    assert_true(peers_on_loopback("[::1]:7400"));
    assert_true(peers_trusted(&none, "127.0.0.1:7400"));
}

static void test_what_only_looks_like_loopback_is_not(void **state)
{
    (void)state;
    assert_false(peers_on_loopback("128.0.0.1:127"));
    assert_false(peers_on_loopback("10.127.0.1:7400"));
    assert_false(peers_on_loopback("[::11]:7400"));
    assert_false(peers_on_loopback("[::1:2]:7400"));
    assert_false(peers_trusted(&none, "10.0.0.1:7400"));
}

static void test_a_name_is_the_whole_host(void **state)
{
    static const struct config_names names = {2, {"10.0.0.1", "fd00::2"}};

    (void)state;
    assert_true(peers_trusted(&names, "10.0.0.1:7400"));
    assert_true(peers_trusted(&names, "[fd00::2]:7400"));
    assert_false(peers_trusted(&names, "10.0.0.12:7400"));
    assert_false(peers_trusted(&names, "10.0.0.2:7400"));
    assert_false(peers_trusted(&names, "110.0.0.1:7400"));
    assert_false(peers_trusted(&names, "[fd00::2:1]:7400"));
    assert_false(peers_trusted(&names, "[fd00::21]:7400"));
}

static void test_a_name_that_ends_in_a_dot_is_a_network(void **state)
{
    static const struct config_names names = {1, {"10.77."}};

    (void)state;
    assert_true(peers_trusted(&names, "10.77.0.1:7400"));
    assert_true(peers_trusted(&names, "10.77.255.9:1"));
    assert_false(peers_trusted(&names, "10.7.0.1:7400"));
    assert_false(peers_trusted(&names, "10.7.7.1:7400"));
    assert_false(peers_trusted(&names, "110.77.0.1:7400"));
}

static void test_no_text_that_is_no_address_is_trusted(void **state)
{
    static const struct config_names names = {3, {"", "a", "10.77.0.1"}};
    static const char *const bad[] = {"", ":", "[", "[]:1", ":7400", "10.77.0.1", "a", "?"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (peers_trusted(&names, bad[i]))
            fail_msg("'%s' is trusted", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_is_trusted_by_its_number),
        cmocka_unit_test(test_what_only_looks_like_loopback_is_not),
        cmocka_unit_test(test_a_name_is_the_whole_host),
        cmocka_unit_test(test_a_name_that_ends_in_a_dot_is_a_network),
        cmocka_unit_test(test_no_text_that_is_no_address_is_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
