/* test_decimal.c -- decimal_scan against strtof, its oracle, and decimal_read against decimal_scan.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/decimal.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t state = 1;

static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 11;
}

/* A whole text is read when the scan comes to its end, whatever stands behind it. */
static void expect_read_as_scanned(const char *text)
{
    char among[256];
    const size_t n = strlen(text);
    float scanned = 0, read = 0;
    const char *end = decimal_scan(text, &scanned);
    bool whole;

    memset(among, draw() % 2 == 0 ? '9' : '.', sizeof among);
    memcpy(among, text, n + 1);
    whole = decimal_read(among, n, &read);
    if (whole != (end == text + n) || (whole && memcmp(&read, &scanned, sizeof read) != 0))
        fail_msg("\"%s\": read %d %a, scanned %a", text, whole, (double)read, (double)scanned);
}

static void expect_as_strtof(const char *text)
{
    char *stop;
    float expected = strtof(text, &stop), got = 0;
    const char *end = decimal_scan(text, &got);

    if (end != stop || memcmp(&got, &expected, sizeof got) != 0)
        fail_msg("%s: %a instead of %a, stopped at \"%s\"", text, (double)got, (double)expected,
                 end == NULL ? "(refused)" : end);
    expect_read_as_scanned(text);
}

static void test_plain_decimals_round_as_strtof_does(void **unused)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "-1",
        "+1",
        "17.99",
        ".5",
        "5.",
        "-.5e1",
        "1e5",
        "1E+5",
        "1e-5",
        "0.1",
        "0e999",
        "16777217",
        "16777216.99999999999999999",
        "9007199254740993",
        "9007199254740992",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "3.4028235e38",
        "3.4028234e38",
        "1.1754944e-38",
        "1e-45",
        "7e-46",
        "1e-999",
        "0.000000000000000000000000000000000000000000001",
        "123456789012345678901234567890",
        "00000000000000000000000000000000000000012",
        "8.5",
        "33554433",
        "50331651.0",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_as_strtof(texts[i]);
}

static void test_random_decimals_round_as_strtof_does(void **unused)
{
    char text[64];

    (void)unused;
    for (int i = 0; i < 100000; i++) {
        unsigned long long whole = draw() % (UINT64_C(1) << draw() % 50), part = draw();

        snprintf(text, sizeof text, "%s%llu.%0*llu", i % 3 == 0 ? "-" : "", whole,
                 (int)(draw() % 18) + 1, part % 1000000);
        expect_as_strtof(text);
        snprintf(text, sizeof text, "%llue%d", whole, (int)(draw() % 60) - 30);
        expect_as_strtof(text);
    }
}

/* The decimals that lie half-way between two floats, or a hair beside: where rounding twice goes
 * wrong. */
static void test_half_way_decimals_round_as_strtof_does(void **unused)
{
    char text[128];

    (void)unused;
    for (int i = 0; i < 20000; i++) {
        float low = ldexpf((float)(draw() % (1 << 23) + (1 << 23)), (int)(draw() % 40) - 30);
        double middle = ((double)low + (double)nextafterf(low, FLT_MAX)) / 2;

        snprintf(text, sizeof text, "%.60f", middle);
        expect_as_strtof(text);
        strcat(text, "1");
        expect_as_strtof(text);
        snprintf(text, sizeof text, "%.17g", nextafter(middle, 0));
        expect_as_strtof(text);
        snprintf(text, sizeof text, "%.16g", middle);
        expect_as_strtof(text);
    }
}

static void test_the_scan_stops_behind_the_number(void **unused)
{
    float x = 0;
    const char *text = "12.5,7", *hex = "0x10", *spaced = "3 ";

    (void)unused;
    assert_ptr_equal(decimal_scan(text, &x), text + 4);
    assert_true(x == 12.5f);
    assert_ptr_equal(decimal_scan(hex, &x), hex + 1);
    assert_ptr_equal(decimal_scan(spaced, &x), spaced + 1);
}

static void test_what_is_no_decimal_is_refused(void **unused)
{
    static const char *const texts[] = {"",    ",1",   "-",        "+",   ".",   "-.",
                                        "e5",  "1e",   "1e+",      "nan", "NaN", "inf",
                                        "INF", "-inf", "infinity", " 1",  "--1", "+-1"};
    float x;

    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (decimal_scan(texts[i], &x) != NULL)
            fail_msg("\"%s\" was read", texts[i]);
        expect_read_as_scanned(texts[i]);
    }
}

/* Every text of up to five signs; longer ones by chance, with a point or none at every place. */
static void test_a_whole_text_is_read_as_it_is_scanned(void **unused)
{
    static const char signs[] = "059.-+e ,";
    const size_t kinds = sizeof signs - 1;
    char text[24];

    (void)unused;
    for (size_t n = 1, all = kinds; n <= 5; n++, all *= kinds)
        for (size_t k = 0; k < all; k++) {
            size_t left = k;

            for (size_t i = 0; i < n; i++, left /= kinds)
                text[i] = signs[left % kinds];
            text[n] = 0;
            expect_read_as_scanned(text);
        }
    for (size_t n = 1; n < sizeof text; n++)
        for (size_t k = 0; k < 200 * n; k++) {
            for (size_t i = 0; i < n; i++)
                text[i] = (char)('0' + draw() % 10);
            text[n] = 0;
            if (k % 3 > 0)
                text[k % n] = '.';
            if (k % 7 == 0)
                text[0] = '-';
            if (k % 11 == 0)
                text[draw() % n] = signs[draw() % kinds];
            expect_read_as_scanned(text);
        }
}

static void test_larger_than_any_float_is_infinite(void **unused)
{
    float x = 0;

    (void)unused;
    assert_non_null(decimal_scan("3.4028236e38", &x));
    assert_true(isinf(x));
    assert_non_null(decimal_scan("-1e999", &x));
    assert_true(isinf(x) && x < 0);
    assert_non_null(decimal_scan("3.4028234e38", &x));
    assert_true(isfinite(x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_decimals_round_as_strtof_does),
        cmocka_unit_test(test_random_decimals_round_as_strtof_does),
        cmocka_unit_test(test_half_way_decimals_round_as_strtof_does),
        cmocka_unit_test(test_the_scan_stops_behind_the_number),
        cmocka_unit_test(test_what_is_no_decimal_is_refused),
        cmocka_unit_test(test_a_whole_text_is_read_as_it_is_scanned),
        cmocka_unit_test(test_larger_than_any_float_is_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
