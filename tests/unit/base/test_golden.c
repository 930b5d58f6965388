/* test_golden.c -- the least value of a function with one valley, by as many calls as are allowed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/golden.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct valley {
    double bottom;
    int calls;
};

static double height(void *context, double x)
{
    struct valley *v = context;

    v->calls++;
    return fabs(x - v->bottom);
}

static void test_a_valley_is_found_wherever_it_is(void **state)
{
    (void)state;
    for (double bottom = -3; bottom <= 5; bottom += 0.37) {
        struct valley v = {.bottom = bottom};
        const struct golden g = golden_search(height, &v, -3, 5, 60);

        assert_int_equal(v.calls, 60);
        assert_true(fabs(g.at - bottom) < 1e-9 && fabs(g.middle - bottom) < 1e-9);
        assert_true(g.value == fabs(g.at - bottom));
    }
}

static void test_each_call_leaves_the_golden_section(void **state)
{
    (void)state;
    for (int calls = 2; calls < 30; calls++) {
        struct valley v = {.bottom = 0.3};
        const struct golden g = golden_search(height, &v, 0, 1, calls);
        const double left = pow((sqrt(5) - 1) / 2, calls - 2);

        assert_int_equal(v.calls, calls);
        assert_true(fabs(g.middle - 0.3) <= left / 2 + 1e-12);
        assert_true(fabs(g.at - 0.3) <= left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_valley_is_found_wherever_it_is),
        cmocka_unit_test(test_each_call_leaves_the_golden_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
