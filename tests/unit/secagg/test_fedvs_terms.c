/* test_fedvs_terms.c -- no sum wraps, the prime is the smallest that proves it, and fixed point.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/fedvs_terms.h"

#include "tests/unit/secagg/members.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t SEED[32] = "terms";

static const struct members_case FIVE = {
    .parties = 5,
    .segments = 2,
    .privacy = 1,
    .width = 2,
    .rows = 3,
    .features = {2, 3, 1, 1, 4},
    .degree = {1, 2, 3, 1, 2},
    .x_bits = 5,
    .w_bits = 8,
    .x_max = 1.5,
    .w_max = 2,
};

static enum status init(struct fedvs_terms *t, const struct members_case *c, struct error *err)
{
    const struct plan p = members_plan(c);

    memset(t, 0xaa, sizeof *t);
    *err = (struct error){0};
    return fedvs_terms_init(t, &p, c->parties, c->features, c->degree, err);
}

/* STATUS_CONFIG, nothing left in the terms, and the text has all these. */
static void assert_refused(const struct members_case *c, const char *a, const char *b)
{
    static const struct fedvs_terms none;
    struct fedvs_terms t;
    struct error err;

    assert_int_equal(init(&t, c, &err), STATUS_CONFIG);
    assert_memory_equal(&t, &none, sizeof t);
    assert_non_null(strstr(err.text, a));
    assert_non_null(strstr(err.text, b));
}

/* --- the bound --- */

static void test_the_bound_is_the_sum_of_all_limits(void **state)
{
    /* Powers of 1.5 in units of 1/32: 48, 72, 108. */
    const uint64_t powers = 2 * 48 + 3 * (48 + 72) + (48 + 72 + 108) + 48 + 4 * (48 + 72);
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    (void)state;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_true(t.bound == powers * 512);
    assert_int_equal(t.inputs_n, 2 + 6 + 3 + 1 + 8);
    assert_int_equal(fedvs_inputs_before(&t, 0), 0);
    assert_int_equal(fedvs_inputs_before(&t, 4), 12);
    assert_true(fedvs_reach(&t) == 4 * (1.5 + 1.5 * 1.5) * 2); /* of the last one */
    c.w_max = 2.001; /* 512.256: rounded to 513 at times */
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_true(t.bound == powers * 513);
    c.x_max = 1.52; /* 48.64, 73.93, 112.38 */
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_true(t.bound ==
                (uint64_t)(2 * 49 + 3 * (49 + 74) + (49 + 74 + 112) + 49 + 4 * (49 + 74)) * 513);
}

/* The most weight bits that this prime holds, which the plan then has. */
static void most_bits(struct members_case *c)
{
    struct fedvs_terms t;
    struct error err;

    for (c->w_bits = 30; init(&t, c, &err) != STATUS_OK; c->w_bits--)
        assert_true(c->w_bits > 1);
}

/* Whole rounds with inputs and weights at their limits, in all four combinations of signs. */
static void extremes(struct members_case c)
{
    static const uint32_t coded[] = {0, 1};
    int64_t sums[64];
    float out[64], limit[64];
    struct rng r;
    struct members g;
    struct error err = {0};

    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int signs = 0; signs < 4; signs++) {
        struct secagg_round round;
        const bool negative = signs == 1 || signs == 2;

        members_init(&g, &c, &r);
        for (uint32_t m = 0; m < c.parties; m++) {
            for (size_t i = 0; i < (size_t)g.shape.terms.inputs[m] * c.width; i++)
                g.w[m][i] = (signs & 2) != 0 ? -2000 : 2000;
            for (size_t i = 0; i < (size_t)c.rows * c.features[m]; i++)
                g.x[m][i] = (signs & 1) != 0 ? -2000 : 2000;
        }
        members_deal_keys(&g);
        members_deal_data(&g);
        round = members_run(&g, coded, 2);
        members_sums(&g, sums, &round);
        for (int i = 0; i < 4; i++)
            assert_true(sums[i] == (negative ? -1 : 1) * (int64_t)g.shape.terms.bound);
        secagg_begin_padded(g.server, members_values(&g, 2), members_real(&g, coded, 2));
        for (uint32_t m = 0; m < c.parties; m++)
            assert_int_equal(secagg_add(g.server, m, g.payload[m], NULL, &err), STATUS_OK);
        assert_int_equal(secagg_combine(g.server, out, c.width, &err), STATUS_OK);
        fedvs_real(&g.shape.terms, limit, sums, 6);
        assert_memory_equal(out, limit, 6 * sizeof *out);
        members_deinit(&g);
    }
    rng_deinit(&r);
}

