/* test_when.c -- days of the calendar, and texts that name none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void is(const char *text, double days)
{
    float got;

    if (!when_scan(text, strlen(text), &got) || got != (float)days)
        fail_msg("%s", text);
}

static void is_none(const char *text)
{
    float got;

    if (when_scan(text, strlen(text), &got))
        fail_msg("%s is %g", text, (double)got);
}

static void test_days_count_from_2000(void **state)
{
    (void)state;
    is("2000-01-01", 0);
    is("2000-03-01", 60); /* a leap year */
    is("1999-12-31", -1);
    is("2001-01-01", 366);
    is("2100-03-01", 36584); /* none */
    is("1970-01-01", -10957);
    is("0001-01-01", -730119);
    is("2024-02-29", 8825);
}

static void test_the_clock_is_a_part_of_a_day(void **state)
{
    (void)state;
    is("2000-01-01T12:00", 0.5);
    is("2000-01-01 06:00:00", 0.25);
    is("2000-01-02T00:00:43.2", 1.0005);
    is("2000-01-01T12:00Z", 0.5);
    is("2000-01-01T12:00+06:00", 0.25);
    is("2000-01-01T12:00-0600", 0.75);
    is("2000-01-01T23:59:60", 1);
}

static void test_what_is_no_time_is_none(void **state)
{
    static const char *const bad[] = {
        "",
        "2000",
        "2000-1-1",
        "2000-13-01",
        "2000-00-01",
        "2000-01-00",
        "2000-01-32",
        "1900-02-29",
        "2023-02-29",
        "0000-01-01",
        "2000-01-01x",
        "2000-01-01T",
        "2000-01-01T24:00",
        "2000-01-01T12:60",
        "2000-01-01T12",
        "2000-01-01T12:00:61",
        "2000-01-01T12:00+15:00",
        "2000-01-01T12:00+1",
        "2000-01-01T12:00Zx",
        "20000101",
        "01/02/2000",
        "-2000-01-01",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        is_none(bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days_count_from_2000),
        cmocka_unit_test(test_the_clock_is_a_part_of_a_day),
        cmocka_unit_test(test_what_is_no_time_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
