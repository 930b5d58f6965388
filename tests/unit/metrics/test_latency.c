/* test_latency.c -- a quantile is at most a quarter above what it is of, and nothing is lost.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/latency.h"
#include "common/metrics/report_latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_each_time_is_in_a_bucket_that_is_as_wide_as_it_says(void **state)
{
    (void)state;
    for (uint64_t us = 0; us < UINT64_C(1) << 29; us += us / 7 + 1) {
        struct latency l = {0};
        uint64_t most;

        latency_add(&l, us);
        most = latency_quantile_us(&l, 0.5);
        assert_true(most >= us && most <= us + us / 4);
    }
}

static void test_buckets_follow_each_other(void **state)
{
    (void)state;
    for (unsigned i = 1; i < LATENCY_BUCKETS; i++)
        assert_true(latency_most_us(i) > latency_most_us(i - 1));
}

static void test_quantiles_are_of_those_that_were_as_fast(void **state)
{
    struct latency l = {0};

    (void)state;
    assert_int_equal(latency_quantile_us(&l, 0.5), 0);
    for (unsigned i = 0; i < 98; i++)
        latency_add(&l, 100);
    latency_add(&l, 5000);
    latency_add(&l, UINT64_MAX / 4);
    assert_int_equal(l.n, 100);
    assert_in_range(latency_quantile_us(&l, 0.5), 100, 127);
    assert_in_range(latency_quantile_us(&l, 0.99), 5000, 6250);
    assert_int_equal(latency_quantile_us(&l, 1), latency_most_us(LATENCY_BUCKETS - 1));
}

static void test_a_summary_has_quantiles_and_buckets(void **state)
{
    struct report_json j = {.bad = false};
    json_t *o = json_object(), *l;
    struct latency is = {0};

    (void)state;
    report_latency(&j, o, &is);
    assert_int_equal(json_object_size(json_object_get(o, "latency")), 1); /* n */
    latency_add(&is, 10);
    latency_add(&is, 1000);
    report_latency(&j, o, &is);
    l = json_object_get(o, "latency");
    assert_int_equal(json_integer_value(json_object_get(l, "n")), 2);
    assert_int_equal(json_integer_value(json_object_get(l, "mean_us")), 505);
    assert_int_equal(json_array_size(json_object_get(l, "most_us_and_count")), 2);
    assert_false(j.bad);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_time_is_in_a_bucket_that_is_as_wide_as_it_says),
        cmocka_unit_test(test_buckets_follow_each_other),
        cmocka_unit_test(test_quantiles_are_of_those_that_were_as_fast),
        cmocka_unit_test(test_a_summary_has_quantiles_and_buckets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
