/* test_account_record.c -- what one record's claim counts, bottom by bottom.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/account.h"

#include "common/privacy/rdp.h"
#include "tests/unit/privacy/accounts.h"

enum { RELEASES = 4000, PARTICIPATIONS = 7, STEPS = 5 };

/* (4, 0.05) among 5 parties, two coordinates; `noise` is read of a DP bottom alone. */
static struct account_entry entry(enum account_bottom bottom, double noise)
{
    struct account_entry e = pbm(4, .05, 5, 2, RELEASES);

    e.participations_max = e.trained_max = PARTICIPATIONS;
    e.bottom = bottom;
    e.step_noise = noise;
    e.steps = STEPS;
    return e;
}

/* alpha reach^2 / (2 noise^2): a record moves a sum of gradients by two clips, and its rounding by
 * a 512th of one. */
static double step(double noise, double alpha)
{
    const double reach = 2 + 1.0 / 512;

    return alpha * reach * reach / (2 * noise * noise);
}

static double divergence(const struct account_claim *c)
{
    struct rdp_pbm t;
    double value;

    assert_int_equal(rdp_pbm_init(&t, 4, .05, c->m_eff), STATUS_OK);
    value = rdp_pbm(&t, c->alpha - 1);
    rdp_pbm_deinit(&t);
    return value;
}

static struct account_claim record_of(const struct account_entry *e, size_t n,
                                      enum account_adversary adversary)
{
    return claim_of(e, n, adversary, account_record_adjacency(e, n));
}

/* The claim is the conversion of `total` at its own order, and no order near it gives less. */
static void assert_converts(const struct account_claim *c, double total)
{
    assert_close(c->epsilon, rdp_epsilon(total, c->alpha - 1, DELTA), 1e-9);
}

static void test_each_bottom_counts_what_can_depend_on_a_record(void **state)
{
    (void)state;
    for (int a = 0; a < ACCOUNT_ADVERSARIES; a++) {
        struct account_entry e = entry(ACCOUNT_FROZEN, 0);
        struct account_claim c = record_of(&e, 1, (enum account_adversary)a);

        assert_int_equal(c.adjacency, ACCOUNT_RECORD_FROZEN);
        assert_converts(&c, PARTICIPATIONS * 2 * divergence(&c));
        e = entry(ACCOUNT_DP, 12);
        c = record_of(&e, 1, (enum account_adversary)a);
        assert_int_equal(c.adjacency, ACCOUNT_RECORD_DP);
        assert_converts(&c, PARTICIPATIONS * (2 * divergence(&c) + STEPS * step(12, c.alpha)));
        e = entry(ACCOUNT_RAW, 0);
        c = record_of(&e, 1, (enum account_adversary)a);
        assert_int_equal(c.adjacency, ACCOUNT_RECORD_RAW);
        assert_converts(&c, RELEASES * 2.0 * divergence(&c));
    }
}

/* An evaluation is a release without a step. */
static void test_steps_follow_the_releases_in_training_alone(void **state)
{
    (void)state;
    for (uint64_t trained = 0; trained <= PARTICIPATIONS; trained++) {
        struct account_entry e = entry(ACCOUNT_DP, 12);
        struct account_claim c;

        e.trained_max = trained;
        c = record_of(&e, 1, ACCOUNT_SERVER);
        assert_converts(&c, PARTICIPATIONS * 2 * divergence(&c) +
                                (double)trained * STEPS * step(12, c.alpha));
    }
}

/* Nothing but steps: what they cost is linear in alpha, so the best order solves a quadratic
 * that anybody can solve by hand up to the small terms; here the search is held against a grid. */
