/* test_group.c -- points are canonical and never the identity; raising and sums agree.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/align.h"

static const uint8_t identity[GROUP_BYTES];

static void scalar_of(uint8_t out[GROUP_BYTES], uint8_t first)
{
    uint8_t random[GROUP_RANDOM_BYTES];

    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)(first + i);
    group_scalar(out, random);
}

/* a - (0 - b), by the library that is not the one of sums. */
static bool add(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                const uint8_t b[GROUP_BYTES])
{
    uint8_t opposite[GROUP_BYTES];

    return group_subtract(opposite, identity, b) && group_subtract(out, a, opposite);
}

static void test_hash_and_power_are_those_of_an_independent_program(void **state)
{
    uint8_t key[GROUP_BYTES], point[GROUP_BYTES], raised[GROUP_BYTES];

    (void)state;
    scalar_of(key, 0);
    assert_int_equal(group_hash(point, "vfl/align/point/1", GOLDEN_ROW, sizeof GOLDEN_ROW),
                     STATUS_OK);
    assert_memory_equal(point, GOLDEN_POINT, sizeof point);
    assert_true(group_raise(raised, key, point));
    assert_memory_equal(raised, GOLDEN_RAISED, sizeof raised);
    assert_true(add(point, point, raised));
    assert_memory_equal(point, GOLDEN_SUM, sizeof point);
    assert_true(group_subtract(point, point, raised));
    assert_memory_equal(point, GOLDEN_POINT, sizeof point);
}

static void test_raising_by_two_keys_has_no_order(void **state)
{
    uint8_t a[GROUP_BYTES], b[GROUP_BYTES], ab[GROUP_BYTES], ba[GROUP_BYTES];

    (void)state;
    scalar_of(a, 1);
    scalar_of(b, 2);
    assert_true(group_raise(ab, a, GOLDEN_POINT) && group_raise(ab, b, ab));
    assert_true(group_raise(ba, b, GOLDEN_POINT) && group_raise(ba, a, ba));
    assert_memory_equal(ab, ba, sizeof ab);
}

/* (a + b c) P = a P + b (c P) */
static void test_scalars_add_and_multiply(void **state)
{
    uint8_t a[GROUP_BYTES], b[GROUP_BYTES], c[GROUP_BYTES], all[GROUP_BYTES], left[GROUP_BYTES],
        right[GROUP_BYTES], sum[GROUP_BYTES];

    (void)state;
    scalar_of(a, 1);
    scalar_of(b, 2);
    scalar_of(c, 3);
    group_scalar_add_product(all, a, b, c);
    assert_true(group_raise(left, all, GOLDEN_POINT));
    assert_true(group_raise(right, c, GOLDEN_POINT) && group_raise(right, b, right));
    assert_true(group_raise(sum, a, GOLDEN_POINT) && add(sum, sum, right));
    assert_memory_equal(left, sum, sizeof sum);
}

/* The two libraries agree: a sum of many is that of two at a time, whatever stands beside it. */
static void test_a_sum_is_that_of_its_parts(void **state)
{
    enum { N = 40 };
    uint8_t points[N + 3][GROUP_BYTES], by_two[GROUP_BYTES], sum[GROUP_BYTES];

    (void)state;
    memcpy(points[0], GOLDEN_POINT, GROUP_BYTES);
    memcpy(by_two, GOLDEN_POINT, GROUP_BYTES);
    for (int i = 1; i < N; i++) {
        uint8_t key[GROUP_BYTES];

        scalar_of(key, (uint8_t)i);
        assert_true(group_raise(points[i], key, points[i - 1]));
        assert_true(add(by_two, by_two, points[i]));
    }
    assert_true(group_sum(sum, points[0], N));
    assert_memory_equal(sum, by_two, sizeof sum);
    /* Two opposite points and the identity change nothing. */
    assert_true(add(points[N], by_two, GOLDEN_POINT));
    assert_true(group_subtract(points[N], points[N], by_two));
    assert_true(group_subtract(points[N + 1], by_two, GOLDEN_POINT));
    assert_true(group_subtract(points[N + 1], points[N + 1], by_two));
    memcpy(points[N + 2], identity, GROUP_BYTES);
    assert_true(group_sum(sum, points[0], N + 3));
    assert_memory_equal(sum, by_two, sizeof sum);
    assert_true(group_sum(sum, points[N], 2));
    assert_memory_equal(sum, identity, sizeof sum);
}

static void expect_no_point(const uint8_t p[GROUP_BYTES])
{
    uint8_t key[GROUP_BYTES], out[GROUP_BYTES], pair[2][GROUP_BYTES];

    scalar_of(key, 7);
    assert_false(group_is_point(p));
    assert_false(group_raise(out, key, p));
    memcpy(pair[0], GOLDEN_POINT, GROUP_BYTES);
    memcpy(pair[1], p, GROUP_BYTES);
    assert_int_equal(group_sum(out, pair[0], 2), memcmp(p, identity, GROUP_BYTES) == 0);
}

static void test_what_is_no_point_is_refused_everywhere(void **state)
{
    uint8_t bad[GROUP_BYTES], out[GROUP_BYTES], zero[GROUP_BYTES] = {0};

    (void)state;
    expect_no_point(identity);
    memset(bad, 0xff, sizeof bad);
    expect_no_point(bad);
    assert_false(group_subtract(out, bad, GOLDEN_POINT));
    assert_false(group_subtract(out, GOLDEN_POINT, bad));
    /* The highest bit is no part of the number, so that it would be the same point. */
    memcpy(bad, GOLDEN_POINT, sizeof bad);
    assert_true(group_is_point(bad));
    bad[31] |= 0x80;
    expect_no_point(bad);
    assert_false(group_subtract(out, bad, GOLDEN_POINT));
    assert_false(group_subtract(out, GOLDEN_POINT, bad));
    /* Results that would be the identity. */
    assert_false(group_subtract(out, GOLDEN_POINT, GOLDEN_POINT));
    assert_false(group_raise(out, zero, GOLDEN_POINT));
    assert_false(group_raise_base(out, zero));
}

static int open_group(void **state)
{
    (void)state;
    return group_open() == STATUS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_and_power_are_those_of_an_independent_program),
        cmocka_unit_test(test_raising_by_two_keys_has_no_order),
        cmocka_unit_test(test_scalars_add_and_multiply),
        cmocka_unit_test(test_a_sum_is_that_of_its_parts),
        cmocka_unit_test(test_what_is_no_point_is_refused_everywhere),
    };

    return cmocka_run_group_tests(tests, open_group, NULL);
}
