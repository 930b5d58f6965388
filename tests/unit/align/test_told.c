/* test_told.c -- a point's place is its rank among the points that are told.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 70 };

/* 2 i + 1 in its first byte, so that there are points before, between and behind; the rest says
 * nothing. */
static void points_of(uint8_t *points, uint32_t n)
{
    memset(points, 0xee, (size_t)n * ALIGN_POINT_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        memset(points + (size_t)i * ALIGN_POINT_BYTES, 0, ALIGN_PREFIX_BYTES);
        points[(size_t)i * ALIGN_POINT_BYTES] = (uint8_t)(2 * ((i * 37) % n) + 1);
    }
}

static void test_each_point_has_its_rank_and_others_have_none(void **state)
{
    uint8_t points[MOST * ALIGN_POINT_BYTES], told[MOST * ALIGN_PREFIX_BYTES];
    uint8_t p[ALIGN_POINT_BYTES] = {0};

    (void)state;
    for (uint32_t n = 0; n < MOST; n++) {
        if (n % 37 == 0 && n > 0)
            continue; /* of which 37 is no unit */
        points_of(points, n);
        told_of(told, points, n);
        assert_true(told_in_order(told, n));
        for (uint32_t first = 0; first < 2 * n + 3; first++) {
            p[0] = (uint8_t)first;
            assert_int_equal(told_place(told, n, p),
                             first % 2 == 1 && first / 2 < n ? first / 2 : (uint32_t)ALIGN_NOWHERE);
        }
    }
}

static void test_a_point_twice_or_before_a_lesser_one_is_no_order(void **state)
{
    uint8_t points[3 * ALIGN_POINT_BYTES], told[3 * ALIGN_PREFIX_BYTES];

    (void)state;
    points_of(points, 3);
    told_of(told, points, 3);
    memcpy(told, told + ALIGN_PREFIX_BYTES, ALIGN_PREFIX_BYTES);
    assert_false(told_in_order(told, 3));
    told[0]++;
    assert_false(told_in_order(told, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_point_has_its_rank_and_others_have_none),
        cmocka_unit_test(test_a_point_twice_or_before_a_lesser_one_is_no_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