static void test_limits_reach_the_bound_and_never_wrap(void **state)
{
    static const enum plan_prime primes[] = {PRIME_31, PRIME_61};
    struct members_case c = FIVE;

    (void)state;
    /* Odd powers alone, so that all terms have one sign. */
    for (uint32_t m = 0; m < c.parties; m++)
        c.degree[m] = 1;
    c.features[0] = 40;
    for (int i = 0; i < 2; i++) {
        struct fedvs_terms t;
        struct error err;

        c.prime = primes[i];
        c.x_bits = i == 0 ? 5 : 20;
        c.x_max = i == 0 ? 1.5 : 32;
        c.w_max = i == 0 ? 1.9 : 1000;
        c.width = 2;
        most_bits(&c);
        assert_int_equal(init(&t, &c, &err), STATUS_OK);
        assert_true(t.bound <= t.field->p / 2);
        if (i == 0)
            assert_true(t.bound > t.field->p / 4 - t.field->p / 64);
        c.w_max = floor(ldexp(c.w_max, (int)c.w_bits)) / ldexp(1, (int)c.w_bits);
        extremes(c);
    }
}

static void test_one_bit_more_than_the_prime_holds_is_refused_with_the_numbers(void **state)
{
    struct members_case c = FIVE;

    (void)state;
    c.prime = PRIME_31;
    most_bits(&c);
    c.w_bits++;
    assert_refused(&c, "1 too many", "2^31-1 holds up to 1073741823");
    assert_refused(&c, "a sum over 20 inputs may reach 1270874112",
                   "protocol.fedvs.x_bits and w_bits");
    c.w_bits += 3;
    assert_refused(&c, "4 too many", "may reach 10166992896");
    c.prime = PRIME_AUTO;
    c.x_bits = 20;
    c.x_max = 32;
    c.w_bits = 30;
    c.w_max = 1024;
    assert_refused(&c, "more than ", "2^61-1 holds up to 1152921504606846975");
    c.w_bits = 5;
    c.degree[2] = 2;
    c.features[2] = 60000;
    assert_refused(&c, "1 too many", "2^61-1 holds up to 1152921504606846975");
}

static void test_auto_takes_the_smaller_prime_that_holds(void **state)
{
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    (void)state;
    c.prime = PRIME_31;
    most_bits(&c);
    c.prime = PRIME_AUTO;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_ptr_equal(t.field, &field_31);
    c.w_bits++;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_ptr_equal(t.field, &field_61);
    c.w_bits--;
    c.prime = PRIME_61;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_ptr_equal(t.field, &field_61);
}

