/* test_paper.c -- the paper's figure is the paper's, and smaller than the truth.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/paper.h"

#include "common/privacy/rdp.h"
#include "tests/unit/privacy/accounts.h"

/* For slope c the bound c alpha + ln((alpha - 1)/alpha) - (ln delta + ln alpha)/(alpha - 1) is
 * least where c (alpha - 1)^2 = -ln delta - ln alpha: its derivative, times (alpha - 1)^2. */
static void test_the_figure_is_theorem_6_1_with_constant_one(void **state)
{
    struct account_entry e = pbm(16, .1, 5, 16, 100);
    double slope = 100.0 * 16 * 16 * .1 * .1 / 5, alpha, epsilon = paper_epsilon(&e, DELTA, &alpha);

    (void)state;
    assert_close(slope * (alpha - 1) * (alpha - 1), -log(DELTA) - log(alpha), 1e-5);
    assert_close(epsilon, rdp_epsilon(slope * alpha, alpha - 1, DELTA), 1e-12);
    e.releases = 12345678; /* it counts one record's */
    e.bottom = ACCOUNT_DP; /* and knows of no steps */
    assert_true(paper_epsilon(&e, DELTA, &alpha) == epsilon);
    e.participations_max = 50;
    e.coordinates = 32;
    assert_true(paper_epsilon(&e, DELTA, &alpha) == epsilon);
    e.parties = 10;
    assert_true(paper_epsilon(&e, DELTA, &alpha) < epsilon);
}

/* Small alpha and beta: a divergence is alpha/2 of a variance, (2 beta b)^2 / (b M / 4 (1 - 4
 * beta^2)) to first order, hence C_0 = 8 / (1 - 4 beta^2); larger ones go up to 17. */
static void test_the_constant_that_the_theorem_would_need_is_eight_or_more(void **state)
{
    struct account_entry e = pbm(4, .001, 5, 1, 1);

    (void)state;
    assert_close(paper_constant(&e, 1.01), 8, 1e-3);
    e = pbm(16, .1, 5, 1, 1);
    assert_close(paper_constant(&e, 1.25), 0.3375625024 / (16 * .01 * 1.25 / 5), 1e-9);
    assert_true(paper_constant(&e, 1.01) > 8);
    e = pbm(128, .25, 5, 1, 1);
    assert_true(paper_constant(&e, 2) > 10 && paper_constant(&e, 2) < 17);
}

static void test_no_claim_is_as_small_as_the_papers_figure(void **state)
{
    static const struct {
        uint32_t b, m;
        double beta;
    } at[] = {{16, 5, .1}, {64, 5, .15}, {128, 5, .25}, {8, 4, .15}, {4, 5, .01}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct account_entry e = pbm(at[i].b, at[i].beta, at[i].m, 16, 100);
        double alpha, paper = paper_epsilon(&e, DELTA, &alpha);

        e.bottom = ACCOUNT_FROZEN; /* the cheapest there is */
        assert_true(claim_of(&e, 1, ACCOUNT_SERVER, ACCOUNT_RECORD_FROZEN).epsilon > 2 * paper);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_figure_is_theorem_6_1_with_constant_one),
        cmocka_unit_test(test_the_constant_that_the_theorem_would_need_is_eight_or_more),
        cmocka_unit_test(test_no_claim_is_as_small_as_the_papers_figure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
