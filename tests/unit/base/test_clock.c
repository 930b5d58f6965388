/* test_clock.c -- the clocks count what they say, in the unit they say.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static uint64_t read_us(clockid_t id)
{
    struct timespec now;

    assert_int_equal(clock_gettime(id, &now), 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void test_clock_us_lies_between_two_readings_of_the_monotonic_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = read_us(CLOCK_MONOTONIC);
        uint64_t now = clock_us();

        assert_in_range(now, before, read_us(CLOCK_MONOTONIC));
    }
}

static void test_clock_us_is_not_the_time_of_day(void **state)
{
    (void)state;
    /* Since the machine was started, not since 1970: what a set clock cannot turn back. */
    assert_true(clock_us() < read_us(CLOCK_REALTIME) / 2);
}

static void test_clock_cpu_lies_between_two_readings_of_the_process_clock(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        double before = (double)read_us(CLOCK_PROCESS_CPUTIME_ID) * 1e-6;
        double now = clock_cpu_s();
        double after = (double)read_us(CLOCK_PROCESS_CPUTIME_ID) * 1e-6;

        /* The kernel rounds differently in the two interfaces, by less than a tick of its own. */
        assert_true(now >= before - 0.011 && now <= after + 0.011);
    }
}

static void test_clock_cpu_grows_with_work(void **state)
{
    double start = clock_cpu_s();

    (void)state;
    /* Ends by itself unless the clock stands still. */
    while (clock_cpu_s() < start + 0.02)
        ;
    assert_true(clock_cpu_s() - start >= 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_us_lies_between_two_readings_of_the_monotonic_clock),
        cmocka_unit_test(test_clock_us_is_not_the_time_of_day),
        cmocka_unit_test(test_clock_cpu_lies_between_two_readings_of_the_process_clock),
        cmocka_unit_test(test_clock_cpu_grows_with_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
