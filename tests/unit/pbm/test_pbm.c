/* test_pbm.c -- thresholds, the exact law of the codes, and the estimate.
 *
 * Statistics are of keyed streams, so they are the same in every run; beside each stands a wrong
 * law that the same statistic rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm.h"

#include "common/base/mem.h"
#include "common/pbm/pbm_kernel.h"
#include "tests/lib/aborts.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { SAMPLES = 200000, TRIALS_MAX = 1024 };

static const uint8_t KEY[RNG_KEY_BYTES] = "the mechanism";

static struct pbm mechanism(uint32_t trials, double beta, double clip)
{
    struct pbm p;

    assert_int_equal(pbm_init(&p, trials, beta, clip), STATUS_OK);
    return p;
}

static void test_numbers_out_of_range_are_refused(void **state)
{
    struct pbm p;

    (void)state;
    assert_int_equal(pbm_init(&p, 1, 0.25, 1), STATUS_OK);
    assert_int_equal(pbm_init(&p, 1024, 1e-9, 1e30), STATUS_OK);
    assert_int_equal(pbm_init(&p, 0, 0.25, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 1025, 0.25, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, 0, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, -0.1, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, nextafter(PBM_BETA_MAX, 1), 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, (double)NAN, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, 0.25, 0), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, 0.25, -1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, 0.25, (double)INFINITY), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 16, 0.25, (double)NAN), STATUS_CONFIG);
}

/* The bounds lie within 1/2 +- beta, so the nominal beta bounds the privacy from above. */
static void test_thresholds_stay_within_half_plus_minus_beta(void **state)
{
    static const double betas[] = {PBM_BETA_MAX, 0.25, 0.2, 0.15, 0.1, 0.0123, 1e-4};

    (void)state;
    for (size_t i = 0; i < sizeof betas / sizeof betas[0]; i++) {
        struct pbm p = mechanism(16, betas[i], 1);

        assert_true(p.t_lo / 65536.0 >= 0.5 - betas[i]);
        assert_true((p.t_lo - 1) / 65536.0 < 0.5 - betas[i]);
        assert_true(p.t_hi / 65536.0 <= 0.5 + betas[i]);
        assert_true((p.t_hi + 1) / 65536.0 > 0.5 + betas[i]);
        assert_int_equal(pbm_threshold(&p, -1.0F), p.t_lo);
        assert_int_equal(pbm_threshold(&p, -3e38F), p.t_lo);
        assert_int_equal(pbm_threshold(&p, 1.0F), p.t_hi);
        assert_int_equal(pbm_threshold(&p, 3e38F), p.t_hi);
        assert_int_equal(pbm_threshold(&p, 0.0F), 32768);
    }
}

static void test_threshold_is_the_nearest_multiple_of_2_to_the_minus_16(void **state)
{
    struct pbm p = mechanism(16, 0.25, 2);

    (void)state;
    assert_int_equal(pbm_threshold(&p, 0.5F), 32768 + 4096);
    assert_int_equal(pbm_threshold(&p, -1.75F), 32768 - 14336);
    for (int i = -2000; i <= 2000; i++) {
        double x = i / 1000.0, want = 65536 * (0.5 + 0.25 * (double)(float)x / 2);

        assert_true(fabs(pbm_threshold(&p, (float)x) - want) <= 0.5 + 1e-9);
    }
}

static void test_a_gain_stays_within_the_bounds_and_leaves_the_middle(void **state)
{
    struct pbm p = mechanism(1, 0.4, 2);
    const uint16_t lo = (uint16_t)p.t_lo, hi = (uint16_t)p.t_hi;

    (void)state;
    p.gain = 4;
    assert_int_equal(pbm_threshold(&p, 0.0F), 32768);
    assert_int_equal(pbm_threshold(&p, 0.25F), 32768 + 26214 / 2);
    assert_int_equal(pbm_threshold(&p, -0.5F), lo);
    assert_int_equal(pbm_threshold(&p, 0.51F), hi);
    p.gain = 1e6;
    assert_int_equal(pbm_threshold(&p, 1e-5F), hi);
    assert_int_equal(pbm_threshold(&p, -1e-5F), lo);
    assert_int_equal(pbm_threshold(&p, 3e38F), hi);
    assert_int_equal(pbm_threshold(&p, -3e38F), lo);
    assert_int_equal(pbm_threshold(&p, 0.0F), 32768);
    assert_int_equal(pbm_threshold(&p, NAN), 32768);
}

/* --- the law
 * --------------------------------------------------------------------------------------- */

static double log_binomial(uint32_t b, uint32_t k, double p)
{
    return lgamma(b + 1.0) - lgamma(k + 1.0) - lgamma(b - k + 1.0) + k * log(p) +
           (b - k) * log1p(-p);
}

/* Pearson's statistic of the counts against Binomial(b, p), cells of less than 10 expected joined;
 * its distance from the mean in standard deviations. */
