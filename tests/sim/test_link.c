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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_has_not_joined_is_not_counted_as_a_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
