/* test_rdp.c -- exact divergences against golden digits, against brute force, and in the right
 * direction.
 *
 * The published digits are compared as printed.  Brute force convolves trial by trial in long
 * double and so shares nothing with the recurrences of rdp.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/rdp.h"

#include "common/base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LAW_MAX = 256 };

/* Significant digits of a printed number: "0.0170" has 3. */
static int digits_of(const char *printed)
{
    bool started = false;
    int n = 0;

    for (const char *c = printed; *c != '\0' && *c != 'e'; c++) {
        if (*c < '0' || *c > '9')
            continue;
        started = started || *c != '0';
        n += started;
    }
    return n;
}

/* Equal in every digit that `printed` has. */
static void assert_printed(double value, const char *printed)
{
    char text[64];

    snprintf(text, sizeof text, "%.*e", digits_of(printed) - 1, value);
    if (strtod(text, NULL) != strtod(printed, NULL))
        fail_msg("%.17g is not %s", value, printed);
}

static void assert_close(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.17g is not %.17g within %g", a, b, relative);
}

static double divergence_of(uint32_t trials, double beta, uint32_t m_eff, double excess)
{
    struct rdp_pbm t;
    double value;

    assert_int_equal(rdp_pbm_init(&t, trials, beta, m_eff), STATUS_OK);
    value = rdp_pbm(&t, excess);
    rdp_pbm_deinit(&t);
    return value;
}

/* --- brute force ------------------------------------------------------------------------- */

struct law {
    size_t n; /* trials so far */
    long double p[LAW_MAX + 1];
};

static void add_trials(struct law *l, size_t trials, long double success)
{
    for (size_t t = 0; t < trials; t++) {
        assert_true(l->n < LAW_MAX);
        l->p[l->n + 1] = l->p[l->n] * success;
        for (size_t s = l->n; s > 0; s--)
            l->p[s] = l->p[s] * (1 - success) + l->p[s - 1] * success;
        l->p[0] *= 1 - success;
        l->n++;
    }
}

/* The target's b trials have success `target`, k of the others' sit at h and the rest at l. */
static struct law law_of(size_t b, long double target, size_t k, size_t rest, long double beta)
{
    struct law l = {.p = {1}};

    add_trials(&l, b, target);
    add_trials(&l, k, 0.5L + beta);
    add_trials(&l, rest, 0.5L - beta);
    return l;
}

static double brute(const struct law *p, const struct law *q, double excess)
{
    long double sum = 0, e = excess;

    assert_true(p->n == q->n);
    for (size_t s = 0; s <= p->n; s++)
        sum += expl((1 + e) * logl(p->p[s]) - e * logl(q->p[s]));
    return (double)(logl(sum) / e);
}

/* D when the target moves from h to l while k of the others' n trials sit at h. */
static double corner(size_t b, long double beta, size_t n, size_t k, double excess)
{
    struct law p = law_of(b, 0.5L + beta, k, n - k, beta);
    struct law q = law_of(b, 0.5L - beta, k, n - k, beta);

    return brute(&p, &q, excess);
}

/* --- golden digits ----------------------------------------------------------------------- */

