/* test_account_discrete.c -- sums of discrete Gaussians, and the delta that pays for their draws.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/account.h"

#include "common/privacy/rdp.h"
#include "tests/unit/privacy/accounts.h"

static struct account_entry gaussian(double sigma, double clip, uint32_t coordinates, uint32_t m,
                                     uint64_t count)
{
    struct account_entry e = pbm(1, 0, m, coordinates, count);

    e.kind = ACCOUNT_GAUSSIAN;
    e.sigma = sigma;
    e.clip = clip;
    e.step = sigma / 16;
    return e;
}

static double columns_at(const struct account_entry *e, double delta)
{
    const struct account_claim which = {.adversary = ACCOUNT_SERVER, .adjacency = ACCOUNT_COLUMNS};

    return account_claim(e, 1, &which, delta).epsilon;
}

/* tests/golden/discrete.txt.  Sums of few, coarse discrete Gaussians, whose laws are convolved
 * there: the bound is never below, and where sigma is four steps, as plans have it, it is what they
 * cost. */
static void check_sum(double ratio, uint32_t n, double shift, double excess, double value)
{
    const double tau = rdp_discrete_tau(ratio, n);
    const double bound = rdp_discrete(shift, ratio * sqrt(n), tau, 1, excess);

    assert_true(bound >= value * (1 - 1e-12));
    assert_true(bound >= rdp_gaussian(shift, ratio * sqrt(n), excess) * (1 - 1e-12));
    if (ratio >= 4)
        assert_close(bound, value, 1e-11);
}

static void check_claim(struct account_entry *e, double delta, double value)
{
    assert_close(columns_at(e, delta), value, 1e-9);
}

static void test_independent_sums_and_claims_match(void **state)
{
    FILE *file = fopen("tests/golden/discrete.txt", "r");
    int taus = 0, sums = 0, claims = 0;
    char line[256];

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct account_entry e = gaussian(1, 1, 1, 1, 1);
        double ratio, shift, excess, delta, value;
        uint32_t n;

        if (sscanf(line, "tau %lf %u %lf", &ratio, &n, &value) == 3) {
            assert_close(rdp_discrete_tau(ratio, n), value, 1e-12);
            taus++;
        } else if (sscanf(line, "sum %lf %u %lf %lf %lf", &ratio, &n, &shift, &excess, &value) ==
                   5) {
            check_sum(ratio, n, shift, excess, value);
            sums++;
        } else if (sscanf(line, "eps %lf %lf %lf %u %u %lu %lf %lf", &e.sigma, &e.step, &e.clip,
                          &e.coordinates, &e.parties, &e.releases, &delta, &value) == 8) {
            check_claim(&e, delta, value);
            claims++;
        }
    }
    fclose(file);
    assert_int_equal(taus, 12);
    assert_int_equal(sums, 24);
    assert_int_equal(claims, 5);
}

/* In both forms of the bound: tau d added, and tau sqrt(d) to the length. */
static void test_the_term_of_the_dimension_is_counted(void **state)
{
    (void)state;
    assert_close(rdp_discrete(3, 2, 0.01, 1, 1), 2 * (2.25 + 2 * 0.01) / 2, 1e-14);
    assert_close(rdp_discrete(3, 2, 0.01, 1e6, 1), 2 * 11.5 * 11.5 / 2, 1e-14);
    assert_close(rdp_discrete(3, 2, 0, 1e6, 1), rdp_gaussian(3, 2, 1), 1e-14);
}

/* As many draws as matter: 2^58 of a noise so large that the releases cost little all the same. */
static struct account_entry many(void)
{
    return gaussian(1, 0x1p-30, 1, 4, UINT64_C(1) << 58);
}

static void test_the_distance_of_all_draws_is_taken_from_delta(void **state)
{
    const struct account_entry e = many();
    const double eta = 4 * 0x1p58 * 0x1p-100; /* each party's */

    (void)state;
    for (double delta = 1e-5; delta > 2e-9; delta /= 10) {
        const double epsilon = columns_at(&e, delta);
        struct account_entry exact = e;
        double without;

        /* As much noise, and as large a move, in one release: the same divergence. */
        exact.releases = 1;
        exact.clip = e.clip * 0x1p29;
        without = columns_at(&exact, delta);
        assert_true(epsilon > without);
        assert_true(epsilon >= columns_at(&exact, delta - (1 + exp(without)) * eta));
        assert_true(epsilon < columns_at(&exact, delta / 3));
    }
}

static void test_what_delta_cannot_pay_for_is_infinite_or_vacuous(void **state)
{
    struct account_entry e = many();
    double exact;

    (void)state;
    assert_true(isfinite(columns_at(&e, 1e-9)));
    assert_true(isinf(columns_at(&e, 1e-11)));
    e.releases = 1;
    e.clip = 20; /* vacuous, and e^epsilon is more than any delta pays for: the exact law's */
    exact = columns_at(&e, 1e-9);
    assert_true(isfinite(exact) && exact > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_independent_sums_and_claims_match),
        cmocka_unit_test(test_the_term_of_the_dimension_is_counted),
        cmocka_unit_test(test_the_distance_of_all_draws_is_taken_from_delta),
        cmocka_unit_test(test_what_delta_cannot_pay_for_is_infinite_or_vacuous),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
