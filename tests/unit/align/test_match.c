/* test_match.c -- lists are compared as bytes, and a point that is there twice is found.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/match.h"

#include "common/base/le.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* list[i]: numbers that stand for points, 0 behind the last. */
static struct align_match *lists_of(const uint8_t list[3][5], uint32_t chunk)
{
    uint32_t size[3];
    struct align_course c;
    struct align_match *m;

    for (uint32_t i = 0; i < 3; i++)
        size[i] = (uint32_t)strlen((const char *)list[i]);
    align_course_init(&c, 3, size, chunk, false);
    assert_int_equal(align_match_new(&m, &c), STATUS_OK);
    for (uint32_t step = 3 * c.chunks; step < 4 * c.chunks; step++) {
        const struct align_at at = align_at(&c, step);

        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t i = align_list(&c, &at, k);
            uint8_t points[6 * ALIGN_POINT_BYTES];
            uint32_t from;
            const uint32_t n = align_range(&c, size[i], at.chunk, &from);

            for (uint32_t e = 0; e < n; e++)
                memset(points + e * ALIGN_POINT_BYTES, list[i][from + e], ALIGN_POINT_BYTES);
            align_match_put(m, &at, k, points);
        }
    }
    return m;
}

static void expect_places(const struct align_match *m, uint32_t i, const uint32_t *want, size_t n)
{
    uint8_t out[5 * ALIGN_PLACE_BYTES];
    const uint8_t *at = out;

    assert_int_equal(align_match_places(m, i, 0, out), n * ALIGN_PLACE_BYTES);
    for (size_t e = 0; e < n; e++)
        assert_int_equal((uint32_t)le_take(&at, ALIGN_PLACE_BYTES), want[e]);
}

static void test_common_points_stand_in_their_own_order(void **state)
{
    static const uint8_t list[3][5] = {{9, 4, 7, 2}, {2, 3, 9}, {1, 9, 2, 7}};
    static const uint32_t of_0[] = {1, ALIGN_NOWHERE, ALIGN_NOWHERE, 0},
                          of_1[] = {0, ALIGN_NOWHERE, 1},
                          of_2[] = {ALIGN_NOWHERE, 1, 0, ALIGN_NOWHERE};
    struct align_match *m = lists_of(list, 5);
    uint8_t told[2 * ALIGN_PREFIX_BYTES];
    uint32_t whose;

    (void)state;
    assert_int_equal(align_match_compare(m, &whose), STATUS_OK);
    assert_int_equal(align_match_common(m), 2);
    expect_places(m, 0, of_0, 4);
    expect_places(m, 1, of_1, 3);
    expect_places(m, 2, of_2, 4);
    assert_int_equal(align_match_tell(m, 0, told), sizeof told);
    assert_int_equal(told[0], 2);
    assert_int_equal(told[ALIGN_PREFIX_BYTES], 9);
    align_match_free(m);
}

static void test_lists_with_nothing_in_common_have_no_places(void **state)
{
    static const uint8_t list[3][5] = {{1, 2}, {2, 3}, {3, 1}};
    struct align_match *m = lists_of(list, 1);
    uint32_t whose;

    (void)state;
    assert_int_equal(align_match_compare(m, &whose), STATUS_OK);
    assert_int_equal(align_match_common(m), 0);
    align_match_free(m);
}

static void test_a_point_twice_in_a_list_is_found(void **state)
{
    static const uint8_t list[3][5] = {{1, 2}, {2, 3, 1, 3}, {3, 1}};
    struct align_match *m = lists_of(list, 2);
    uint32_t whose;

    (void)state;
    assert_int_equal(align_match_compare(m, &whose), STATUS_PROTOCOL);
    assert_int_equal(whose, 1);
    align_match_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_points_stand_in_their_own_order),
        cmocka_unit_test(test_lists_with_nothing_in_common_have_no_places),
        cmocka_unit_test(test_a_point_twice_in_a_list_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