/* At alpha = 1.25, 1.5, 2, 4, 8, 16, 32, 64. */
static const struct {
    uint32_t b;
    double beta;
    uint32_t m;
    const char *value[8];
} golden[] = {
    {16,
     .1,
     10,
     {"0.1679396173", "0.2020156320", "0.2706398137", "0.5510467172", "1.133767355", "2.293422181",
      "3.942215108", "5.191122158"}},
    {16,
     .1,
     9,
     {"0.1867278323", "0.2246657187", "0.3011105896", "0.6139087124", "1.263526689", "2.524640564",
      "4.170437920", "5.320261878"}},
    {16,
     .1,
     5,
     {"0.3375625024", "0.4067080787", "0.5464371611", "1.119450213", "2.251419866", "3.890286819",
      "5.170888213", "5.838774935"}},
    {16,
     .1,
     4,
     {"0.4225798810", "0.5093758190", "0.6848098458", "1.399764501", "2.732184166", "4.356501223",
      "5.433134453", "5.968507787"}},
    {16,
     .1,
     1,
     {"1.608415684", "1.908214733", "2.466410877", "4.066392781", "5.325054143", "5.942564773",
      "6.223789795", "6.357708238"}},
    {64,
     .15,
     5,
     {"3.257573343", "3.947371208", "5.361593857", "11.30219141", "21.49048455", "30.45764564",
      "35.17174183", "37.43040564"}},
    {64,
     .15,
     4,
     {"4.085136472", "4.955040034", "6.736894998", "13.99347143", "24.57365736", "32.27359867",
      "36.06107788", "37.86802638"}},
    {64,
     .15,
     1,
     {"14.58157760", "17.06662861", "21.33296512", "30.70664172", "35.68077065", "37.78050225",
      "38.72915106", "39.18088860"}},
    {128,
     .25,
     5,
     {"23.52733246", "29.21651681", "41.36445587", "83.44394361", "114.3580331", "128.3479463",
      "134.6831302", "137.6998884"}},
    {128,
     .25,
     4,
     {"29.60573687", "36.74481774", "51.38699583", "93.67272851", "119.5916395", "130.8028257",
      "135.8709787", "138.2843853"}},
    {128,
     .25,
     1,
     {"83.44631764", "93.94805441", "108.4541261", "128.3674426", "135.3619020", "138.1674859",
      "139.4345244", "140.0378760"}},
    {8,
     .15,
     4,
     {"0.5121896990", "0.6212209689", "0.8444415670", "1.751312134", "3.071844506", "4.034199963",
      "4.507634734", "4.733503297"}},
    {8,
     .15,
     3,
     {"0.6838972595", "0.8294778433", "1.124754491", "2.232472299", "3.503893971", "4.263172548",
      "4.618804317", "4.788205890"}},
    {8,
     .15,
     1,
     {"1.822697199", "2.133328576", "2.666620640", "3.838330215", "4.460096331", "4.722562781",
      "4.841143882", "4.897611075"}},
};

static void test_golden_divergences_match_in_every_digit(void **state)
{
    static const double alpha[8] = {1.25, 1.5, 2, 4, 8, 16, 32, 64};
    (void)state;
    for (size_t r = 0; r < sizeof golden / sizeof golden[0]; r++)
        for (size_t a = 0; a < 8; a++)
            assert_printed(divergence_of(golden[r].b, golden[r].beta, golden[r].m, alpha[a] - 1),
                           golden[r].value[a]);
}

static void test_golden_small_cases_match_in_thirteen_digits(void **state)
{
    static const double excess[4] = {0.5, 1, 7, INFINITY};
    static const struct {
        uint32_t b;
        double beta;
        uint32_t m;
        const char *value[4];
    } rows[] = {
        {1, .25, 1, {"0.7339691750802", "0.8472978603872", "1.057514859702", "1.098612288668"}},
        {1, .25, 2, {"0.5260153795384", "0.6592456288843", "1.016418633186", "1.098612288668"}},
        {2, .25, 2, {"1.037806596333", "1.311940088899", "2.032837259808", "2.197224577336"}},
        {4, .1, 3, {"0.1704030747771", "0.2290155055470", "0.8467244721648", "1.621860432433"}},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size_t a = 0; a < 4; a++)
            assert_printed(divergence_of(rows[r].b, rows[r].beta, rows[r].m, excess[a]),
                           rows[r].value[a]);
}

static void test_golden_likelihood_ratios_match(void **state)
{
    static const char *const value[5] = {"2.19722457734", "1.60943791243", "0.781700577901",
                                         "-0.587786664902", "-2.19722457734"};
    struct rdp_pbm t;

    (void)state;
    assert_int_equal(rdp_pbm_init(&t, 2, 0.25, 2), STATUS_OK);
    assert_int_equal(t.n, 5);
    for (size_t s = 0; s < 5; s++)
        assert_printed(t.ln_w[s], value[s]);
    rdp_pbm_deinit(&t);
}

struct composition {
    struct rdp_pbm table;
    double count;
};

static double total(const void *context, double excess)
{
    const struct composition *c = context;

    return c->count * rdp_pbm(&c->table, excess);
}

static double epsilon_of(uint32_t b, double beta, uint32_t m, double count, double delta,
                         double *excess)
{
    struct composition c = {.count = count};
    double epsilon;

    assert_int_equal(rdp_pbm_init(&c.table, b, beta, m), STATUS_OK);
    epsilon = rdp_minimise(total, &c, delta, excess);
    rdp_pbm_deinit(&c.table);
    return epsilon;
}

/* tests/golden/rdp.txt: another algorithm, another language, 50 digits; also where doubles are
 * delicate (order near 1, tiny beta). */