static double binomial_deviation(const uint32_t *count, uint32_t b, double p)
{
    double chi = 0, freedom = -1, expected = 0, seen = 0, left = SAMPLES;

    for (uint32_t k = 0; k <= b; k++) {
        double cell = SAMPLES * exp(log_binomial(b, k, p));

        expected += cell;
        seen += count[k];
        left -= cell;
        if (expected >= 10 && (left >= 10 || k == b)) {
            chi += (seen - expected) * (seen - expected) / expected;
            freedom++;
            expected = seen = 0;
        }
    }
    if (expected > 0) { /* the rest of the upper tail */
        chi += (seen - expected) * (seen - expected) / expected;
        freedom++;
    }
    return (chi - freedom) / sqrt(2 * freedom);
}

static void count_codes(uint32_t *count, const struct pbm *p, float x)
{
    static float xs[SAMPLES];
    static uint32_t q[SAMPLES];
    struct rng r;

    for (size_t i = 0; i < SAMPLES; i++)
        xs[i] = x;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    pbm_sample(p, q, xs, SAMPLES, &r);
    rng_deinit(&r);
    memset(count, 0, (p->trials + 1) * sizeof *count);
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_true(q[i] <= p->trials);
        count[q[i]]++;
    }
}

static void test_codes_are_binomial_at_the_threshold(void **state)
{
    static const uint32_t trials[] = {1, 2, 8, 16, 64, 128, 1000, 1024};
    static const float xs[] = {-1, -0.37F, 0, 0.5F, 1};
    uint32_t count[TRIALS_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        for (size_t k = 0; k < (trials[i] > 128 ? 1 : sizeof xs / sizeof xs[0]); k++) {
            struct pbm p = mechanism(trials[i], 0.25, 1);
            double t = pbm_threshold(&p, xs[k]) / 65536.0;

            count_codes(count, &p, xs[k]);
            assert_true(binomial_deviation(count, trials[i], t) < 4.5);
        }
}

/* As if thresholds had 8 bits, or the comparison were "not above". */
static void test_the_statistic_sees_a_biased_coin(void **state)
{
    struct pbm p = mechanism(64, 0.25, 1);
    double t = pbm_threshold(&p, 0.504F) / 65536.0;
    uint32_t count[TRIALS_MAX + 1];

    (void)state;
    count_codes(count, &p, 0.504F);
    assert_true(binomial_deviation(count, 64, t) < 4.5);
    assert_true(binomial_deviation(count, 64, t + 1.0 / 256) > 20);
    assert_true(binomial_deviation(count, 64, t - 1.0 / 512) > 8);
    assert_true(binomial_deviation(count, 63, t) > 100);
}

/* Neighbours in one block, and the same element in two calls, must not share words. */
static void test_codes_of_different_elements_do_not_go_together(void **state)
{
    static float x[SAMPLES];
    static uint32_t q[SAMPLES];
    static const size_t distances[] = {1, 2, 16, 31, 32, 33, 64};
    struct pbm p = mechanism(16, 0.25, 1);
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    pbm_sample(&p, q, x, SAMPLES, &r);
    rng_deinit(&r);
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
        double sum = 0, n = SAMPLES - (double)distances[d];

        for (size_t i = 0; i + distances[d] < SAMPLES; i++)
            sum += ((double)q[i] - 8) * ((double)q[i + distances[d]] - 8);
        assert_true(fabs(sum / (16 * 0.25)) / sqrt(n) < 4.5); /* variance of a code: 16 / 4 */
    }
}

/* --- the stream
 * ------------------------------------------------------------------------------------ */

/* 64-bit words left in place: what the stream says after a call tells how much the call took. */
static uint64_t next_after(const struct pbm *p, const float *x, size_t n, uint32_t *q)
{
    struct rng r;
    uint64_t next;

    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    pbm_sample(p, q, x, n, &r);
    next = rng_u64(&r);
    rng_deinit(&r);
    return next;
}

static void test_stream_bytes_taken_depend_on_n_and_b_alone(void **state)
{
    static const size_t ns[] = {1, 31, 32, 33, 1600};
    static uint8_t skipped[2 * 1024 * 1632];
    static float zero[1600], other[1600];
    uint32_t q[1600];

    (void)state;
    for (size_t i = 0; i < 1600; i++)
        other[i] = i % 3 == 0 ? 1e9F : -0.9F;
    for (uint32_t b = 1; b <= 1024; b = b * 5 / 2 + 1)
        for (size_t k = 0; k < sizeof ns / sizeof ns[0]; k++) {
            struct pbm p = mechanism(b, 0.25, 1);
            struct rng r;

            assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
            rng_fill(&r, skipped, 2 * (size_t)b * ((ns[k] + 31) / 32 * 32));
            assert_true(next_after(&p, zero, ns[k], q) == rng_u64(&r));
            rng_deinit(&r);
            assert_true(next_after(&p, zero, ns[k], q) == next_after(&p, other, ns[k], q));
        }
}

