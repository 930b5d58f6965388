/* test_alert.c -- what an alert means for the side that receives it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/alert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_client_is_told_that_its_certificate_is_the_reason(void **state)
{
    static const int certificate[] = {42, 43, 44, 45, 46, 48, 49, 116};

    (void)state;
    for (size_t i = 0; i < sizeof certificate / sizeof certificate[0]; i++) {
        struct error err = {0};
        assert_int_equal(alert_explain(certificate[i], false, &err), STATUS_IDENTITY);
        assert_non_null(strstr(err.text, "check identity.cert"));
    }
}

static void test_server_is_not_stopped_by_what_a_client_thinks(void **state)
{
    (void)state;
    for (int alert = 0; alert < 256; alert++) {
        enum status s = alert_explain(alert, true, NULL);
        assert_true(s == STATUS_AUTH || s == STATUS_PROTOCOL);
    }
}

static void test_version_and_protocol_are_said_in_words(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(alert_explain(70, false, &err), STATUS_PROTOCOL);
    assert_non_null(strstr(err.text, "TLS 1.3"));
    assert_int_equal(alert_explain(120, false, &err), STATUS_PROTOCOL);
    assert_non_null(strstr(err.text, "vfl/1"));
}

static void test_unknown_alert_has_its_number(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(alert_explain(199, false, &err), STATUS_PROTOCOL);
    assert_non_null(strstr(err.text, "199"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_is_told_that_its_certificate_is_the_reason),
        cmocka_unit_test(test_server_is_not_stopped_by_what_a_client_thinks),
        cmocka_unit_test(test_version_and_protocol_are_said_in_words),
        cmocka_unit_test(test_unknown_alert_has_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
