/* test_plan_noise.c -- a plan's Gaussian noise in steps, and how far codes and their sums reach.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_noise.h"

#include "common/base/bits.h"
#include "common/config/encoding.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct plan p;

static void start(enum plan_gaussian_match match)
{
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_GAUSSIAN;
    p.protocol.gaussian.match = match;
    p.protocol.clip = 2.0;
    p.protocol.pbm.trials = 16;
    p.protocol.pbm.beta = 0.2;
    p.privacy.delta = 1e-5;
    p.shape.parties = 5;
    p.shape.train_rows = 100;
    p.shape.test_rows = 10;
    p.shape.outputs = 2;
}

static void set_sigma(double sigma)
{
    start(GAUSSIAN_SIGMA);
    p.protocol.gaussian.sigma = sigma;
}

static void pass(void)
{
    struct error err = {0};

    if (plan_check(&p, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* `numbers`: how the line ends. */
static void refuse(const char *key, const char *numbers)
{
    struct error err = {0};
    size_t n;

    assert_int_equal(plan_check(&p, &err), STATUS_CONFIG);
    n = strlen(err.text);
    if (strncmp(err.text, key, strlen(key)) != 0 || n < strlen(numbers) ||
        strcmp(err.text + n - strlen(numbers), numbers) != 0)
        fail_msg("%s", err.text);
}

static void is_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * want))
        fail_msg("%.17g, not %.17g", got, want);
}

/* --- sigma --- */

static void test_noise_is_what_the_plan_matches_in_steps(void **state)
{
    (void)state;
    start(GAUSSIAN_PAPER);
    assert_true(plan_noise_step(&p) == 0.125);
    is_near(plan_noise_steps(&p, 5), sqrt(2 * 5 * 4 / (16 * 0.04)) / 0.125, 1e-14);
    p.protocol.gaussian.match = GAUSSIAN_EQUAL_RDP;
    is_near(plan_noise_steps(&p, 5), sqrt(5 * 4 * (1 - 0.16) / (4 * 16 * 0.04)) / 0.125, 1e-14);
    set_sigma(0.7);
    assert_true(plan_noise_steps(&p, 5) == 0.35 * 16 && plan_noise_steps(&p, 1) == 0.35 * 16);
    p.protocol.gaussian.levels = 32;
    assert_true(plan_noise_steps(&p, 5) == 0.35 * 32);
}

/* Sensitivity 2 C sqrt(P) = 16; up to the next number of 12 bits, and no more. */
static void test_noise_of_an_epsilon_is_rounded_up_a_little(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        double steps, exact;
        int exponent;

        start(GAUSSIAN_EPSILON);
        p.model.embedding = 16;
        p.protocol.gaussian.epsilon = pow(1.1, k - 20);
        steps = plan_noise_steps(&p, 3);
        if (k == 20)
            is_near(steps, 16 * 3.730632 / 0.125, 0x1p-11);
        exact = ldexp(frexp(steps / 16, &exponent), 12);
        assert_true(exact == floor(exact));
        assert_true(plan_noise_steps(&p, 200) == steps);
    }
}

/* --- reach --- */

/* ln P(|N(0, 1)| > z), which the discrete law lies within a hair of at four steps and more. */
static double log2_of_tail(double z)
{
    return log2(erfc(z / M_SQRT2));
}

static void test_no_sum_of_a_run_is_wrong_but_with_odds_of_two_to_minus_forty(void **state)
{
    static const double sigmas[] = {0.5, 1, 10, 100};

    (void)state;
    for (size_t k = 0; k < 4; k++)
        for (uint32_t parties = 1; parties <= 256; parties = 2 * parties + 1) {
            double steps, t;

            set_sigma(sigmas[k]);
            steps = plan_noise_steps(&p, parties);
            t = plan_noise_reach(&p, parties) - 16.0 * parties;
            assert_true(log2_of_tail(t / (steps * sqrt(parties))) < -40 - 50 - 1);
            /* and is not much wider than it must be: 11 deviations would not do */
            assert_true(log2_of_tail(11 * (t - 1) / (11.4 * steps * sqrt(parties))) > -40 - 50 - 1);
        }
}

static void test_sums_are_read_back_from_their_bits(void **state)
{
    (void)state;
    for (uint32_t levels = 16; levels <= 1 << 14; levels = 3 * levels + 1)
        for (uint32_t parties = 1; parties <= 60; parties++) {
            uint32_t reach;

            start(GAUSSIAN_PAPER);
            p.protocol.gaussian.levels = levels;
            reach = plan_noise_reach(&p, parties);
            assert_true(reach > levels * parties);
            assert_true(encoding_sum_span(&p, parties) == 2 * (uint64_t)reach);
            assert_true(reach <= (1U << (encoding_sum_bits(&p, parties) - 1)) - 1);
            assert_true(reach > (1U << (encoding_sum_bits(&p, parties) - 2)) - 1);
            assert_int_equal(encoding_code_bits(&p, parties), encoding_sum_bits(&p, parties));
        }
}

static void test_other_encodings_have_the_bits_of_their_codes(void **state)
{
    (void)state;
    start(GAUSSIAN_PAPER);
    p.protocol.encoding = ENCODING_PBM;
    assert_int_equal(encoding_code_bits(&p, 5), 5);
    assert_int_equal(encoding_sum_bits(&p, 5), 7);
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 9;
    assert_int_equal(encoding_code_bits(&p, 5), 9);
    assert_int_equal(encoding_sum_bits(&p, 5), bits_width(5 * 511 + 1));
    p.protocol.encoding = ENCODING_FLOAT32;
    assert_int_equal(encoding_code_bits(&p, 5), 0);
    assert_int_equal(encoding_sum_bits(&p, 5), 0);
}

