/* test_cert_name.c -- which names there may be, and every character that there may not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static void test_a_name_is_letters_digits_and_three_signs(void **state)
{
    (void)state;
    assert_true(cert_name_is("bank", 4));
    assert_true(cert_name_is("Bank-1.example_x", 16));
    assert_true(cert_name_is("1", 1));
    assert_true(cert_name_is("_x", 2));
    for (int c = 0; c < 256; c++) {
        char name[] = {'a', (char)c, 'b'};
        const bool may = c != 0 && (strchr(letters, c) != NULL || strchr(".-", c) != NULL);

        assert_int_equal(cert_name_is(name, sizeof name), may);
        /* In front the two signs of files and options are none either. */
        assert_int_equal(cert_name_is(name + 1, 2), c != 0 && strchr(letters, c) != NULL);
    }
}

static void test_a_name_has_1_to_63_bytes(void **state)
{
    char name[CERT_NAME_MAX + 1];

    (void)state;
    memset(name, 'n', sizeof name);
    assert_false(cert_name_is(name, 0));
    assert_true(cert_name_is(name, CERT_NAME_MAX));
    assert_false(cert_name_is(name, CERT_NAME_MAX + 1));
}

static void test_what_looks_like_a_path_an_option_or_a_command_is_none(void **state)
{
    static const char *const texts[] = {
        "..",        ".",    "-rf",  "../x", "a/b",  "x//;e touch PWNED #",
        "$(id)",     "`id`", "a b",  "a\nb", "a\tb", "{name:",
        "a'b",       "a\"b", "a\\b", "*",    "*.b",  "a,b",
        "h\xc3\xb6", "a:b"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(cert_name_is(texts[i], strlen(texts[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_is_letters_digits_and_three_signs),
        cmocka_unit_test(test_a_name_has_1_to_63_bytes),
        cmocka_unit_test(test_what_looks_like_a_path_an_option_or_a_command_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