/* The bound at exactly (p-1)/2 holds; one more does not: 2^31 - 1 = 3 * 715827882 + 1. */
static void test_the_last_bound_that_holds_is_half_the_prime(void **state)
{
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    (void)state;
    /* 1073741823 = 2 * 536870911 + 1 = 3^2 * 7 * 11 * 31 * 151 * 331 */
    c.prime = PRIME_31;
    for (uint32_t m = 0; m < 5; m++) {
        c.degree[m] = 1;
        c.features[m] = m < 4 ? 1 : 147; /* 151 inputs */
    }
    c.x_bits = 1;
    c.x_max = 331 / 2.0;
    c.w_bits = 1;
    c.w_max = 9 * 7 * 11 * 31 / 2.0;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_true(t.bound == 1073741823);
    c.w_max += 0.25;
    assert_refused(&c, "may reach 1073791804", "1 too many");
    c.features[4] = 12; /* 16 inputs, 2^13 and 2^13: one more than that */
    c.x_bits = c.w_bits = 13;
    c.x_max = c.w_max = 1;
    assert_refused(&c, "may reach 1073741824", "1 too many");
    c.prime = PRIME_61; /* 2^28 and 2^28 */
    c.x_bits = 20;
    c.x_max = 256;
    c.w_bits = 28;
    assert_refused(&c, "may reach 1152921504606846976", "1 too many");
    c.features[4] = 11;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
}

/* --- shapes that do not exist --- */

static void test_a_member_without_a_polynomial_is_named(void **state)
{
    struct members_case c = FIVE;

    (void)state;
    c.degree[3] = 0;
    assert_refused(&c, "member 3 has 1 features and degree 0", "model.polynomial.degree");
    c.degree[3] = 1;
    c.features[2] = 0;
    assert_refused(&c, "member 2 has 0 features and degree 3", "polynomial");
}

static void test_more_results_than_members_are_refused(void **state)
{
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    (void)state;
    assert_int_equal(init(&t, &c, &err), STATUS_OK); /* 2 (2 + 1 - 1) + 1 = 5 */
    c.parties = 4;
    assert_refused(&c, "2 (2 + 1 - 1) + 1 = 5 results", "of 4 parties");
    c.segments = 1;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    c.privacy = 2;
    assert_refused(&c, "2 (1 + 2 - 1) + 1 = 5 results", "of 4 parties");
    c.parties = 5;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    c.segments = UINT32_MAX;
    c.privacy = UINT32_MAX;
    assert_refused(&c, "results", "of 5 parties");
    c.segments = 0;
    c.privacy = 2;
    assert_refused(&c, "0 segments", "of 5 parties");
    c.segments = 2;
    c.privacy = 0;
    assert_refused(&c, "privacy 0", "of 5 parties");
}

/* C(M-1, T) of the last shape that is admitted, and of the first that is not. */
static void test_more_subset_keys_than_a_member_can_hold_are_refused(void **state)
{
    static const struct {
        uint32_t parties, privacy, keys; /* 0: admitted */
    } cases[] = {
        {13, 4, 0},   {14, 4, 715}, {11, 5, 0},   {12, 5, 0},
        {13, 5, 792}, {33, 2, 0},   {34, 2, 528}, {256, 1, 0},
    };
    static uint32_t features[PLAN_PARTIES_MAX], degree[PLAN_PARTIES_MAX];
    struct members_case c = FIVE;
    struct plan p;

    (void)state;
    c.segments = 1;
    for (size_t m = 0; m < PLAN_PARTIES_MAX; m++)
        features[m] = degree[m] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fedvs_terms t;
        struct error err = {0};
        char keys[32];
        enum status s;

        c.privacy = cases[i].privacy;
        p = members_plan(&c);
        s = fedvs_terms_init(&t, &p, cases[i].parties, features, degree, &err);
        assert_int_equal(s, cases[i].keys == 0 ? STATUS_OK : STATUS_CONFIG);
        snprintf(keys, sizeof keys, "need %u subset keys", cases[i].keys);
        if (s != STATUS_OK)
            assert_non_null(strstr(err.text, keys));
    }
}

static void test_more_weights_than_a_round_can_have_are_refused(void **state)
{
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    (void)state;
    c.x_bits = c.w_bits = 1;
    c.width = 1 << 20; /* 16 inputs are left */
    c.degree[2] = 1;
    c.degree[4] = 1;
    c.degree[1] = 1;
    c.features[4] = 9;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    assert_int_equal(t.inputs_n, 16);
    c.features[4] = 10;
    assert_refused(&c, "have 17 inputs", "at most 16");
    c.features[0] = UINT32_MAX;
    c.degree[0] = UINT32_MAX;
    assert_refused(&c, "members 0 to 0", "at most 16");
}

