/* test_mechanism.c -- what a plan among a set of parties is to the accountant.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/mechanism.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTIES = 5 };

static const uint8_t members[] = {0, 1, 2, 3, 4};
static struct roster roster;
static struct plan plan;
static size_t set_n;

/* Five parties of five operators. */
static int set_up(void **state)
{
    (void)state;
    memset(&roster, 0, sizeof roster);
    strcpy(roster.server.operator_name, "hub");
    for (roster.n = 0; roster.n < PARTIES; roster.n++)
        snprintf(roster.party[roster.n].operator_name, WIRE_NAME_MAX + 1, "p%zu", roster.n + 1);
    plan_defaults(&plan);
    set_n = PARTIES;
    return 0;
}

/* Of the first one. */
static struct account_entry mechanism(void)
{
    return mechanism_of(&plan, &roster, members, set_n, 0);
}

static void test_the_mechanism_is_the_plans_among_this_set(void **state)
{
    struct account_entry e;

    (void)state;
    plan.model.embedding = 24;
    plan.protocol.pbm.trials = 32;
    plan.protocol.pbm.beta = 0.15;
    plan.protocol.clip = 2.5;
    strcpy(roster.party[3].operator_name, "p3");
    e = mechanism();
    assert_int_equal(e.kind, ACCOUNT_PBM);
    assert_int_equal(e.trials, 32);
    assert_true(e.beta == 0.15);
    assert_true(e.clip == 2.5);
    assert_int_equal(e.coordinates, 24);
    assert_int_equal(e.parties, PARTIES);
    assert_int_equal(e.colluders, 2);
    assert_false(e.clear);
    assert_false(e.concat);
    assert_int_equal(e.bottom, ACCOUNT_RAW);
    assert_int_equal(e.releases, 0);
    assert_int_equal(e.participations_max, 0);
    set_n = 3;
    e = mechanism();
    assert_int_equal(e.parties, 3);
    assert_int_equal(e.colluders, 1);
    strcpy(roster.party[2].operator_name, "hub"); /* hides nobody from its server */
    assert_int_equal(mechanism().parties, 2);
    assert_int_equal(mechanism().colluders, 1);
}

/* In clear a sum may be of whoever was there, and what a party learns of it of one other. */
static void test_where_some_may_be_missing_parties_are_not_hidden_from_each_other(void **state)
{
    (void)state;
    for (enum plan_aggregation a = AGGREGATION_MASKED; a <= AGGREGATION_CLEAR; a++) {
        for (enum plan_straggler g = STRAGGLER_WAIT; g <= STRAGGLER_ASYNC; g++) {
            struct account_claim claim;
            struct account_entry e;
            bool seen = a == AGGREGATION_CLEAR && g != STRAGGLER_WAIT;

            plan.protocol.aggregation = a;
            plan.protocol.straggler = g;
            e = mechanism();
            e.releases = e.participations_max = 1;
            assert_int_equal(e.concat, seen);
            claim = account_claim(&e, 1,
                                  &(struct account_claim){.adversary = ACCOUNT_PARTY,
                                                          .adjacency = ACCOUNT_RECORD_RAW},
                                  1e-5);
            assert_int_equal(claim.m_eff, seen ? 1 : PARTIES - 1);
            claim = account_claim(&e, 1,
                                  &(struct account_claim){.adversary = ACCOUNT_SERVER,
                                                          .adjacency = ACCOUNT_RECORD_RAW},
                                  1e-5);
            assert_int_equal(claim.m_eff, a == AGGREGATION_CLEAR ? 1 : PARTIES);
        }
    }
}

static void test_fixed_and_float32_have_no_noise(void **state)
{
    struct account_entry e;

    (void)state;
    plan.protocol.encoding = ENCODING_FIXED;
    e = mechanism();
    assert_int_equal(e.kind, ACCOUNT_NONE);
    assert_false(e.clear);
    plan.protocol.encoding = ENCODING_FLOAT32;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    plan.model.fusion = FUSION_CONCAT;
    e = mechanism();
    assert_int_equal(e.kind, ACCOUNT_NONE);
    assert_true(e.clear);
    assert_true(e.concat);
}

static void test_compressors_have_no_noise_and_refreshed_show_each_upload(void **state)
{
    (void)state;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    for (int i = ENCODING_SCALAR; i <= ENCODING_TOPK; i++) {
        struct account_entry e;

        plan.protocol.encoding = (enum plan_encoding)i;
        plan.protocol.local_view = VIEW_STALE;
        e = mechanism();
        assert_int_equal(e.kind, ACCOUNT_NONE);
        assert_true(e.clear);
        assert_false(e.concat);
        plan.protocol.local_view = VIEW_REFRESHED;
        assert_true(mechanism().concat);
    }
    plan.protocol.encoding = ENCODING_PBM; /* whose sum alone goes down */
    assert_false(mechanism().concat);
}

static void test_gaussian_noise_is_that_of_the_set(void **state)
{
    struct account_entry e;
    double b = 16, beta = 0.2, c = 2;

    (void)state;
    plan.protocol.encoding = ENCODING_GAUSSIAN;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    plan.protocol.gaussian.match = GAUSSIAN_PAPER;
    plan.protocol.pbm.trials = 16;
    plan.protocol.pbm.beta = beta;
    plan.protocol.clip = c;
    for (size_t n = 2; n <= PARTIES; n++) {
        double m = (double)n;

        set_n = n;
        plan.protocol.gaussian.match = GAUSSIAN_PAPER;
        e = mechanism();
        assert_int_equal(e.kind, ACCOUNT_GAUSSIAN);
        assert_true(fabs(e.sigma - sqrt(2 * m * c * c / (b * beta * beta))) < 1e-5 * e.sigma);
        plan.protocol.gaussian.match = GAUSSIAN_EQUAL_RDP;
        e = mechanism();
        assert_true(fabs(e.sigma - sqrt(m * c * c * (1 - 4 * beta * beta) /
                                        (4 * b * beta * beta))) < 1e-5 * e.sigma);
    }
    plan.protocol.gaussian.match = GAUSSIAN_SIGMA;
    plan.protocol.gaussian.sigma = 3.5;
    e = mechanism();
    assert_true(e.sigma == 3.5);
}

/* A delta of one over the records promises nothing, whatever the plan says. */
static void test_claims_are_made_at_a_delta_below_one_over_the_records(void **state)
{
    (void)state;
    plan.privacy.delta = 1e-3;
    assert_true(mechanism_delta(&plan, 0) == 1e-5);
    assert_true(mechanism_delta(&plan, 99999) == 1e-5);
    assert_true(mechanism_delta(&plan, 100000) == 1e-6);
    assert_true(mechanism_delta(&plan, 5000000) == 1e-7);
    plan.privacy.delta = 2e-6;
    assert_true(mechanism_delta(&plan, 99999) == 2e-6);
    assert_true(mechanism_delta(&plan, 100000) == 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup(t, set_up)
        TEST(test_the_mechanism_is_the_plans_among_this_set),
        TEST(test_where_some_may_be_missing_parties_are_not_hidden_from_each_other),
        TEST(test_fixed_and_float32_have_no_noise),
        TEST(test_compressors_have_no_noise_and_refreshed_show_each_upload),
        TEST(test_gaussian_noise_is_that_of_the_set),
        TEST(test_claims_are_made_at_a_delta_below_one_over_the_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
