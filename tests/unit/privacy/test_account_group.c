/* test_account_group.c -- records that change together, and persons with many rows.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/account.h"

#include "tests/unit/privacy/accounts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct account_entry dp_entry(void)
{
    struct account_entry e = pbm(4, 0.1, 5, 2, 10);

    e.releases = 100000;
    e.bottom = ACCOUNT_DP;
    e.step_noise = 20;
    e.steps = 5;
    return e;
}

static double divergence(const struct account_entry *e, double excess)
{
    const struct account_claim which = {.adversary = ACCOUNT_SERVER,
                                        .adjacency = ACCOUNT_RECORD_RAW};
    double out;

    account_curve(&out, &excess, 1, &which, e, 1);
    return out;
}

/* What each part of a group's price is made of: two entries, one without steps to speak of, one
 * without releases to speak of. */
static void test_a_group_in_one_batch_costs_releases_g_times_and_steps_g_squared_times(void **state)
{
    struct account_entry dp = dp_entry(), quiet = dp, group, quiet_group;

    (void)state;
    quiet.step_noise = 1e9;
    for (uint32_t g = 1; g <= 50; g++) {
        const double excess = 0.7, releases = divergence(&quiet, excess),
                     steps = divergence(&dp, excess) - releases;

        group = account_group(&dp, g, 100);
        quiet_group = account_group(&quiet, g, 100);
        assert_true(fabs(divergence(&quiet_group, excess) / (g * releases) - 1) < 1e-9);
        assert_true(fabs((divergence(&group, excess) - divergence(&quiet_group, excess)) /
                             ((double)g * g * steps) -
                         1) < 1e-9);
    }
}

/* The worst pair itself: k of the group in a batch move the clipped sum by k 2 G under noise of
 * deviation sigma G, whatever else stands in it.  No claim may be below what the exact divergence
 * of these two Gaussians is, nor below g times one record's. */
static void test_copies_in_one_batch_show_more_than_g_times_one_record(void **state)
{
    struct account_entry dp = dp_entry();

    (void)state;
    dp.beta = 1e-6; /* the releases say nothing */
    for (uint32_t g = 2; g <= 64; g *= 2) {
        struct account_entry group = account_group(&dp, g, 100);
        const double excess = 1.5, alpha = 1 + excess,
                     copies = 50 * alpha * (2.0 * g) * (2.0 * g) / (2 * 20.0 * 20.0);

        assert_true(divergence(&group, excess) >= copies);
        assert_true(divergence(&group, excess) > 1.9 * g * divergence(&dp, excess));
    }
}

static void test_a_group_that_a_batch_cannot_hold_costs_what_fits(void **state)
{
    struct account_entry dp = dp_entry(), ten, spread;

    (void)state;
    dp.beta = 1e-9;
    ten = account_group(&dp, 10, 100);
    spread = account_group(&dp, 10, 1); /* batches of one row: each in a batch of its own */
    assert_int_equal(ten.together, 10);
    assert_int_equal(spread.together, 1);
    assert_true(fabs(divergence(&ten, 0.5) / divergence(&spread, 0.5) - 10) < 1e-6);
    assert_true(fabs(divergence(&spread, 0.5) / divergence(&dp, 0.5) - 10) < 1e-6);
}

static void test_a_group_costs_no_more_than_everything_there_is(void **state)
{
    struct account_entry dp = dp_entry(), raw = dp, all;

    (void)state;
    raw.bottom = ACCOUNT_RAW;
    all = account_group(&raw, 1000, 100);
    assert_true(divergence(&all, 0.5) == divergence(&raw, 0.5));
    all = account_group(&dp, UINT32_MAX, 100);
    assert_int_equal(all.participations_max, dp.releases);
    assert_int_equal(all.trained_max, dp.releases);
    assert_int_equal(all.together, 100);
}

/* Where one thing was counted by record, all is claimed for records: each is a part of its person.
 */
static void test_claims_are_for_persons_only_where_all_was_counted_by_person(void **state)
{
    static const enum account_adjacency want[] = {
        [ACCOUNT_RAW] = ACCOUNT_PERSON_RAW,
        [ACCOUNT_FROZEN] = ACCOUNT_PERSON_FROZEN,
        [ACCOUNT_DP] = ACCOUNT_PERSON_DP,
    };
    struct account_entry e[2] = {dp_entry(), dp_entry()};
    struct account_claim claims[ACCOUNT_CLAIMS_MAX];

    (void)state;
    e[0].persons = e[1].persons = true;
    for (int bottom = ACCOUNT_RAW; bottom <= ACCOUNT_DP; bottom++) {
        e[0].bottom = e[1].bottom = (enum account_bottom)bottom;
        assert_int_equal(account_record_adjacency(e, 2), want[bottom]);
        assert_true(account_claims(claims, e, 2, 1e-5, 1) > 0);
        assert_int_equal(claims[0].adjacency, want[bottom]);
    }
    e[1].persons = false;
    assert_int_equal(account_record_adjacency(e, 2), ACCOUNT_RECORD_DP);
    assert_int_equal(account_record_adjacency(e, 0), ACCOUNT_RECORD_FROZEN);
}

/* A person with k_t records in batch t: the claim is at least the exact sum of k_t^2. */
static void test_a_persons_steps_cost_at_least_the_sum_of_squares(void **state)
{
    static const unsigned in_batch[] = {3, 1, 0, 2, 2, 3, 0, 1};
    struct account_entry e = dp_entry(), one;
    double squares = 0;

    (void)state;
    e.beta = 1e-9;
    e.persons = true;
    e.trained_max = e.participations_max = 0;
    for (size_t t = 0; t < sizeof in_batch / sizeof *in_batch; t++) {
        squares += in_batch[t] * in_batch[t];
        e.trained_max += in_batch[t];
        e.together = in_batch[t] > e.together ? in_batch[t] : e.together;
    }
    e.participations_max = e.trained_max;
    one = e;
    one.trained_max = one.participations_max = 1;
    one.together = 1;
    assert_true(divergence(&e, 0.5) >= squares * divergence(&one, 0.5) * (1 - 1e-9));
    assert_true(divergence(&e, 0.5) <= 3 * 12 * divergence(&one, 0.5) * (1 + 1e-9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_group_in_one_batch_costs_releases_g_times_and_steps_g_squared_times),
        cmocka_unit_test(test_copies_in_one_batch_show_more_than_g_times_one_record),
        cmocka_unit_test(test_a_group_that_a_batch_cannot_hold_costs_what_fits),
        cmocka_unit_test(test_a_group_costs_no_more_than_everything_there_is),
        cmocka_unit_test(test_claims_are_for_persons_only_where_all_was_counted_by_person),
        cmocka_unit_test(test_a_persons_steps_cost_at_least_the_sum_of_squares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