static void test_independent_vectors_match(void **state)
{
    FILE *file = fopen("tests/golden/rdp.txt", "r");
    char line[256];
    int rdps = 0, epsilons = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        uint32_t b, m;
        double beta, excess, count, delta, value;

        if (sscanf(line, "rdp %u %lf %u %lf %lf", &b, &beta, &m, &excess, &value) == 5) {
            assert_close(divergence_of(b, beta, m, excess), value, 1e-11);
            rdps++;
        } else if (sscanf(line, "eps %u %lf %u %lf %lf %lf", &b, &beta, &m, &count, &delta,
                          &value) == 6) {
            assert_close(epsilon_of(b, beta, m, count, delta, &excess), value, 1e-10);
            epsilons++;
        }
    }
    fclose(file);
    assert_int_equal(rdps, 72);
    assert_int_equal(epsilons, 5);
}

/* --- what the numbers mean --------------------------------------------------------------- */

/* The worst neighbours, in the worse of the two orders: whoever swaps P and Q, or puts the lone
 * party into P, gets at least 1.4 % less here, and this test fails. */
static void test_direction_is_the_larger_one(void **state)
{
    static const struct {
        uint32_t b, m;
        double beta, excess;
    } at[] = {{8, 4, .15, 1}, {16, 5, .1, 3}, {4, 3, .25, 0.5}, {8, 2, .2, 7}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        size_t n = at[i].b * (at[i].m - 1);
        long double beta = at[i].beta;
        struct law p = law_of(at[i].b, 0.5L + beta, n, 0, beta);
        struct law q = law_of(at[i].b, 0.5L - beta, n, 0, beta);
        double forward = brute(&p, &q, at[i].excess), reverse = brute(&q, &p, at[i].excess);
        double outlier = corner(at[i].b, beta, n, 0, at[i].excess);
        double ours = divergence_of(at[i].b, at[i].beta, at[i].m, at[i].excess);

        assert_close(ours, forward, 1e-12);
        assert_close(reverse, outlier, 1e-12); /* one law mirrored is the other */
        assert_true(ours > 1.013 * reverse);
    }
}

/* For every corner k of the others' trials: D grows with k, and all at h is what rdp_pbm computes.
 */
static void test_worst_case_has_everybody_at_one_end(void **state)
{
    static const double betas[] = {.001, .1, .25, .45}, excesses[] = {.01, 1, 9, 200};

    (void)state;
    for (uint32_t b = 1; b <= 4; b++) {
        for (uint32_t m = 2; m <= 5; m++) {
            for (size_t i = 0; i < 16; i++) {
                double beta = betas[i / 4], excess = excesses[i % 4];
                double ours = divergence_of(b, beta, m, excess);
                size_t n = b * (m - 1);

                for (size_t k = 0; k < n; k++)
                    assert_true(corner(b, beta, n, k, excess) < ours);
                assert_close(ours, corner(b, beta, n, n, excess), 1e-9);
            }
        }
    }
}

/* The two walks of fill_ln_w against the hypergeometric expectation they stand for. */
static void test_likelihood_ratio_is_the_hypergeometric_mean(void **state)
{
    static const struct {
        uint32_t b, m;
        double beta;
    } at[] = {{128, 5, .25}, {64, 2, .01}, {7, 40, .49}, {1, 200, .2}};

    (void)state;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        long double n = at[i].b * at[i].m, b = at[i].b;
        long double ln_rho = logl((0.5L + at[i].beta) / (0.5L - at[i].beta));
        struct rdp_pbm t;

        assert_int_equal(rdp_pbm_init(&t, at[i].b, at[i].beta, at[i].m), STATUS_OK);
        for (size_t s = 0; s < t.n; s++) {
            long double mean = 0, successes = s;

            for (long double j = 0; j <= b && j <= successes; j++) {
                if (successes - j > n - b)
                    continue;
                mean += expl(lgammal(successes + 1) - lgammal(j + 1) - lgammal(successes - j + 1) +
                             lgammal(n - successes + 1) - lgammal(b - j + 1) -
                             lgammal(n - successes - b + j + 1) - lgammal(n + 1) + lgammal(b + 1) +
                             lgammal(n - b + 1) + (b - 2 * j) * ln_rho);
            }
            assert_true(fabsl(logl(mean) - t.ln_w[s]) < 1e-12L * (1 + fabsl(logl(mean))));
        }
        rdp_pbm_deinit(&t);
    }
}

static void test_largest_table_is_a_pair_of_laws(void **state)
{
    struct rdp_pbm t;
    double p = 0, q = 0;

    (void)state;
    assert_int_equal(rdp_pbm_init(&t, 1024, 0.25, 256), STATUS_OK);
    for (size_t s = 0; s < t.n; s++) {
        p += exp(t.ln_p[s]);
        q += exp(t.ln_p[s] + t.ln_w[s]);
        assert_true(s == 0 || t.ln_w[s] < t.ln_w[s - 1]);
    }
    assert_close(p, 1, 1e-10);
    assert_close(q, 1, 1e-10);
    rdp_pbm_deinit(&t);
}

