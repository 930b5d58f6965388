/* test_fedvs_price.c -- how many inputs a field holds, against the bound in whole numbers; and the
 * lines that say so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/fedvs_price.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    plan_defaults(&plan);
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    plan.protocol.encoding = ENCODING_FIXED;
    plan.shape.parties = 11;
    plan.shape.train_rows = 1000;
    plan.shape.outputs = 2;
    plan.model.embedding = 4;
    plan.training.batch = 60;
    plan.protocol.fedvs.segments = 3;
    plan.protocol.fedvs.privacy = 2;
    assert_int_equal(plan_check(&plan, NULL), STATUS_OK);
    return 0;
}

/* d_m D_m in all: so many features that their products, each as large as it can be, stay within
 * (p-1)/2, and their weights within a round. */
static uint64_t by_hand(uint64_t p, uint32_t degree)
{
    uint64_t powers = 0,
             weight =
                 (uint64_t)ceil(ldexp(plan.protocol.fedvs.w_max, (int)plan.protocol.fedvs.w_bits)),
             features, most = ((uint64_t)1 << 24) / plan.model.embedding / degree;

    for (uint32_t i = 1; i <= degree; i++)
        powers += (uint64_t)rint(
            ldexp(pow(plan.protocol.fedvs.x_max, i), (int)plan.protocol.fedvs.x_bits));
    features = (p - 1) / 2 / powers / weight;
    features = features > most ? most : features;
    return features < plan.shape.parties ? 0 : features * degree;
}

static void expect_as_by_hand(uint32_t degree)
{
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, degree), by_hand(0x7fffffff, degree));
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_61, degree),
                     by_hand(((uint64_t)1 << 61) - 1, degree));
}

static void test_inputs_are_as_many_as_the_bound_allows(void **state)
{
    static const double maxima[] = {0.5, 1, 4, 8, 31.5};

    (void)state;
    for (uint32_t degree = 1; degree <= 5; degree++) {
        for (size_t x = 0; x < 5; x++) {
            for (uint32_t bits = 1; bits <= 20; bits += 3) {
                plan.protocol.fedvs.x_max = maxima[x];
                plan.protocol.fedvs.w_max = maxima[4 - x];
                plan.protocol.fedvs.x_bits = bits;
                plan.protocol.fedvs.w_bits = bits + 10;
                expect_as_by_hand(degree);
            }
        }
    }
}

static void test_a_field_that_holds_nothing_holds_no_input(void **state)
{
    (void)state;
    /* The defaults: 2^15 2^23 is beyond 2^30. */
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, 1), 0);
    assert_true(fedvs_price_inputs(&plan, PRIME_61, 1) > 1000000);
    /* 2^4 2^12 = 2^16 a feature: 2^14 of them are one too many. */
    plan.protocol.fedvs.x_bits = 4;
    plan.protocol.fedvs.w_bits = 12;
    plan.protocol.fedvs.x_max = plan.protocol.fedvs.w_max = 1;
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, 1), (1 << 14) - 1);
    /* 12 features fit no field of which 11 parties have one each, 11 do. */
    plan.protocol.fedvs.x_bits = 13;
    plan.protocol.fedvs.w_bits = 13;
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, 1), 15);
    plan.shape.parties = 15;
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, 1), 15);
    plan.shape.parties = 16;
    assert_int_equal(fedvs_price_inputs(&plan, PRIME_31, 1), 0);
}

static void test_a_plan_whose_field_holds_nobody_is_refused_with_the_numbers(void **state)
{
    struct error err = {0};

    (void)state;
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_OK);
    plan.protocol.fedvs.prime = PRIME_31; /* 11 features of 2^15 2^23 */
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_CONFIG);
    assert_int_equal(status_exit_code(err.status), 2);
    assert_non_null(strstr(err.text, "over 11 inputs"));
    assert_non_null(strstr(err.text, "3023656976384"));
    assert_non_null(strstr(err.text, "2^31-1"));
    plan.protocol.fedvs.prime = PRIME_61;
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_OK);
    plan.protocol.fedvs.prime = PRIME_31;
    plan.protocol.fedvs.x_bits = 13;
    plan.protocol.fedvs.w_bits = 13;
    plan.protocol.fedvs.x_max = plan.protocol.fedvs.w_max = 1;
    plan.shape.parties = 15; /* 15 2^26 is below 2^30, 16 2^26 is not */
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_OK);
    plan.shape.parties = 16;
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_CONFIG);
    plan.protocol.aggregation = AGGREGATION_CLEAR; /* which has no field */
    assert_int_equal(fedvs_price_check(&plan, &err), STATUS_OK);
}

static void expect_print(const char *line, bool there)
{
    struct buf out;

    buf_init(&out, 4096);
    assert_int_equal(fedvs_price_print(&plan, &out), STATUS_OK);
    if ((memmem(out.data, out.len, line, strlen(line)) != NULL) != there)
        fail_msg("%s\n%.*s", line, (int)out.len, (const char *)out.data);
    buf_deinit(&out);
}

static void test_a_round_is_priced_for_each_field_it_may_have(void **state)
{
    /* 60 / 3 coded rows of 4 values: 80 elements; 4 weights an input. */
    static const char small[] = "#   2^31-1: result 310 bytes up, weights 16 bytes an input",
                      large[] = "#   2^61-1: result 610 bytes up, weights 31 bytes an input";

    (void)state;
    expect_print("# any 9 results decode: 2 may be late or never come", true);
    expect_print("the gradient, 960 bytes\n", true);
    expect_print(small, true);
    expect_print(large, true);
    plan.protocol.fedvs.prime = PRIME_31;
    expect_print(small, true);
    expect_print(large, false);
    plan.protocol.fedvs.prime = PRIME_61;
    expect_print(small, false);
    expect_print(large, true);
    plan.protocol.fedvs.x_bits = 4;
    plan.protocol.fedvs.w_bits = 12;
    plan.protocol.fedvs.x_max = plan.protocol.fedvs.w_max = 1;
    plan.protocol.fedvs.prime = PRIME_31;
    /* Under degree 2 a feature is two inputs of equal size, of degree 3 three. */
    expect_print("sums hold 16383 inputs at degree 1, 16382 inputs at degree 2, 16383 inputs at "
                 "degree 3\n",
                 true);
}

static void test_a_price_that_does_not_fit_is_refused(void **state)
{
    struct buf out;

    (void)state;
    for (size_t most = 0; most < 300; most += 37) {
        buf_init(&out, most);
        assert_int_equal(fedvs_price_print(&plan, &out), STATUS_LIMIT);
        buf_deinit(&out);
    }
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_inputs_are_as_many_as_the_bound_allows),
        TEST(test_a_field_that_holds_nothing_holds_no_input),
        TEST(test_a_plan_whose_field_holds_nobody_is_refused_with_the_numbers),
        TEST(test_a_round_is_priced_for_each_field_it_may_have),
        TEST(test_a_price_that_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
