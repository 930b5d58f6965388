/* test_status.c -- whose fault each status is, and the text that grows on the way up.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_each_status_has_the_exit_code_of_whose_fault_it_is(void **state)
{
    static const struct {
        enum status status;
        int code;
    } expected[] = {
        {STATUS_OK, 0},       {STATUS_CONFIG, 2}, {STATUS_DATA, 2},     {STATUS_IDENTITY, 2},
        {STATUS_PROTOCOL, 3}, {STATUS_LIMIT, 3},  {STATUS_AUTH, 3},     {STATUS_INTEGRITY, 3},
        {STATUS_REPLACED, 3}, {STATUS_NET, 4},    {STATUS_PATIENCE, 4}, {STATUS_POLICY, 5},
        {STATUS_BUDGET, 5},   {STATUS_IO, 6},     {STATUS_MEMORY, 6},   {STATUS_CRYPTO, 6},
        {STATUS_FAULT, 6},
    };
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(status_exit_code(expected[i].status), expected[i].code);
#define X(name, kind, words) n++;
    STATUS_LIST(X)
#undef X
    assert_int_equal(n, sizeof expected / sizeof expected[0]);
}

static void test_kinds_and_words_are_those_of_the_list(void **state)
{
    (void)state;
#define X(name, kind, words)                                                                       \
    assert_int_equal(status_kind(STATUS_##name), STATUS_KIND_##kind);                              \
    assert_string_equal(status_words(STATUS_##name), words);
    STATUS_LIST(X)
#undef X
}

static void test_set_keeps_status_and_text_and_returns_the_status(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(error_set(&err, STATUS_LIMIT, "%d > %d", 9, 8), STATUS_LIMIT);
    assert_int_equal(err.status, STATUS_LIMIT);
    assert_string_equal(err.text, "9 > 8");
    assert_int_equal(error_set(NULL, STATUS_AUTH, "nobody listens"), STATUS_AUTH);
}

static void test_wrap_puts_the_prefix_before_the_text_and_keeps_the_status(void **state)
{
    struct error err = {0};

    (void)state;
    error_set(&err, STATUS_LIMIT, "message over the limit (9 > 8)");
    assert_int_equal(error_wrap(&err, "upload"), STATUS_LIMIT);
    assert_int_equal(error_wrap(&err, "party %d", 3), STATUS_LIMIT);
    assert_string_equal(err.text, "party 3: upload: message over the limit (9 > 8)");
    assert_int_equal(err.status, STATUS_LIMIT);
    error_wrap(NULL, "nobody listens");
}

static void test_texts_that_do_not_fit_are_cut_and_still_end(void **state)
{
    char longer[ERROR_TEXT_MAX + 100];
    struct error err = {0};

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    error_set(&err, STATUS_IO, "%s", longer);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_wrap(&err, "read");
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_memory_equal(err.text, "read: xxx", 9);
    error_wrap(&err, "%s", longer);
    assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
    assert_int_equal(err.text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_status_has_the_exit_code_of_whose_fault_it_is),
        cmocka_unit_test(test_kinds_and_words_are_those_of_the_list),
        cmocka_unit_test(test_set_keeps_status_and_text_and_returns_the_status),
        cmocka_unit_test(test_wrap_puts_the_prefix_before_the_text_and_keeps_the_status),
        cmocka_unit_test(test_texts_that_do_not_fit_are_cut_and_still_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
