/* test_link.c -- a connection's bytes are a party's from its join on.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_who_has_not_joined_is_not_counted_as_a_party(void **state)
{
    struct wire_msg refuse = {.kind = WIRE_REFUSE};
    static struct traffic t, none;
    struct link stranger = {.peer = 0}; /* no connection: nothing of it may be asked */

    (void)state;
    link_count(&stranger, &t, TRAFFIC_UP, &refuse, 100);
    link_count(&stranger, &t, TRAFFIC_DOWN, &refuse, 100);
    assert_memory_equal(&t, &none, sizeof t);
    assert_int_equal(stranger.tls_in + stranger.tls_out, 0);
}

static void test_of_a_party_as_of_strangers_few_lines_are_logged(void **state)
{
    static struct link_few few;
    const struct link stranger = {.peer = 1}, first = {.peer = 1, .joined = true},
                      second = {.peer = 2, .joined = true};

    (void)state;
    log_init("test", LOG_LEVEL_ERROR, false); /* what would be shown is counted, and nothing said */
    for (int i = 0; i < 3 * LOG_FEW_MAX; i++) { /* a minute may begin in the midst of it */
        link_warn(&stranger, &few, "one more");
        link_warn(&first, &few, "one more");
    }
    assert_true(few.party[1].left_out > 0 && few.party[1].shown <= LOG_FEW_MAX);
    assert_true(few.strangers.left_out > 0 && few.strangers.shown <= LOG_FEW_MAX);
    link_warn(&second, &few, "the first of these");
    assert_int_equal(few.party[2].shown, 1);
    assert_int_equal(few.party[2].left_out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_party_as_of_strangers_few_lines_are_logged),
        cmocka_unit_test(test_who_has_not_joined_is_not_counted_as_a_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