static void test_pieces_of_whole_blocks_give_what_the_whole_gives(void **state)
{
    static float x[1000];
    uint32_t whole[1000], pieces[1000];
    struct pbm p = mechanism(20, 0.2, 1);
    struct rng r;

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        x[i] = (float)sin((double)i);
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    pbm_sample(&p, whole, x, 1000, &r);
    rng_rekey(&r, KEY);
    for (size_t at = 0, take; at < 1000; at += take) {
        take = at + 96 <= 1000 ? 96 : 1000 - at;
        pbm_sample(&p, pieces + at, x + at, take, &r);
    }
    assert_memory_equal(whole, pieces, sizeof whole);
    rng_deinit(&r);
}

static void test_sampling_allocates_nothing(void **state)
{
    static float x[5000];
    static uint32_t q[5000];
    struct pbm p = mechanism(64, 0.25, 1);
    struct rng r;
    uint64_t before;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    before = mem_count();
    pbm_sample(&p, q, x, 5000, &r);
    assert_true(mem_count() == before);
    rng_deinit(&r);
}

struct call {
    struct pbm p;
    float x[40];
    uint32_t q[40];
    struct rng r;
};

static void sample(void *arg)
{
    struct call *c = arg;

    pbm_sample(&c->p, c->q, c->x, 40, &c->r);
}

static void test_value_that_is_not_finite_counts_as_nought_and_aborts_nothing(void **state)
{
    static const float strange[] = {NAN, -NAN, INFINITY, -INFINITY};
    uint32_t want[40];
    static struct call c;

    (void)state;
    c.p = mechanism(4, 0.25, 1);
    assert_int_equal(rng_init_key(&c.r, KEY), STATUS_OK);
    sample(&c);
    memcpy(want, c.q, sizeof want);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 40; k += 39) {
            c.x[k] = strange[i];
            rng_rekey(&c.r, KEY);
            sample(&c);
            assert_memory_equal(c.q, want, sizeof want);
            c.x[k] = 0;
        }
    }
    c.x[39] = 1; /* the comparison could have failed */
    rng_rekey(&c.r, KEY);
    sample(&c);
    assert_memory_not_equal(c.q, want, sizeof want);
    rng_deinit(&c.r);
}

/* --- the estimate
 * ---------------------------------------------------------------------------------- */

static void test_estimate_is_clip_over_beta_b_times_the_centred_sum(void **state)
{
    struct pbm p = mechanism(16, 0.25, 2);
    const uint32_t q[3] = {24, 48, 0};
    float out[3];

    (void)state;
    pbm_estimate(&p, out, q, 3, 3);
    assert_true(out[0] == 0.0F);
    assert_true(out[1] == 12.0F); /* 2 / (1/4 16) (48 - 24) */
    assert_true(out[2] == -12.0F);
}

/* Theorem 2.3: unbiased, variance at most C^2 M / (4 beta^2 b). */
static void test_estimate_is_unbiased_with_the_variance_of_the_theorem(void **state)
{
    static float x[SAMPLES];
    static uint32_t q[SAMPLES];
    const double c = 2.0, beta = 0.2, b = 32;
    struct pbm p = mechanism(32, beta, c);
    double sum = 0, squares = 0, most = c * c / (4 * beta * beta * b), t;
    struct rng r;

    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        x[i] = 0.7F;
    t = pbm_threshold(&p, 0.7F) / 65536.0;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    pbm_sample(&p, q, x, SAMPLES, &r);
    rng_deinit(&r);
    for (size_t i = 0; i < SAMPLES; i++) {
        float estimate;

        pbm_estimate(&p, &estimate, &q[i], 1, 1);
        sum += (double)estimate - 0.7;
        squares += pow((double)estimate - 0.7, 2);
    }
    assert_true(fabs(sum / SAMPLES) < 4.5 * sqrt(most / SAMPLES));
    assert_true(squares / SAMPLES < most);
    /* Exactly 4 t (1 - t) of that bound. */
    assert_true(fabs(squares / SAMPLES / most / (4 * t * (1 - t)) - 1) < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_out_of_range_are_refused),
        cmocka_unit_test(test_thresholds_stay_within_half_plus_minus_beta),
        cmocka_unit_test(test_threshold_is_the_nearest_multiple_of_2_to_the_minus_16),
        cmocka_unit_test(test_a_gain_stays_within_the_bounds_and_leaves_the_middle),
        cmocka_unit_test(test_codes_are_binomial_at_the_threshold),
        cmocka_unit_test(test_the_statistic_sees_a_biased_coin),
        cmocka_unit_test(test_codes_of_different_elements_do_not_go_together),
        cmocka_unit_test(test_stream_bytes_taken_depend_on_n_and_b_alone),
        cmocka_unit_test(test_pieces_of_whole_blocks_give_what_the_whole_gives),
        cmocka_unit_test(test_sampling_allocates_nothing),
        cmocka_unit_test(test_value_that_is_not_finite_counts_as_nought_and_aborts_nothing),
        cmocka_unit_test(test_estimate_is_clip_over_beta_b_times_the_centred_sum),
        cmocka_unit_test(test_estimate_is_unbiased_with_the_variance_of_the_theorem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