/* --- fixed point --- */

static struct fedvs_terms terms(uint32_t x_bits, uint32_t w_bits, double x_max, double w_max)
{
    struct members_case c = FIVE;
    struct fedvs_terms t;
    struct error err;

    c.x_bits = x_bits;
    c.w_bits = w_bits;
    c.x_max = x_max;
    c.w_max = w_max;
    assert_int_equal(init(&t, &c, &err), STATUS_OK);
    return t;
}

static void test_powers_are_rounded_to_the_nearest_after_the_cut(void **state)
{
    const struct fedvs_terms t = terms(3, 4, 1, 1);
    /* Ties to even: 0.0625 * 8 = 0.5, 0.5625 * 8 = 4.5, 0.4375 * 8 = 3.5. */
    const float x[] = {0.25F, -0.25F, 0.75F, 0.4375F, 0.3F, -0.3F, 1, 1.25F, -7, 0};
    const int64_t first[] = {2, -2, 6, 4, 2, -2, 8, 8, -8, 0};
    const int64_t second[] = {0, 0, 4, 2, 1, 1, 8, 8, 8, 0};
    const int64_t third[] = {0, 0, 3, 1, 0, 0, 8, 8, -8, 0};
    int64_t out[10];

    (void)state;
    fedvs_quantise_x(&t, out, x, 10, 1);
    assert_memory_equal(out, first, sizeof out);
    fedvs_quantise_x(&t, out, x, 10, 2);
    assert_memory_equal(out, second, sizeof out);
    fedvs_quantise_x(&t, out, x, 10, 3);
    assert_memory_equal(out, third, sizeof out);
}

static void test_what_is_not_finite_counts_as_nought(void **state)
{
    const struct fedvs_terms t = terms(3, 4, 1, 1);
    const float bad[] = {NAN, INFINITY, -INFINITY};
    uint64_t clipped = 0;
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        float x[3] = {0.5F, 0.5F, 0.5F};
        int64_t out[3];

        x[i] = bad[i];
        fedvs_quantise_x(&t, out, x, 3, 2);
        for (int k = 0; k < 3; k++)
            assert_int_equal(out[k], k == i ? 0 : 2); /* 0.25 in eighths */
        fedvs_quantise_w(&t, out, x, 3, &r, &clipped);
        for (int k = 0; k < 3; k++)
            assert_int_equal(out[k], k == i ? 0 : 8); /* 0.5 in sixteenths */
        assert_int_equal(clipped, i + 1);
    }
    rng_deinit(&r);
}

/* Two neighbours, and the mean is right within five standard errors. */
static void test_weights_are_rounded_without_bias(void **state)
{
    enum { DRAWS = 200000, CHUNK = 1000 };
    static const float values[] = {0.3F, -0.3F, 0.0703125F, -1.9F, 1e-6F, 0.99999F};
    const struct fedvs_terms t = terms(3, 4, 1, 2);
    float w[CHUNK];
    int64_t out[CHUNK];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        const double v = 16 * (double)values[k], p = v - floor(v);
        uint64_t clipped = 0;
        int64_t sum = 0;

        for (int i = 0; i < CHUNK; i++)
            w[i] = values[k];
        for (int i = 0; i < DRAWS; i += CHUNK) {
            fedvs_quantise_w(&t, out, w, CHUNK, &r, &clipped);
            for (int j = 0; j < CHUNK; j++) {
                assert_true(out[j] == (int64_t)floor(v) || out[j] == (int64_t)floor(v) + 1);
                sum += out[j];
            }
        }
        assert_true(fabs((double)sum / DRAWS - v) <= 5 * sqrt(p * (1 - p) / DRAWS) + 1e-12);
        assert_int_equal(clipped, 0);
    }
    rng_deinit(&r);
}

