/* test_budget.c -- a share of the time, whatever is asked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct budget_terms fifth = {.share = 5, .burst_us = 1000, .debt_us = 64000};

static void test_what_is_saved_up_may_be_spent_at_once_and_no_more(void **state)
{
    struct budget b;

    (void)state;
    budget_init(&b, &fifth, 7000);
    budget_spend(&b, &fifth, 6000, 7000);
    assert_int_equal(budget_wait_us(&b, &fifth, 7000), 0);
    budget_spend(&b, &fifth, 6999, 7000);
    assert_int_equal(budget_wait_us(&b, &fifth, 7000), 5);
}

static void test_a_debt_is_paid_by_its_share_of_time(void **state)
{
    struct budget b;

    (void)state;
    budget_init(&b, &fifth, 0);
    budget_spend(&b, &fifth, 0, 1300); /* while 260 are earned, of a full purse */
    assert_int_equal(budget_wait_us(&b, &fifth, 1300), 1500);
    assert_int_equal(budget_wait_us(&b, &fifth, 1300 + 1000), 500);
    assert_int_equal(budget_wait_us(&b, &fifth, 1300 + 1499), 5);
    assert_int_equal(budget_wait_us(&b, &fifth, 1300 + 1500), 0);
}

static void test_over_a_long_time_a_share_is_spent_however_often_it_is_asked(void **state)
{
    struct budget b;
    uint64_t now = 0, spent = 0;

    (void)state;
    budget_init(&b, &fifth, now);
    while (now < 1000000) {
        if (budget_wait_us(&b, &fifth, now) == 0) {
            budget_spend(&b, &fifth, now, now + 3);
            now += 3;
            spent += 3;
        } else {
            now++; /* less than one microsecond of credit */
        }
    }
    assert_in_range(spent, 200000, 200000 + 1000 + 3);
}

/* A turn of the loop serves all who have something to say before any of them is asked to wait. */
static void test_a_share_is_spent_however_many_are_served_at_once(void **state)
{
    enum { SERVED = 64, EACH_US = 900, TURNS = 50 };
    struct budget b;
    uint64_t now = 0, wait = 0;

    (void)state;
    budget_init(&b, &fifth, now);
    for (size_t turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < SERVED; i++, now += EACH_US)
            budget_spend(&b, &fifth, now, now + EACH_US);
        wait = budget_wait_us(&b, &fifth, now);
        now += wait;
        assert_int_equal(budget_wait_us(&b, &fifth, now), 0);
    }
    assert_in_range(wait, 4 * SERVED * EACH_US, 4 * SERVED * EACH_US + 5);
    assert_in_range(5 * TURNS * SERVED * EACH_US, now, now + 5 * 1000 + 5);
}

static void test_no_more_is_owed_than_the_terms_say(void **state)
{
    struct budget b;

    (void)state;
    budget_init(&b, &fifth, 0);
    for (size_t i = 0; i < 100; i++)
        budget_spend(&b, &fifth, 0, 2000); /* at the same time: 200 ms */
    assert_int_equal(budget_wait_us(&b, &fifth, 2000), 5 * 64000);
    assert_int_equal(budget_wait_us(&b, &fifth, 2000 + 5 * 64000), 0);
}

static void test_one_long_interruption_costs_no_more_than_a_burst(void **state)
{
    struct budget b;

    (void)state;
    budget_init(&b, &fifth, 0);
    budget_spend(&b, &fifth, 0, UINT64_C(3600000000));
    assert_int_equal(budget_wait_us(&b, &fifth, UINT64_C(3600000000)), 5 * 1000);
    budget_spend(&b, &fifth, 9, 8); /* a clock that goes back costs nothing */
    assert_int_equal(budget_wait_us(&b, &fifth, 0), 5 * 1000);
}

static void test_no_more_is_saved_up_than_a_burst(void **state)
{
    struct budget b;

    (void)state;
    budget_init(&b, &fifth, 0);
    budget_spend(&b, &fifth, 0, 2000);
    assert_int_equal(budget_wait_us(&b, &fifth, UINT64_MAX / 2), 0);
    budget_spend(&b, &fifth, UINT64_MAX / 2, UINT64_MAX / 2 + 1010);
    assert_true(budget_wait_us(&b, &fifth, UINT64_MAX / 2 + 1010) > 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_saved_up_may_be_spent_at_once_and_no_more),
        cmocka_unit_test(test_a_debt_is_paid_by_its_share_of_time),
        cmocka_unit_test(test_over_a_long_time_a_share_is_spent_however_often_it_is_asked),
        cmocka_unit_test(test_a_share_is_spent_however_many_are_served_at_once),
        cmocka_unit_test(test_no_more_is_owed_than_the_terms_say),
        cmocka_unit_test(test_one_long_interruption_costs_no_more_than_a_burst),
        cmocka_unit_test(test_no_more_is_saved_up_than_a_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
