/* test_course.c -- each list goes once around, and back the same way.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/course.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct align_course course_of(uint32_t members, uint32_t longest, uint32_t chunk,
                                     bool labelled)
{
    uint32_t size[ALIGN_MEMBERS_MAX];
    struct align_course c;

    for (uint32_t i = 0; i < members; i++)
        size[i] = i == 1 ? longest : 1;
    align_course_init(&c, members, size, chunk, labelled);
    return c;
}

static void test_each_member_raises_each_list_once_its_owner_first(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= ALIGN_MEMBERS_MAX; n += n < 6 ? 1 : 83) {
        const struct align_course c = course_of(n, 1, 1, false);

        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t s = 0; s < n; s++) {
                const struct align_at at = align_at(&c, s), back = align_at(&c, 2 * n + 1 - s);
                const uint32_t k = (i + s) % n; /* who has list i in stage s */

                assert_int_equal(at.part, ALIGN_RAISE);
                assert_int_equal(align_list(&c, &at, k), i);
                assert_int_equal(back.part, ALIGN_RETURN);
                assert_int_equal(align_list(&c, &back, k), i);
                assert_int_equal(back.stage, n - 1 - s);
                if (s > 0)
                    assert_int_equal(align_sender(&c, &at, k), (k + n - 1) % n);
                assert_int_equal(align_receiver(&c, &at, (k + n - 1) % n), k);
            }
        }
    }
}

static void test_a_stage_is_as_long_as_the_longest_list(void **state)
{
    const struct align_course c = course_of(3, 10, 4, false);
    uint32_t from;

    (void)state;
    assert_int_equal(c.chunks, 3);
    assert_int_equal(align_steps(&c), 8 * 3);
    for (uint32_t step = 0; step < align_steps(&c); step++) {
        const struct align_at at = align_at(&c, step);

        assert_int_equal(at.first, step % 3 == 0);
        assert_int_equal(at.last, step % 3 == 2);
        assert_int_equal(at.part, step < 9    ? ALIGN_RAISE
                                  : step < 12 ? ALIGN_COLLECT
                                  : step < 15 ? ALIGN_TELL
                                              : ALIGN_RETURN);
        assert_int_equal(align_hands(&at),
                         (step >= 3 && step < 12) || step >= 18); /* but for first stages, TELL */
    }
    assert_int_equal(align_at(&c, align_steps(&c)).part, ALIGN_OVER);
    assert_int_equal(align_range(&c, 10, 0, &from), 4);
    assert_int_equal(align_range(&c, 10, 2, &from), 2);
    assert_int_equal(from, 8);
    assert_int_equal(align_range(&c, 1, 1, &from), 0);
    assert_int_equal(align_range(&c, 0, 0, &from), 0);
}

/* Of labelled rows: once around, home, and the end. */
static void test_labelled_rows_need_no_way_back(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= ALIGN_MEMBERS_MAX; n += n < 6 ? 1 : 83) {
        const struct align_course c = course_of(n, 10, 4, true);

        assert_int_equal(align_steps(&c), (n + 3) * 3);
        for (uint32_t step = 0; step < align_steps(&c); step++) {
            const struct align_at at = align_at(&c, step);
            uint32_t stage;
            const bool shows = align_shows_tallies(&c, &at, &stage);

            assert_int_equal(at.part, step / 3 < n        ? ALIGN_RAISE
                                      : step / 3 == n     ? ALIGN_HOME
                                      : step / 3 == n + 1 ? ALIGN_TELL
                                                          : ALIGN_AGREE);
            assert_int_equal(align_shows_words(&at), step == (n + 2) * 3);
            assert_int_equal(shows, step % 3 == 0 && step >= 3 && step / 3 <= n);
            assert_true(!shows || stage == step / 3 - 1);
            for (uint32_t k = 0; at.part == ALIGN_HOME && k < n; k++) {
                assert_true(align_hands(&at));
                assert_int_equal(align_list(&c, &at, k), k);
                assert_int_equal(align_receiver(&c, &at, align_sender(&c, &at, k)), k);
            }
        }
        assert_int_equal(align_at(&c, align_steps(&c)).part, ALIGN_OVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_member_raises_each_list_once_its_owner_first),
        cmocka_unit_test(test_labelled_rows_need_no_way_back),
        cmocka_unit_test(test_a_stage_is_as_long_as_the_longest_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