static void test_whole_weights_stay_and_large_ones_are_cut_and_counted(void **state)
{
    const struct fedvs_terms t = terms(3, 4, 1, 1.5);
    const float w[] = {0, 0.0625F, -0.5F, 1.5F, -1.5F, 1.5001F, -2, 3e38F};
    const int64_t expected[] = {0, 1, -8, 24, -24, 24, -24, 24};
    int64_t out[8];
    uint64_t clipped = 10;
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    for (int i = 0; i < 100; i++) {
        fedvs_quantise_w(&t, out, w, 8, &r, &clipped);
        assert_memory_equal(out, expected, sizeof out);
    }
    assert_int_equal(clipped, 10 + 300);
    rng_deinit(&r);
}

/* One draw a weight, in order, whatever the chunks: so noise of a place is always the same. */
static void test_each_weight_takes_one_draw(void **state)
{
    enum { N = 700 };
    const struct fedvs_terms t = terms(3, 4, 1, 2);
    float w[N];
    int64_t once[N], parts[N];
    struct rng r, same;
    uint64_t clipped = 0;

    (void)state;
    assert_int_equal(rng_init_key(&r, SEED), STATUS_OK);
    assert_int_equal(rng_init_key(&same, SEED), STATUS_OK);
    for (int i = 0; i < N; i++)
        w[i] = (float)i / N;
    fedvs_quantise_w(&t, once, w, N, &r, &clipped);
    for (size_t at = 0, some = 1; at < N; at += some, some = 2 * some < N - at ? 2 * some : N - at)
        fedvs_quantise_w(&t, parts + at, w + at, some, &same, &clipped);
    assert_memory_equal(once, parts, sizeof once);
    assert_true(rng_u64(&r) == rng_u64(&same));
    rng_rekey(&same, SEED);
    for (int i = 0; i < N; i++) {
        const double v = 16 * (double)w[i];

        assert_true(once[i] == (int64_t)floor(v) + (rng_uniform(&same) < v - floor(v)));
    }
    rng_deinit(&r);
    rng_deinit(&same);
}

static void test_sums_come_back_at_their_scale(void **state)
{
    const struct fedvs_terms t = terms(3, 4, 1, 1);
    const int64_t sums[] = {128, -128, 1, 0, -(1 << 20)};
    const float expected[] = {1, -1, 1 / 128.0F, 0, -8192};
    float out[5];

    (void)state;
    fedvs_real(&t, out, sums, 5);
    assert_memory_equal(out, expected, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bound_is_the_sum_of_all_limits),
        cmocka_unit_test(test_limits_reach_the_bound_and_never_wrap),
        cmocka_unit_test(test_one_bit_more_than_the_prime_holds_is_refused_with_the_numbers),
        cmocka_unit_test(test_auto_takes_the_smaller_prime_that_holds),
        cmocka_unit_test(test_the_last_bound_that_holds_is_half_the_prime),
        cmocka_unit_test(test_a_member_without_a_polynomial_is_named),
        cmocka_unit_test(test_more_results_than_members_are_refused),
        cmocka_unit_test(test_more_subset_keys_than_a_member_can_hold_are_refused),
        cmocka_unit_test(test_more_weights_than_a_round_can_have_are_refused),
        cmocka_unit_test(test_powers_are_rounded_to_the_nearest_after_the_cut),
        cmocka_unit_test(test_what_is_not_finite_counts_as_nought),
        cmocka_unit_test(test_weights_are_rounded_without_bias),
        cmocka_unit_test(test_whole_weights_stay_and_large_ones_are_cut_and_counted),
        cmocka_unit_test(test_each_weight_takes_one_draw),
        cmocka_unit_test(test_sums_come_back_at_their_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
