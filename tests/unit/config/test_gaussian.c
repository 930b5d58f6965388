/* test_gaussian.c -- the baseline's noise: the paper's formulas, and the exact (epsilon, delta)
 * condition.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/gaussian.h"

#include "tests/golden/gaussian.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static int close_to(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fabs(b);
}

static void test_paper_and_equal_rdp_are_their_formulas(void **state)
{
    (void)state;
    /* 2 M C^2 / (b beta^2) and M C^2 (1 - 4 beta^2) / (4 b beta^2) at C = 2, b = 16, beta = 1/4, M
     * = 5 */
    assert_true(close_to(pow(gaussian_sigma_paper(2, 16, 0.25, 5), 2), 40, 1e-12));
    assert_true(close_to(pow(gaussian_sigma_equal_rdp(2, 16, 0.25, 5), 2), 3.75, 1e-12));
    assert_true(close_to(pow(gaussian_sigma_paper(1, 8, 0.1, 1), 2), 25, 1e-12));
    assert_true(close_to(pow(gaussian_sigma_equal_rdp(1, 8, 0.1, 1), 2), 3, 1e-12));
}

/* 60 digits, by tests/golden/gen_gaussian.py. */
static void test_delta_equals_high_precision_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN_GAUSSIAN / sizeof GOLDEN_GAUSSIAN[0]; i++) {
        const struct golden_gaussian *g = &GOLDEN_GAUSSIAN[i];

        assert_true(fabs(gaussian_delta(g->reach, g->sigma, g->epsilon) - g->delta) <=
                    1e-9 * g->delta + 1e-15);
    }
}

static void test_sigma_is_the_least_that_keeps_delta(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GOLDEN_GAUSSIAN / sizeof GOLDEN_GAUSSIAN[0]; i++) {
        const struct golden_gaussian *g = &GOLDEN_GAUSSIAN[i];
        double sigma = gaussian_sigma_epsilon(g->reach, g->epsilon, g->delta);

        assert_true(close_to(sigma, g->sigma, 1e-8));
        assert_true(gaussian_delta(g->reach, sigma, g->epsilon) <= g->delta);
        assert_true(gaussian_delta(g->reach, sigma * (1 - 1e-6), g->epsilon) > g->delta);
    }
}

static void test_more_privacy_costs_more_noise(void **state)
{
    double last = 0;

    (void)state;
    for (double epsilon = 1000; epsilon > 1e-3; epsilon /= 2) {
        double sigma = gaussian_sigma_epsilon(3, epsilon, 1e-5);

        assert_true(sigma > last);
        assert_true(gaussian_sigma_epsilon(3, epsilon, 1e-6) > sigma);
        assert_true(close_to(gaussian_sigma_epsilon(6, epsilon, 1e-5), 2 * sigma, 1e-9));
        last = sigma;
    }
}

/* The classical sqrt(2 ln(1.25 / delta)) / epsilon is a sufficient noise below epsilon 1. */
static void test_exact_noise_is_below_the_classical_bound(void **state)
{
    (void)state;
    for (double epsilon = 0.01; epsilon < 1; epsilon *= 1.5) {
        double classical = sqrt(2 * log(1.25 / 1e-5)) / epsilon;
        double sigma = gaussian_sigma_epsilon(1, epsilon, 1e-5);

        assert_true(sigma < classical && sigma > 0.5 * classical);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_and_equal_rdp_are_their_formulas),
        cmocka_unit_test(test_delta_equals_high_precision_values),
        cmocka_unit_test(test_sigma_is_the_least_that_keeps_delta),
        cmocka_unit_test(test_more_privacy_costs_more_noise),
        cmocka_unit_test(test_exact_noise_is_below_the_classical_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