/* Hiding among more parties never costs; a higher order never shows less; no order shows more than
 * b ln rho. */
static void test_divergence_falls_with_parties_and_grows_with_order(void **state)
{
    (void)state;
    for (double excess = 1e-6; excess < 1e4; excess *= 10) {
        double before = INFINITY;

        for (uint32_t m = 1; m <= 12; m++) {
            double d = divergence_of(8, 0.15, m, excess);

            assert_true(d > 0 && d < before);
            assert_true(divergence_of(8, 0.15, m, excess * 2) > d);
            assert_true(d < 8 * log(0.65 / 0.35));
            before = d;
        }
    }
}

static void test_one_party_alone_needs_no_table(void **state)
{
    struct law p = law_of(16, 0.6L, 0, 0, 0.1L), q = law_of(16, 0.4L, 0, 0, 0.1L);
    struct rdp_pbm t;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(rdp_pbm_init(&t, 16, 0.1, 1), STATUS_OK);
    mem_fail_at(0);
    assert_close(rdp_pbm(&t, 3), brute(&p, &q, 3), 1e-12);
    assert_close(rdp_trial(0.1, 3), brute(&p, &q, 3) / 16, 1e-12);
    rdp_pbm_deinit(&t);
}

static void test_short_memory_is_reported(void **state)
{
    struct rdp_pbm t;

    (void)state;
    for (uint64_t n = 1; n <= 2; n++) {
        mem_fail_at(n);
        assert_int_equal(rdp_pbm_init(&t, 16, 0.1, 2), STATUS_MEMORY);
        rdp_pbm_deinit(&t);
    }
    mem_fail_at(3);
    assert_int_equal(rdp_pbm_init(&t, 16, 0.1, 2), STATUS_OK);
    mem_fail_at(0);
    rdp_pbm_deinit(&t);
}

static void test_gaussian_divergence_is_alpha_shift_squared(void **state)
{
    (void)state;
    assert_close(rdp_gaussian(2, 4, 1), 2 * 4 / 32.0, 1e-15);
}

/* --- conversion -------------------------------------------------------------------------- */

static void test_search_finds_no_less_than_the_best_order(void **state)
{
    static const double counts[] = {1, 1600, 1.6e7, 1e12};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct composition c = {.count = counts[i]};
        double found, least = INFINITY, excess;

        assert_int_equal(rdp_pbm_init(&c.table, 16, 0.1, 5), STATUS_OK);
        found = rdp_minimise(total, &c, 1e-5, &excess);
        for (double t = -24; t < 8; t += 1.0 / 64)
            least = fmin(least, rdp_epsilon(total(&c, exp(t)), exp(t), 1e-5));
        assert_true(found <= least * (1 + 1e-12));
        assert_close(found, rdp_epsilon(total(&c, excess), excess, 1e-5), 1e-12);
        rdp_pbm_deinit(&c.table);
    }
}

static void test_epsilon_of_almost_nothing_is_zero(void **state)
{
    double excess;

    (void)state;
    assert_true(epsilon_of(1, 1e-6, 200, 1, 1e-2, &excess) == 0);
    assert_true(epsilon_of(1, 1e-6, 200, 1e12, 1e-2, &excess) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_divergences_match_in_every_digit),
        cmocka_unit_test(test_golden_small_cases_match_in_thirteen_digits),
        cmocka_unit_test(test_golden_likelihood_ratios_match),
        cmocka_unit_test(test_independent_vectors_match),
        cmocka_unit_test(test_direction_is_the_larger_one),
        cmocka_unit_test(test_worst_case_has_everybody_at_one_end),
        cmocka_unit_test(test_likelihood_ratio_is_the_hypergeometric_mean),
        cmocka_unit_test(test_largest_table_is_a_pair_of_laws),
        cmocka_unit_test(test_divergence_falls_with_parties_and_grows_with_order),
        cmocka_unit_test(test_one_party_alone_needs_no_table),
        cmocka_unit_test(test_short_memory_is_reported),
        cmocka_unit_test(test_gaussian_divergence_is_alpha_shift_squared),
        cmocka_unit_test(test_search_finds_no_less_than_the_best_order),
        cmocka_unit_test(test_epsilon_of_almost_nothing_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
