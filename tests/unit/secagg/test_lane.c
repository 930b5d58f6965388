/* test_lane.c -- runs of lanes, at every length around a register, beside the definition.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LANES_MAX = 200, CANARY = 0xa5 };

static uint32_t number(size_t i, uint32_t salt)
{
    uint32_t v = (uint32_t)i * 2654435761U + salt * 40503U;

    return v ^ v >> 13;
}

static void check_16(size_t n)
{
    uint16_t sum[LANES_MAX + 1], difference[LANES_MAX + 1], in[LANES_MAX] = {0};

    for (size_t i = 0; i < n; i++) {
        sum[i] = difference[i] = (uint16_t)number(i, 1);
        in[i] = (uint16_t)number(i, 2);
    }
    sum[n] = difference[n] = CANARY;
    lane_add16(sum, in, n);
    lane_sub16(difference, in, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sum[i], (number(i, 1) + number(i, 2)) & 0xffff);
        assert_int_equal(difference[i], (number(i, 1) - number(i, 2)) & 0xffff);
    }
    assert_int_equal(sum[n], CANARY);
    assert_int_equal(difference[n], CANARY);
}

static void check_32(size_t n)
{
    uint32_t sum[LANES_MAX + 1], difference[LANES_MAX + 1], in[LANES_MAX] = {0};

    for (size_t i = 0; i < n; i++) {
        sum[i] = difference[i] = number(i, 3);
        in[i] = number(i, 4);
    }
    sum[n] = difference[n] = CANARY;
    lane_add32(sum, in, n);
    lane_sub32(difference, in, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sum[i], (uint32_t)(number(i, 3) + number(i, 4)));
        assert_int_equal(difference[i], (uint32_t)(number(i, 3) - number(i, 4)));
    }
    assert_int_equal(sum[n], CANARY);
    assert_int_equal(difference[n], CANARY);
}

static void test_lanes_add_and_subtract_with_wrapping_at_every_length(void **state)
{
    (void)state;
    for (size_t n = 0; n <= LANES_MAX; n++) {
        check_16(n);
        check_32(n);
    }
}

static void test_lanes_narrow_to_their_low_half_and_widen_back(void **state)
{
    uint32_t wide[LANES_MAX], back[LANES_MAX];
    uint16_t narrow[LANES_MAX];

    (void)state;
    for (size_t i = 0; i < LANES_MAX; i++)
        wide[i] = number(i, 7);
    lane_narrow(narrow, wide, LANES_MAX);
    lane_widen(back, narrow, LANES_MAX);
    for (size_t i = 0; i < LANES_MAX; i++)
        assert_int_equal(back[i], wide[i] & 0xffff);
}

/* At every place of the run, so that no lane of a register is left out. */
static void test_the_largest_lane_and_the_strange_value_are_seen_anywhere(void **state)
{
    static const float strange[] = {NAN, -NAN, INFINITY, -INFINITY};
    uint32_t v[LANES_MAX] = {0};
    float x[LANES_MAX] = {0};

    (void)state;
    assert_int_equal(lane_max32(v, 0), 0);
    assert_int_equal(lane_finite(x, 0), 1);
    for (size_t n = 1; n <= LANES_MAX; n += 3)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++) {
                v[i] = 5;
                x[i] = i % 2 ? 3.4028234e38F : -3.4028234e38F;
            }
            assert_int_equal(lane_finite(x, n), 1);
            v[at] = 0xfffffff0;
            x[at] = strange[at % 4];
            assert_int_equal(lane_max32(v, n), 0xfffffff0);
            assert_int_equal(lane_finite(x, n), 0);
        }
}

static void test_a_range_holds_its_ends_and_nothing_beyond(void **state)
{
    static const float beyond[] = {0x1.800002p-1F, -0x1.800002p-1F, INFINITY, -INFINITY, NAN};
    float x[LANES_MAX];

    (void)state;
    for (size_t i = 0; i < LANES_MAX; i++)
        x[i] = i % 2 ? 0.75F : -0.75F;
    assert_int_equal(lane_within(x, LANES_MAX, 0.75F), 1);
    assert_int_equal(lane_within(x, LANES_MAX, 0x1.7ffffep-1F), 0);
    for (size_t at = 0; at < LANES_MAX; at++) {
        const float was = x[at];

        x[at] = beyond[at % 5];
        assert_int_equal(lane_within(x, LANES_MAX, 0.75F), 0);
        assert_int_equal(lane_within(x, at, 0.75F), 1);
        x[at] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_add_and_subtract_with_wrapping_at_every_length),
        cmocka_unit_test(test_lanes_narrow_to_their_low_half_and_widen_back),
        cmocka_unit_test(test_the_largest_lane_and_the_strange_value_are_seen_anywhere),
        cmocka_unit_test(test_a_range_holds_its_ends_and_nothing_beyond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