/* --- rules --- */

static void test_noise_that_cannot_be_drawn_is_refused_by_its_numbers(void **state)
{
    (void)state;
    set_sigma(0.5);
    pass();
    p.protocol.gaussian.sigma = nextafter(0.5, 0);
    refuse("protocol.gaussian.levels: a party's noise must be 4 to 2^24", "(4 steps)");
    p.protocol.gaussian.sigma = 1e-300;
    refuse("protocol.gaussian.levels", "(8e-300 steps)");
    p.shape.parties = 0; /* as where a file is read */
    refuse("protocol.gaussian.levels", "(8e-300 steps)");
    p.protocol.gaussian.sigma = 5e-324;
    refuse("protocol.gaussian.levels", "steps)");
    p.protocol.gaussian.sigma = 1e9;
    refuse("protocol.gaussian.levels", "(8e+09 steps)");
    start(GAUSSIAN_EPSILON);
    p.protocol.gaussian.epsilon = 1e6;
    refuse("protocol.gaussian.levels", "steps)");
    p.protocol.gaussian.epsilon = 1e-300; /* delta alone asks for so much */
    pass();
    p.privacy.delta = 1e-9;
    refuse("protocol.gaussian.levels", "steps)");
    p.protocol.encoding = ENCODING_PBM; /* then nobody asks */
    pass();
}

/* As a party reads it. */
static void test_a_plan_with_such_noise_is_refused_by_who_is_sent_it(void **state)
{
    struct plan back;
    struct error err = {0};
    struct buf text;

    (void)state;
    for (int k = 0; k < 2; k++) {
        set_sigma(k == 0 ? 1e-300 : 0.5);
        p.training.seed_given = true;
        p.training.weight_decay_given = true;
        p.privacy.delta_given = true;
        buf_init(&text, PLAN_TEXT_MAX);
        assert_int_equal(plan_print(&p, &text), STATUS_OK);
        assert_int_equal(plan_parse(&back, (const char *)text.data, text.len, &err),
                         k == 0 ? STATUS_PROTOCOL : STATUS_OK);
        if (k == 0)
            assert_non_null(strstr(err.text, "plan: protocol.gaussian.levels: a party's noise"));
        buf_deinit(&text);
    }
}

/* Noise grows with the set under paper and equal_rdp: the smallest one decides. */
static void test_noise_must_do_in_every_set_that_may_run(void **state)
{
    (void)state;
    start(GAUSSIAN_EQUAL_RDP);
    p.protocol.pbm.trials = 98; /* 16 sqrt(0.84 M / 15.68) steps: 8.28 of five, 5.24 of two */
    pass();
    p.protocol.pbm.trials = 280; /* 4.9 and 3.1 */
    pass();
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("protocol.gaussian.levels", "(3.09839 steps in a set of 2)");
    p.protocol.aggregation = AGGREGATION_CODED;
    p.protocol.coded.segments = 2;
    p.protocol.coded.privacy = 2;
    pass();
    p.protocol.coded.privacy = 1;
    refuse("protocol.gaussian.levels", "(3.79473 steps in a set of 3)");
    p.protocol.aggregation = AGGREGATION_CLEAR;
    refuse("protocol.gaussian.levels", "(2.19089 steps in a set of 1)");
    p.protocol.gaussian.levels = 32;
    pass();
    start(GAUSSIAN_PAPER); /* 16 / 2^-12 sqrt(2 * 5) steps are 2^17.7; of 256, 2^20.5 */
    p.protocol.pbm.trials = 1;
    p.protocol.pbm.beta = 0x1p-12;
    pass();
    p.protocol.gaussian.levels = 2048; /* 2^24.7 of five, 2^24.0 of two */
    refuse("protocol.gaussian.levels", "steps in a set of 5)");
}

static void test_sums_beyond_thirty_bits_are_refused(void **state)
{
    (void)state;
    set_sigma(1e6); /* 8e6 steps: sums within 2^28.2 of 11 */
    p.shape.parties = 11;
    p.protocol.aggregation = AGGREGATION_CLEAR;
    pass();
    assert_int_equal(encoding_sum_bits(&p, 11), 30);
    p.shape.parties = 256;
    refuse("protocol.gaussian.levels: the grid and the noise of all parties must stay within 2^30",
           "less noise");
    assert_int_equal(plan_noise_reach(&p, 256), 0);
}

static void test_shares_need_a_prime_above_the_sums(void **state)
{
    (void)state;
    set_sigma(160); /* 1280 steps: 2 (80 + 11.3 sqrt(5) 1280) = 64,808 */
    p.protocol.aggregation = AGGREGATION_CODED;
    pass();
    assert_int_equal(encoding_sum_bits(&p, 5), 16);
    p.protocol.gaussian.levels = 17;
    refuse("protocol.gaussian.levels: the grid and the noise of all parties must stay within 65521",
           "less noise");
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_is_what_the_plan_matches_in_steps),
        cmocka_unit_test(test_noise_of_an_epsilon_is_rounded_up_a_little),
        cmocka_unit_test(test_no_sum_of_a_run_is_wrong_but_with_odds_of_two_to_minus_forty),
        cmocka_unit_test(test_sums_are_read_back_from_their_bits),
        cmocka_unit_test(test_other_encodings_have_the_bits_of_their_codes),
        cmocka_unit_test(test_noise_that_cannot_be_drawn_is_refused_by_its_numbers),
        cmocka_unit_test(test_a_plan_with_such_noise_is_refused_by_who_is_sent_it),
        cmocka_unit_test(test_noise_must_do_in_every_set_that_may_run),
        cmocka_unit_test(test_sums_beyond_thirty_bits_are_refused),
        cmocka_unit_test(test_shares_need_a_prime_above_the_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
