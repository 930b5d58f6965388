/* test_subnormal.c -- what is too small to be normal is 0 on the thread that said so, and there
 * alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/subnormal.h"

#include <float.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Made of normal numbers; volatile, so that no compiler does the sum. */
static int results_are_flushed(void)
{
    volatile float small = FLT_MIN, half = 0.5F;
    volatile double tiny = DBL_MIN;

    return small * half == 0 && tiny * 0.5 == 0;
}

/* It is there to begin with. */
static int inputs_are_flushed(void)
{
    volatile float subnormal = 1e-40F, many = 0x1p100F;

    return subnormal * many == 0;
}

static void test_results_and_inputs_are_flushed_and_put_back(void **state)
{
    const uint64_t mode = subnormal_flush();

    (void)state;
    assert_true(results_are_flushed() && inputs_are_flushed());
    subnormal_restore(mode);
    assert_false(results_are_flushed() || inputs_are_flushed());
}

static void test_a_second_call_inside_of_a_first_changes_nothing(void **state)
{
    const uint64_t outer = subnormal_flush(), inner = subnormal_flush();

    (void)state;
    subnormal_restore(inner);
    assert_true(results_are_flushed());
    subnormal_restore(outer);
    assert_false(results_are_flushed());
}

static void *other_thread(void *seen)
{
    const uint64_t mode = subnormal_flush();

    *(int *)seen = results_are_flushed() && inputs_are_flushed();
    subnormal_restore(mode);
    return NULL;
}

static void test_a_thread_has_a_mode_of_its_own(void **state)
{
    pthread_t thread;
    int seen = 0;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(seen);
    assert_false(results_are_flushed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_and_inputs_are_flushed_and_put_back),
        cmocka_unit_test(test_a_second_call_inside_of_a_first_changes_nothing),
        cmocka_unit_test(test_a_thread_has_a_mode_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