static void test_steps_alone_are_a_gaussian_mechanism_of_two_clips_and_rounding(void **state)
{
    struct account_entry e = entry(ACCOUNT_DP, 6);
    struct account_claim c;
    double best = INFINITY;

    (void)state;
    e.beta = 1e-9; /* releases that say nothing */
    c = record_of(&e, 1, ACCOUNT_SERVER);
    for (double alpha = 1.001; alpha < 100; alpha += .001)
        best = fmin(best, PARTICIPATIONS * STEPS * step(6, alpha) + log((alpha - 1) / alpha) -
                              (log(DELTA) + log(alpha)) / (alpha - 1));
    assert_close(c.epsilon, best, 1e-6);
    e.steps = 0;
    assert_true(record_of(&e, 1, ACCOUNT_SERVER).epsilon < 1e-3);
}

static void test_a_record_costs_most_where_bottoms_train_raw(void **state)
{
    struct account_entry raw = entry(ACCOUNT_RAW, 0), dp = entry(ACCOUNT_DP, 12),
                         quiet = entry(ACCOUNT_DP, 1e6), frozen = entry(ACCOUNT_FROZEN, 0);
    double least = record_of(&frozen, 1, ACCOUNT_SERVER).epsilon;

    (void)state;
    assert_true(record_of(&dp, 1, ACCOUNT_SERVER).epsilon > least * 1.01);
    assert_true(record_of(&raw, 1, ACCOUNT_SERVER).epsilon >
                record_of(&dp, 1, ACCOUNT_SERVER).epsilon);
    assert_close(record_of(&quiet, 1, ACCOUNT_SERVER).epsilon, least, 1e-6); /* noise without end */
    quiet.step_noise = 0.5; /* and hardly any: then steps, not releases, are what costs */
    assert_true(record_of(&quiet, 1, ACCOUNT_SERVER).epsilon > 100 * least);
}

/* Whole blocks, and everybody's data, change every release under any bottom. */
static void test_columns_and_sample_are_the_same_under_every_bottom(void **state)
{
    struct account_entry raw = entry(ACCOUNT_RAW, 0);

    (void)state;
    for (int a = 0; a < ACCOUNT_ADVERSARIES; a++) {
        for (int bottom = ACCOUNT_FROZEN; bottom <= ACCOUNT_DP; bottom++) {
            struct account_entry e = entry((enum account_bottom)bottom, 12);
            enum account_adversary who = (enum account_adversary)a;

            assert_true(claim_of(&e, 1, who, ACCOUNT_COLUMNS).epsilon ==
                        claim_of(&raw, 1, who, ACCOUNT_COLUMNS).epsilon);
            assert_true(claim_of(&e, 1, who, ACCOUNT_SAMPLE).epsilon ==
                        claim_of(&raw, 1, who, ACCOUNT_SAMPLE).epsilon);
            assert_true(claim_of(&e, 1, who, ACCOUNT_COLUMNS).epsilon >
                        record_of(&e, 1, who).epsilon);
        }
    }
}

static void test_the_weakest_bottom_names_the_claim_and_each_counts_its_own(void **state)
{
    struct account_entry e[3] = {entry(ACCOUNT_FROZEN, 0), entry(ACCOUNT_DP, 12),
                                 entry(ACCOUNT_RAW, 0)};
    struct account_claim c;

    (void)state;
    assert_int_equal(account_record_adjacency(e, 1), ACCOUNT_RECORD_FROZEN);
    assert_int_equal(account_record_adjacency(e, 2), ACCOUNT_RECORD_DP);
    assert_int_equal(account_record_adjacency(e, 3), ACCOUNT_RECORD_RAW);
    c = record_of(e, 2, ACCOUNT_SERVER_1);
    assert_converts(&c, PARTICIPATIONS * (4 * divergence(&c) + STEPS * step(12, c.alpha)));
    c = record_of(e, 3, ACCOUNT_SERVER_1);
    assert_converts(&c, PARTICIPATIONS * (4 * divergence(&c) + STEPS * step(12, c.alpha)) +
                            RELEASES * 2.0 * divergence(&c));
}

