/* test_when.c -- days of the calendar, and texts that name none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* Every day of 9999 years, counted along beside. */
static void test_days_come_apart_into_year_month_day_and_weekday(void **state)
{
    int weekday = 0; /* 0001-01-01 was a Monday */
    struct when_parts p;
    char text[16];
    float days;

    (void)state;
    for (int year = 1; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= 31; day++) {
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                if (!when_scan(text, strlen(text), &days))
                    continue;
                when_take_apart(&p, days);
                if (p.part[0] != days || p.part[1] != (float)year || p.part[2] != (float)month ||
                    p.part[3] != (float)day || p.part[4] != (float)weekday || p.part[5] != 0)
                    fail_msg("%s: %g-%g-%g, %g", text, (double)p.part[1], (double)p.part[2],
                             (double)p.part[3], (double)p.part[4]);
                weekday = (weekday + 1) % 7;
            }
}

static void test_hours_are_those_of_the_clock(void **state)
{
    static const char *const dates[] = {"1970-01-01", "1999-12-31", "2000-01-01", "2024-02-29",
                                        "2049-12-31"};
    struct when_parts p;
    char text[32];
    float days;

    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
        for (int hour = 0; hour < 24; hour++)
            for (int minute = 0; minute < 56; minute += 5) {
                snprintf(text, sizeof text, "%s %02d:%02d", dates[i], hour, minute);
                assert_true(when_scan(text, strlen(text), &days));
                when_take_apart(&p, days);
                if (p.part[5] != (float)hour)
                    fail_msg("%s: %g", text, (double)p.part[5]);
            }
}

/* What no date is, but stands in for one. */
static void test_days_out_of_the_calendar_are_some_day(void **state)
{
    static const float days[] = {-1e12f, 1e12f, -730426, 3e6f};
    struct when_parts p;

    (void)state;
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        when_take_apart(&p, days[i]);
        assert_true(p.part[2] >= 1 && p.part[2] <= 12 && p.part[3] >= 1 && p.part[3] <= 31);
        assert_true(p.part[4] >= 0 && p.part[4] < 7 && p.part[5] >= 0 && p.part[5] < 24);
    }
}

static double seconds_of(const char *text)
{
    double got = 0;

    if (!when_scan_seconds(text, strlen(text), &got))
        fail_msg("%s", text);
    return got;
}

/* A float of days would have them all alike. */
static void test_seconds_are_exact_in_every_zone(void **state)
{
    double other;

    (void)state;
    assert_true(seconds_of("2000-01-01") == 0);
    assert_true(seconds_of("2024-02-29 12:30:20.25") == 762525020.25);
    assert_true(seconds_of("2024-02-29 14:30:20.250+02:00") == 762525020.25);
    assert_true(seconds_of("2024-02-29T07:00:20.25-0530") == 762525020.25);
    assert_true(seconds_of("2024-02-29 12:30:21") > seconds_of("2024-02-29 12:30:20.999"));
    assert_true(seconds_of("1999-12-31 23:59:59") == -1);
    assert_false(when_scan_seconds("2023-02-29", 10, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days_come_apart_into_year_month_day_and_weekday),
        cmocka_unit_test(test_hours_are_those_of_the_clock),
        cmocka_unit_test(test_days_out_of_the_calendar_are_some_day),
        cmocka_unit_test(test_days_count_from_2000),
        cmocka_unit_test(test_the_clock_is_a_part_of_a_day),
        cmocka_unit_test(test_what_is_no_time_is_none),
        cmocka_unit_test(test_seconds_are_exact_in_every_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
