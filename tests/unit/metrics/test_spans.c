/* test_spans.c -- time goes to what was being done, on a clock the test owns.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_spans_accumulate(void **state)
{
    struct spans s = {0};

    (void)state;
    spans_add(&s, SPAN_WAIT, 2000);
    spans_add(&s, SPAN_HEAD, 2000);
    spans_add(&s, SPAN_WAIT, 1);
    spans_add(&s, SPAN_COMBINE, 7);
    assert_int_equal(s.us[SPAN_WAIT], 2001);
    assert_int_equal(s.us[SPAN_HEAD], 2000);
    assert_int_equal(s.us[SPAN_COMBINE], 7);
    assert_int_equal(s.us[SPAN_COMPUTE], 0);
    assert_float_equal(spans_s(&s, SPAN_WAIT), 0.002001, 1e-12);
}

static void test_spans_split_a_run_in_phases_without_a_gap(void **state)
{
    struct spans s = {0};

    (void)state;
    spans_phase(&s, TRAFFIC_SETUP, 100);
    spans_phase(&s, TRAFFIC_TRAIN, 400);
    spans_phase(&s, TRAFFIC_EVALUATE, 1400);
    spans_phase(&s, TRAFFIC_TRAIN, 1500);
    spans_phase(&s, TRAFFIC_TRAIN, 1600); /* only brings it up to date */
    assert_int_equal(s.phase_us[TRAFFIC_TRAIN], 1100);
    spans_stop(&s, 2000);
    spans_stop(&s, 9000); /* the twin: a stopped clock counts nothing */
    assert_int_equal(s.phase_us[TRAFFIC_SETUP], 300);
    assert_int_equal(s.phase_us[TRAFFIC_TRAIN], 1500);
    assert_int_equal(s.phase_us[TRAFFIC_EVALUATE], 100);
    assert_int_equal(s.phase_us[0] + s.phase_us[1] + s.phase_us[2], 2000 - 100);
}

static void test_spans_take_a_clock_running_backwards_for_standing_still(void **state)
{
    struct spans s = {0};

    (void)state;
    spans_phase(&s, TRAFFIC_TRAIN, 5000);
    spans_stop(&s, 4000);
    assert_int_equal(s.phase_us[TRAFFIC_TRAIN], 0);
}

static void test_spans_have_the_names_of_the_summary(void **state)
{
    static const char *const want[SPANS] = {"compute", "protect", "serialise",
                                            "wait",    "combine", "head"};

    (void)state;
    for (int i = 0; i < SPANS; i++)
        assert_string_equal(spans_name((enum span)i), want[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_accumulate),
        cmocka_unit_test(test_spans_split_a_run_in_phases_without_a_gap),
        cmocka_unit_test(test_spans_take_a_clock_running_backwards_for_standing_still),
        cmocka_unit_test(test_spans_have_the_names_of_the_summary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