/* A limit on record_frozen is no way to have raw training priced as if it were frozen. */
static void test_asking_for_another_records_name_changes_nothing(void **state)
{
    (void)state;
    for (int bottom = ACCOUNT_RAW; bottom <= ACCOUNT_DP; bottom++) {
        struct account_entry e = entry((enum account_bottom)bottom, 12);
        struct account_claim holds = record_of(&e, 1, ACCOUNT_SERVER);

        for (int name = ACCOUNT_RECORD_FROZEN; name <= ACCOUNT_RECORD_RAW; name++) {
            struct account_claim c =
                account_claim(&e, 1,
                              &(struct account_claim){.adversary = ACCOUNT_SERVER,
                                                      .adjacency = (enum account_adjacency)name},
                              DELTA);

            assert_int_equal(c.adjacency, holds.adjacency);
            assert_true(c.epsilon == holds.epsilon && c.alpha == holds.alpha);
        }
    }
}

/* A field left out is the dearest, never the cheapest. */
static void test_an_entry_that_says_nothing_of_its_bottom_is_raw(void **state)
{
    struct account_entry e = pbm(4, .05, 5, 2, RELEASES), raw = entry(ACCOUNT_RAW, 0);

    (void)state;
    e.participations_max = e.trained_max = 1;
    assert_int_equal(account_record_adjacency(&e, 1), ACCOUNT_RECORD_RAW);
    assert_true(record_of(&e, 1, ACCOUNT_SERVER).epsilon ==
                record_of(&raw, 1, ACCOUNT_SERVER).epsilon);
}

static void test_without_noise_on_the_releases_no_noise_on_the_steps_helps(void **state)
{
    struct account_entry e = entry(ACCOUNT_DP, 1000);

    (void)state;
    e.kind = ACCOUNT_NONE;
    assert_true(isinf(record_of(&e, 1, ACCOUNT_SERVER).epsilon));
    e.participations_max = e.trained_max = 0;
    assert_true(record_of(&e, 1, ACCOUNT_SERVER).epsilon == 0);
}

/* tests/golden/rdp.txt: the steps' divergence is an integral there, not a formula. */
static void test_independent_claims_match(void **state)
{
    FILE *file = fopen("tests/golden/rdp.txt", "r");
    char line[256];
    int claims = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct account_entry e = {.kind = ACCOUNT_PBM, .bottom = ACCOUNT_DP, .releases = RELEASES};
        double delta, value;

        if (sscanf(line, "dp %u %lf %u %u %lu %lf %u %lf %lf", &e.trials, &e.beta, &e.parties,
                   &e.coordinates, &e.participations_max, &e.step_noise, &e.steps, &delta,
                   &value) != 9)
            continue;
        e.trained_max = e.participations_max;
        assert_close(account_claim(&e, 1,
                                   &(struct account_claim){.adversary = ACCOUNT_SERVER,
                                                           .adjacency = ACCOUNT_RECORD_DP},
                                   delta)
                         .epsilon,
                     value, 1e-9);
        claims++;
    }
    fclose(file);
    assert_int_equal(claims, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_follow_the_releases_in_training_alone),
        cmocka_unit_test(test_each_bottom_counts_what_can_depend_on_a_record),
        cmocka_unit_test(test_steps_alone_are_a_gaussian_mechanism_of_two_clips_and_rounding),
        cmocka_unit_test(test_a_record_costs_most_where_bottoms_train_raw),
        cmocka_unit_test(test_columns_and_sample_are_the_same_under_every_bottom),
        cmocka_unit_test(test_the_weakest_bottom_names_the_claim_and_each_counts_its_own),
        cmocka_unit_test(test_asking_for_another_records_name_changes_nothing),
        cmocka_unit_test(test_an_entry_that_says_nothing_of_its_bottom_is_raw),
        cmocka_unit_test(test_without_noise_on_the_releases_no_noise_on_the_steps_helps),
        cmocka_unit_test(test_independent_claims_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
