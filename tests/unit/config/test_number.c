/* test_number.c -- what is a number, and that printing loses nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/number.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_number_whole_reads_plain_digits_below_2_to_64(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(number_whole(&v, "0") && v == 0);
    assert_true(number_whole(&v, "65536") && v == 65536);
    assert_true(number_whole(&v, "18446744073709551615") && v == UINT64_MAX);
}

static void test_number_whole_refuses_everything_else(void **state)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-1",
                                      "007",
                                      "0x10",
                                      "1.",
                                      "1.0",
                                      "1e3",
                                      "1_000",
                                      "true",
                                      "18446744073709551616"};
    uint64_t v = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (number_whole(&v, bad[i]))
            fail_msg("'%s' passed", bad[i]);
    }
    assert_int_equal(v, 7);
}

static void test_number_real_reads_decimals(void **state)
{
    double v;

    (void)state;
    assert_true(number_real(&v, "0.25") && v == 0.25);
    assert_true(number_real(&v, "-3") && v == -3.0);
    assert_true(number_real(&v, "1e-5") && v == 1e-5);
    assert_true(number_real(&v, "2.5E+3") && v == 2500.0);
    assert_true(number_real(&v, "-0") && v == 0.0 && !__builtin_signbit(v));
}

static void test_number_real_refuses_everything_else(void **state)
{
    static const char *const bad[] = {"",    ".5",    "5.",  "+1",  "1e",    "1e+",
                                      "--1", "0x1p3", "inf", "nan", "1e999", " 1",
                                      "1 ",  "1.2.3", "01",  "-",   "1,5",   "Infinity"};
    double v = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (number_real(&v, bad[i]))
            fail_msg("'%s' passed", bad[i]);
    }
    assert_true(v == 7);
}

static void test_number_print_reads_back_to_the_same_double(void **state)
{
    static const double special[] = {
        0.1,     0.2,        1e-5,         1.0 / 3, 0.30000000000000004,
        DBL_MIN, DBL_MAX,    DBL_TRUE_MIN, 1e15,    999999999999999.0,
        1e22,    123456.789, 5e-324};
    uint64_t bits = 1;

    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        char text[NUMBER_TEXT_MAX];
        double v, back;

        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&v, &bits, sizeof v);
        if (i < sizeof special / sizeof special[0])
            v = special[i];
        if (!__builtin_isfinite(v))
            continue;
        number_print(text, v);
        if (!number_real(&back, text) || back != v)
            fail_msg("%a printed as %s", v, text);
    }
}

static void test_number_print_is_short(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.25, "0.25"}, {1e-5, "1e-5"}, {64, "64"},
                 {0.1, "0.1"},   {1e20, "1e20"}, {-2, "-2"},
                 {-0.0, "0"},    {0.01, "0.01"}, {604800000, "604800000"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[NUMBER_TEXT_MAX];

        number_print(text, cases[i].v);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_whole_reads_plain_digits_below_2_to_64),
        cmocka_unit_test(test_number_whole_refuses_everything_else),
        cmocka_unit_test(test_number_real_reads_decimals),
        cmocka_unit_test(test_number_real_refuses_everything_else),
        cmocka_unit_test(test_number_print_reads_back_to_the_same_double),
        cmocka_unit_test(test_number_print_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
