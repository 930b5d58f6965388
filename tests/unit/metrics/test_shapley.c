/* test_shapley.c -- against all orders written out, and the laws that make them what they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/shapley.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 6, ORDERS_MAX = 720 };

/* A value for each set, as good as drawn. */
static double drawn(uint32_t set)
{
    return sin(1 + 12.9898 * set) * 43.5453;
}

static void fill(double *value, uint32_t n)
{
    for (uint32_t set = 0; set < 1u << n; set++)
        value[set] = drawn(set);
}

/* The k-th of all orders: k in the number system of factorials. */
static void order_of(uint32_t *order, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = k % i, was = order[i - 1];

        k /= i;
        order[i - 1] = order[j];
        order[j] = was;
    }
}

/* What each adds on the way of every order. */
static uint32_t all_orders(double *rises, const double *value, uint32_t n)
{
    uint32_t orders = 1, order[MOST];

    for (uint32_t i = 2; i <= n; i++)
        orders *= i;
    for (uint32_t k = 0; k < orders; k++) {
        uint32_t in = 0;

        order_of(order, n, k);
        for (uint32_t i = 0; i < n; i++) {
            rises[k * n + order[i]] = value[in | 1u << order[i]] - value[in];
            in |= 1u << order[i];
        }
    }
    return orders;
}

static void test_whole_is_the_mean_over_all_orders(void **state)
{
    static double value[1 << MOST], rises[ORDERS_MAX * MOST];
    double whole[MOST], sampled[MOST];

    (void)state;
    for (uint32_t n = 1; n <= MOST; n++) {
        fill(value, n);
        shapley_whole(whole, value, n);
        shapley_sampled(sampled, NULL, rises, n, all_orders(rises, value, n));
        for (uint32_t i = 0; i < n; i++)
            assert_true(fabs(whole[i] - sampled[i]) < 1e-9);
    }
}

static void test_parts_add_up_to_all_less_nobody(void **state)
{
    static double value[1 << SHAPLEY_WHOLE_MAX];
    double part[SHAPLEY_WHOLE_MAX];

    (void)state;
    for (uint32_t n = 1; n <= SHAPLEY_WHOLE_MAX; n += 5) {
        double sum = 0;

        fill(value, n);
        shapley_whole(part, value, n);
        for (uint32_t i = 0; i < n; i++)
            sum += part[i];
        assert_true(fabs(sum - (value[(1u << n) - 1] - value[0])) < 1e-8);
    }
}

/* Two that any set gains the same from have the same part; one that no set gains from has none. */
static void test_who_is_alike_has_alike_and_who_adds_nothing_nothing(void **state)
{
    double value[1 << 5], part[5];

    (void)state;
    for (uint32_t set = 0; set < 1u << 5; set++) {
        const uint32_t alike = (set >> 1 & 1) + (set >> 3 & 1), others = set & 5;

        value[set] = drawn(others * 3 + alike); /* player 4 is in none of it */
    }
    shapley_whole(part, value, 5);
    assert_true(fabs(part[1] - part[3]) < 1e-12);
    assert_true(fabs(part[4]) < 1e-12);
    assert_true(fabs(part[0] - part[1]) > 1e-3); /* the negative twin */
}

/* Halves of all orders are off by about what they say. */
static void test_a_sample_says_how_far_it_may_be_off(void **state)
{
    static double value[1 << MOST], rises[ORDERS_MAX * MOST], some[ORDERS_MAX * MOST];
    double whole[MOST], part[MOST], error[MOST];
    uint32_t orders, taken = 0;

    (void)state;
    fill(value, MOST);
    shapley_whole(whole, value, MOST);
    orders = all_orders(rises, value, MOST);
    for (uint32_t k = 0; k < orders; k++) {
        if (drawn(k + 1000) < 0)
            continue;
        for (uint32_t i = 0; i < MOST; i++)
            some[taken * MOST + i] = rises[k * MOST + i];
        taken++;
    }
    shapley_sampled(part, error, some, MOST, taken);
    for (uint32_t i = 0; i < MOST; i++) {
        assert_true(error[i] > 0 && fabs(part[i] - whole[i]) < 4 * error[i]);
        assert_true(error[i] < 5);
    }
    shapley_sampled(part, error, some, MOST, 2); /* one pair says nothing of its spread */
    assert_true(isnan(error[0]));
    shapley_sampled(part, error, some, MOST, 3);
    assert_true(isfinite(error[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_is_the_mean_over_all_orders),
        cmocka_unit_test(test_parts_add_up_to_all_less_nobody),
        cmocka_unit_test(test_who_is_alike_has_alike_and_who_adds_nothing_nothing),
        cmocka_unit_test(test_a_sample_says_how_far_it_may_be_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
