/* test_fp31.c -- single elements of 2^31 - 1 against whole numbers, and their signed reading.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp31.h"

#include "tests/golden/field.h"
#include "tests/lib/aborts.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { OPS = 6 };

static void test_arithmetic_is_that_of_whole_numbers(void **state)
{
    const size_t n = sizeof golden_fp31_ops / sizeof golden_fp31_ops[0];

    (void)state;
    assert_true(n > 90 * OPS);
    for (size_t i = 0; i < n; i += OPS) {
        const uint32_t *g = golden_fp31_ops + i;

        assert_int_equal(fp31_add(g[0], g[1]), g[2]);
        assert_int_equal(fp31_sub(g[0], g[1]), g[3]);
        assert_int_equal(fp31_mul(g[0], g[1]), g[4]);
        if (g[0] != 0)
            assert_int_equal(fp31_inv(g[0]), g[5]);
    }
}

static void test_an_element_times_its_inverse_is_one(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        const uint32_t a = 1 + (uint32_t)(golden_field_mixed(3, i) % (FP31_P - 1));

        assert_int_equal(fp31_mul(a, fp31_inv(a)), 1);
        assert_int_equal(fp31_inv(fp31_inv(a)), a);
    }
}

static void invert(void *arg)
{
    fp31_inv(*(uint32_t *)arg);
}

static void test_zero_and_what_is_no_element_have_no_inverse(void **state)
{
    uint32_t zero = 0, one = 1, p = FP31_P;

    (void)state;
    assert_true(aborts(invert, &zero));
    assert_true(aborts(invert, &p));
    assert_false(aborts(invert, &one));
}

static void test_any_integer_becomes_its_residue(void **state)
{
    const size_t n = sizeof golden_fp31_integers / sizeof golden_fp31_integers[0];

    (void)state;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fp31_from_signed(golden_fp31_integers[i]), golden_fp31_elements[i]);
    for (uint32_t i = 0; i < 2000; i++) {
        const int64_t x = (int64_t)golden_field_mixed(4, i);
        const int64_t rest = x % (int64_t)FP31_P;

        assert_int_equal(fp31_from_signed(x), rest < 0 ? rest + (int64_t)FP31_P : rest);
    }
}

static void test_the_signed_reading_comes_back_up_to_the_middle_and_not_beyond(void **state)
{
    const int64_t half = FP31_HALF;

    (void)state;
    for (int64_t x = -300; x <= 300; x++)
        assert_int_equal(fp31_signed(fp31_from_signed(x)), x);
    for (int64_t x = half - 300; x <= half; x++) {
        assert_int_equal(fp31_signed(fp31_from_signed(x)), x);
        assert_int_equal(fp31_signed(fp31_from_signed(-x)), -x);
    }
    assert_int_equal(fp31_signed(fp31_from_signed(half + 1)), -half);
    assert_int_equal(fp31_signed(fp31_from_signed(-half - 1)), half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic_is_that_of_whole_numbers),
        cmocka_unit_test(test_an_element_times_its_inverse_is_one),
        cmocka_unit_test(test_zero_and_what_is_no_element_have_no_inverse),
        cmocka_unit_test(test_any_integer_becomes_its_residue),
        cmocka_unit_test(test_the_signed_reading_comes_back_up_to_the_middle_and_not_beyond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
