/* test_journal_line.c -- which steps are held, through going back and forgetting.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/daemon/journal_line.h"
#include "tests/lib/aborts.h"

static void add(struct journal_line *l, uint64_t step, uint64_t segment, int trail)
{
    struct journal_step s = {.segment = segment, .index = step};

    memset(s.trail, trail, sizeof s.trail);
    assert_int_equal(journal_line_room(l), STATUS_OK);
    journal_line_add(l, step, &s);
}

/* -1: not held. */
static int trail_after(const struct journal_line *l, uint64_t steps)
{
    uint8_t trail[JOURNAL_TRAIL_BYTES];

    return journal_line_trail(l, steps, trail) ? trail[JOURNAL_TRAIL_BYTES - 1] : -1;
}

static void test_a_step_is_held_from_its_adding(void **state)
{
    struct journal_line l = {.first = 40};

    (void)state;
    assert_int_equal(journal_line_next(&l), 40);
    assert_null(journal_line_at(&l, 40));
    assert_int_equal(trail_after(&l, 40), -1);
    add(&l, 40, 1, 140);
    add(&l, 41, 2, 141);
    assert_int_equal(journal_line_next(&l), 42);
    assert_int_equal(journal_line_at(&l, 40)->segment, 1);
    assert_int_equal(journal_line_at(&l, 41)->segment, 2);
    assert_null(journal_line_at(&l, 39));
    assert_null(journal_line_at(&l, 42));
    assert_int_equal(trail_after(&l, 40), -1);
    assert_int_equal(trail_after(&l, 41), 140);
    assert_int_equal(trail_after(&l, 42), 141);
    assert_int_equal(trail_after(&l, 43), -1);
    assert_int_equal(trail_after(&l, 0), -1);
    journal_line_deinit(&l);
}

static void test_going_back_forgets_what_came_after(void **state)
{
    struct journal_line l = {.first = 10, .trail_known = true, .trail = {[31] = 9}};

    (void)state;
    for (uint64_t s = 10; s < 15; s++)
        add(&l, s, 1, (int)s);
    add(&l, 12, 2, 112);
    assert_int_equal(journal_line_next(&l), 13);
    assert_int_equal(trail_after(&l, 12), 11);
    assert_int_equal(trail_after(&l, 13), 112);
    assert_int_equal(trail_after(&l, 14), -1);
    add(&l, 10, 3, 210);
    assert_int_equal(trail_after(&l, 10), 9); /* what came before is as it was */
    add(&l, 8, 4, 208);
    assert_int_equal(l.first, 8);
    assert_int_equal(trail_after(&l, 8), -1);
    assert_int_equal(trail_after(&l, 9), 208);
    journal_line_deinit(&l);
}

static void test_forgetting_keeps_the_trail_of_the_last_forgotten(void **state)
{
    struct journal_line l = {.first = 0};

    (void)state;
    for (uint64_t s = 0; s < 6; s++)
        add(&l, s, 1 + s / 2, (int)(100 + s));
    journal_line_forget(&l, 0);
    assert_int_equal(l.first, 0);
    journal_line_forget(&l, 2);
    assert_int_equal(l.first, 4);
    assert_null(journal_line_at(&l, 3));
    assert_int_equal(journal_line_at(&l, 4)->index, 4);
    assert_int_equal(trail_after(&l, 3), -1);
    assert_int_equal(trail_after(&l, 4), 103);
    journal_line_forget(&l, 9);
    assert_int_equal(l.first, 6);
    assert_int_equal(journal_line_next(&l), 6);
    assert_int_equal(trail_after(&l, 6), 105);
    journal_line_deinit(&l);
}

static void test_a_long_line_is_kept_whole_when_it_grows(void **state)
{
    enum { STEPS = 5000 };
    struct journal_line l = {.first = 3};

    (void)state;
    for (uint64_t s = 3; s < STEPS; s++)
        add(&l, s, 1, (int)(s % 251));
    for (uint64_t s = 3; s < STEPS; s++)
        assert_int_equal(trail_after(&l, s + 1), s % 251);
    journal_line_deinit(&l);
}

static void test_without_memory_the_line_is_as_it_was(void **state)
{
    struct journal_line l = {.first = 0};

    (void)state;
    mem_fail_at(1);
    assert_int_equal(journal_line_room(&l), STATUS_MEMORY);
    add(&l, 0, 1, 50);
    while (l.n < l.cap)
        add(&l, l.n, 1, 51);
    mem_fail_at(1);
    assert_int_equal(journal_line_room(&l), STATUS_MEMORY);
    assert_int_equal(trail_after(&l, 1), 50);
    assert_int_equal(trail_after(&l, l.n), 51);
    journal_line_deinit(&l);
}

static void leave_out(void *arg)
{
    struct journal_step s = {0};

    journal_line_add(arg, 2, &s);
}

static void test_no_step_can_be_left_out(void **state)
{
    struct journal_line l = {.first = 0};

    (void)state;
    add(&l, 0, 1, 50);
    assert_true(aborts(leave_out, &l));
    journal_line_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_held_from_its_adding),
        cmocka_unit_test(test_going_back_forgets_what_came_after),
        cmocka_unit_test(test_forgetting_keeps_the_trail_of_the_last_forgotten),
        cmocka_unit_test(test_a_long_line_is_kept_whole_when_it_grows),
        cmocka_unit_test(test_without_memory_the_line_is_as_it_was),
        cmocka_unit_test(test_no_step_can_be_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
