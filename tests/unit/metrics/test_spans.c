/* test_spans.c -- time goes to what was being done, on a clock the test owns.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/spans.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void test_spans_accumulate_and_may_overlap(void **state)
{
    struct spans s = {0};

    (void)state;
    spans_begin(&s, SPAN_WAIT, 1000);
    spans_begin(&s, SPAN_HEAD, 1500);
    spans_end(&s, SPAN_WAIT, 3000);
    spans_end(&s, SPAN_HEAD, 3500);
    spans_begin(&s, SPAN_WAIT, 10000);
    spans_end(&s, SPAN_WAIT, 10001);
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
    spans_begin(&s, SPAN_HEAD, 5000);
    spans_end(&s, SPAN_HEAD, 4000);
    spans_phase(&s, TRAFFIC_TRAIN, 5000);
    spans_stop(&s, 4000);
    assert_int_equal(s.us[SPAN_HEAD], 0);
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

static void test_spans_refuse_a_beginning_without_an_end(void **state)
{
    struct spans s = {0};
    int how;

    (void)state;
    spans_begin(&s, SPAN_WAIT, 1);
    for (int twice = 0; twice < 2; twice++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL);
            if (freopen("/dev/null", "w", stderr) == NULL)
                _exit(1);
            if (twice)
                spans_begin(&s, SPAN_WAIT, 2);
            else
                spans_end(&s, SPAN_HEAD, 2);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &how, 0), pid);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
    }
    spans_end(&s, SPAN_WAIT, 2);
    assert_int_equal(s.us[SPAN_WAIT], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_accumulate_and_may_overlap),
        cmocka_unit_test(test_spans_split_a_run_in_phases_without_a_gap),
        cmocka_unit_test(test_spans_take_a_clock_running_backwards_for_standing_still),
        cmocka_unit_test(test_spans_have_the_names_of_the_summary),
        cmocka_unit_test(test_spans_refuse_a_beginning_without_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
