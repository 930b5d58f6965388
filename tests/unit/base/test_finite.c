/* test_finite.c -- every kind of float, and what it becomes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/finite.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const float plain[] = {0, -0.0F, 1, -2.5F, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45F, -1e-45F};
static const float strange[] = {INFINITY, -INFINITY, NAN, -NAN};

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_what_is_finite_stays_bit_for_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assert_int_equal(finite_bits(finite_or_zero(plain[i])), finite_bits(plain[i]));
        assert_int_equal(finite_mask(plain[i]), UINT32_MAX);
        assert_true(finite_within(plain[i], FLT_MAX) == plain[i]);
    }
}

static void test_what_is_not_becomes_nought(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(finite_bits(finite_or_zero(strange[i])), 0);
        assert_int_equal(finite_mask(strange[i]), 0);
    }
    for (uint32_t low = 1; low < 1U << 23; low = low * 5 + 3) { /* NaNs of all kinds */
        assert_int_equal(finite_bits(finite_or_zero(of_bits(0x7f800000U + low))), 0);
        assert_int_equal(finite_bits(finite_within(of_bits(0xff800000U + low), 2)), 0);
    }
}

static void test_within_cuts_off_at_both_ends(void **state)
{
    (void)state;
    assert_true(finite_within(3, 2) == 2 && finite_within(-3, 2) == -2);
    assert_true(finite_within(INFINITY, 2) == 2 && finite_within(-INFINITY, 2) == -2);
    assert_true(finite_within(2, 2) == 2 && finite_within(-2, 2) == -2);
    assert_true(finite_within(1.5F, 2) == 1.5F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_finite_stays_bit_for_bit),
        cmocka_unit_test(test_what_is_not_becomes_nought),
        cmocka_unit_test(test_within_cuts_off_at_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
