/* test_pbm.c -- thresholds, the distribution of codes, which random word serves which trial, the
 * estimate. Draws are from fixed keys, so a test gives the same verdict every time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm.h"

#include "common/base/mem.h"
#include "common/pbm/pbm_kernel.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { VALUES_MAX = 200, DRAWS = 1 << 16 };

static const uint8_t KEY[RNG_KEY_BYTES] = {7, 7, 7};

static struct pbm mechanism(uint32_t trials, double beta, double clip)
{
    struct pbm p;

    assert_int_equal(pbm_init(&p, trials, beta, clip), STATUS_OK);
    return p;
}

static struct rng stream(void)
{
    struct rng r;

    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    return r;
}

static void test_parameters_out_of_range_are_refused(void **state)
{
    struct pbm p;

    (void)state;
    assert_int_equal(pbm_init(&p, 1, 0.25, 1), STATUS_OK);
    assert_int_equal(pbm_init(&p, 1024, 1e-3, 1e-6), STATUS_OK);
    assert_int_equal(pbm_init(&p, 0, 0.25, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 1025, 0.25, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, 0, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, 0.2500001, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, NAN, 1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, 0.25, 0), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, 0.25, -1), STATUS_CONFIG);
    assert_int_equal(pbm_init(&p, 8, 0.25, INFINITY), STATUS_CONFIG);
}

/* --- thresholds ----------------------------------------------------------------------------------
 */

/* The nominal beta bounds the privacy only if no threshold leaves [2^16 (1/2 - beta), 2^16 (1/2 +
 * beta)]. */
static void test_thresholds_stay_inside_beta_whatever_the_value(void **state)
{
    static const double betas[] = {0.25, 0.1, 0.15, 1.0 / 65536, 0.2000001, 1.0 / 3 / 2};
    static const float far[] = {1.0F, 1.0000001F, 2.0F, 1e30F, 3.4e38F};

    (void)state;
    for (size_t k = 0; k < sizeof betas / sizeof betas[0]; k++) {
        struct pbm p = mechanism(16, betas[k], 1);
        double lo = 65536 * (0.5 - betas[k]), hi = 65536 * (0.5 + betas[k]);

        assert_true(p.t_lo >= lo && p.t_lo < lo + 1);
        assert_true(p.t_hi <= hi && p.t_hi > hi - 1);
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
            assert_int_equal(pbm_threshold(&p, far[i]), p.t_hi);
            assert_int_equal(pbm_threshold(&p, -far[i]), p.t_lo);
        }
        assert_int_equal(pbm_threshold(&p, 0.0F), 32768);
    }
}

static void test_thresholds_are_the_nearest_whole_numbers(void **state)
{
    struct pbm p = mechanism(16, 0.2, 2.5);

    (void)state;
    for (int i = -2500; i <= 2500; i++) {
        float x = (float)i / 1000.0F;
        double t = 65536 * (0.5 + 0.2 * (double)x / 2.5);

        t = fmin(fmax(t, p.t_lo), p.t_hi);
        assert_true(fabs(pbm_threshold(&p, x) - t) <= 0.5 + 1e-9);
    }
}

/* --- kernels -------------------------------------------------------------------------------------
 */

static void spread(float *x, size_t n, float reach)
{
    for (size_t i = 0; i < n; i++)
        x[i] = reach * ((float)((i * 2654435761U) % 2001U) / 1000.0F - 1.0F);
}

/* The definition, with the stream taken as one array: block c of 32 begins at row c * b, and
 * element i meets word 32 k + i of the block's rows. */
static void by_the_book(uint32_t *q, const struct pbm *p, const float *x, size_t n)
{
    size_t rows = (n + 31) / 32 * p->trials;
    uint8_t *bytes = mem_alloc(rows, 64);
    struct rng r = stream();

    rng_fill(&r, bytes, rows * 64);
    for (size_t i = 0; i < n; i++) {
        q[i] = 0;
        for (size_t k = 0; k < p->trials; k++) {
            const uint8_t *w = bytes + 2 * (((i / 32) * p->trials + k) * 32 + i % 32);

            q[i] += w[0] + 256U * w[1] < pbm_threshold(p, x[i]);
        }
    }
    rng_deinit(&r);
    mem_free(bytes);
}

static void test_every_kernel_gives_the_codes_of_the_definition(void **state)
{
    static const uint32_t trials[] = {1, 2, 3, 8, 16, 63, 64, 127, 128, 129, 200, 1024};
    static const size_t sizes[] = {0, 1, 31, 32, 33, 64, 100, 200};
    float x[VALUES_MAX];
    uint32_t want[VALUES_MAX], got[VALUES_MAX + 1];
    size_t run = 0;

    (void)state;
    spread(x, VALUES_MAX, 1.2F);
    for (size_t b = 0; b < sizeof trials / sizeof trials[0]; b++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct pbm p = mechanism(trials[b], 0.25, 1);

            by_the_book(want, &p, x, sizes[s]);
            for (size_t k = 0; k < pbm_kernels_n; k++) {
                struct rng r = stream();

                got[sizes[s]] = 12345;
                if (pbm_kernels[k].runs_here()) {
                    pbm_sample_by(&pbm_kernels[k], &p, got, x, sizes[s], &r);
                    if (memcmp(got, want, sizes[s] * sizeof *got) != 0 || got[sizes[s]] != 12345)
                        fail_msg("%s: b = %u, n = %zu", pbm_kernels[k].name, trials[b], sizes[s]);
                    run++;
                }
                rng_deinit(&r);
            }
        }
    assert_true(run >= 2 * sizeof trials / sizeof trials[0] * sizeof sizes / sizeof sizes[0]);
}

static void test_the_chosen_kernel_runs_here_and_samples_alike(void **state)
{
    struct pbm p = mechanism(16, 0.25, 1);
    struct rng r = stream();
    float x[VALUES_MAX];
    uint32_t want[VALUES_MAX], got[VALUES_MAX];

    (void)state;
    assert_true(pbm_kernel_best()->runs_here());
    spread(x, VALUES_MAX, 1);
    by_the_book(want, &p, x, VALUES_MAX);
    pbm_sample(&p, got, x, VALUES_MAX, &r);
    assert_memory_equal(got, want, sizeof got);
    rng_deinit(&r);
}

/* --- consumption ---------------------------------------------------------------------------------
 */

/* The next number of the stream tells how much was read; it must not depend on the values. */
static void test_the_number_of_random_bytes_depends_on_n_and_b_alone(void **state)
{
    static const uint32_t trials[] = {1, 16, 100, 130};
    float x[VALUES_MAX];
    uint32_t q[VALUES_MAX];

    (void)state;
    for (size_t b = 0; b < 4; b++)
        for (size_t n = 1; n <= VALUES_MAX; n += 13) {
            static uint8_t skipped[VALUES_MAX * 130 * 2 + 64 * 130];
            struct pbm p = mechanism(trials[b], 0.25, 1);
            struct rng expected = stream();
            uint64_t next;

            rng_fill(&expected, skipped, (n + 31) / 32 * 64 * trials[b]);
            next = rng_u64(&expected);
            for (int shape = 0; shape < 3; shape++) {
                struct rng r = stream();

                spread(x, n, shape == 0 ? 0.0F : shape == 1 ? 1.0F : 5.0F);
                pbm_sample(&p, q, x, n, &r);
                assert_int_equal(rng_u64(&r), next);
                rng_deinit(&r);
            }
            rng_deinit(&expected);
        }
}

/* --- the law -------------------------------------------------------------------------------------
 */

/* Chi-square of the codes seen against Binomial(b, t / 2^16), cells below 5 expected joined with
 * their neighbours, as standard deviations above its mean. */
static double excess(const uint32_t *seen, uint32_t b, double t)
{
    double expected = 0, sum = 0, cells = 0, got = 0, p = t / 65536;

    for (uint32_t k = 0; k <= b; k++) {
        expected += DRAWS * exp(lgamma(b + 1.0) - lgamma(k + 1.0) - lgamma(b - k + 1.0) +
                                k * log(p) + (b - k) * log1p(-p));
        got += seen[k];
        if (expected < 5 && k < b)
            continue;
        if (expected > 0)
            sum += (got - expected) * (got - expected) / expected;
        cells++;
        expected = got = 0;
    }
    return (sum - (cells - 1)) / sqrt(2 * (cells - 1));
}

static void histogram(uint32_t *seen, const struct pbm *p, float value)
{
    static float x[DRAWS];
    static uint32_t q[DRAWS];
    struct rng r = stream();

    for (size_t i = 0; i < DRAWS; i++)
        x[i] = value;
    pbm_sample(p, q, x, DRAWS, &r);
    memset(seen, 0, (p->trials + 1) * sizeof *seen);
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(q[i] <= p->trials);
        seen[q[i]]++;
    }
    rng_deinit(&r);
}

static void test_codes_are_binomial_at_both_ends_and_in_the_middle(void **state)
{
    static const uint32_t trials[] = {1, 2, 8, 16, 64, 128};
    static const float values[] = {-1.0F, 0.0F, 0.37F, 1.0F, 50.0F};
    uint32_t seen[129];

    (void)state;
    for (size_t b = 0; b < sizeof trials / sizeof trials[0]; b++) {
        struct pbm p = mechanism(trials[b], 0.25, 1);

        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            double e;

            histogram(seen, &p, values[v]);
            e = excess(seen, p.trials, pbm_threshold(&p, values[v]));
            if (fabs(e) > 5)
                fail_msg("b = %u, x = %g: %.1f standard deviations", p.trials, (double)values[v],
                         e);
        }
    }
}

/* The same statistic with a probability that is off by one part in 64 must not pass. */
static void test_the_statistic_sees_a_wrong_probability(void **state)
{
    struct pbm p = mechanism(16, 0.25, 1);
    uint32_t seen[17];

    (void)state;
    histogram(seen, &p, 1.0F);
    assert_true(excess(seen, 16, p.t_hi) < 5);
    assert_true(excess(seen, 16, p.t_hi - 1024.0) > 5);
    assert_true(excess(seen, 16, p.t_lo) > 5);
}

/* Every word is drawn for one element alone: neighbours are not correlated. */
static void test_elements_are_independent(void **state)
{
    static float x[DRAWS];
    static uint32_t q[DRAWS];
    struct pbm p = mechanism(16, 0.25, 1);
    struct rng r = stream();

    (void)state;
    pbm_sample(&p, q, x, DRAWS, &r);
    for (size_t lag = 1; lag <= 64; lag++) {
        double sum = 0;

        for (size_t i = 0; i + lag < DRAWS; i++)
            sum += ((double)q[i] - 8) * ((double)q[i + lag] - 8);
        assert_true(fabs(sum) < 5 * 4 * sqrt((double)(DRAWS - lag))); /* variance of one code: 4 */
    }
    rng_deinit(&r);
}

/* --- the estimate --------------------------------------------------------------------------------
 */

static void test_the_estimate_inverts_the_mean_of_the_sum(void **state)
{
    struct pbm p = mechanism(16, 0.2, 3);
    /* q^ = 5 * 16 / 2 is the middle; one step is C / (beta b) = 3 / 3.2. */
    const uint32_t sums[] = {40, 41, 0, 80};
    float out[4];

    (void)state;
    pbm_estimate(&p, out, sums, 4, 5);
    assert_true(out[0] == 0.0F);
    assert_true(fabsf(out[1] - 0.9375F) < 1e-6F);
    assert_true(fabsf(out[2] + 37.5F) < 1e-5F);
    assert_true(fabsf(out[3] - 37.5F) < 1e-5F);
}

/* Theorem 2.3: unbiased, variance at most C^2 / (4 beta^2 b) for one party. */
static void test_the_estimate_is_unbiased_with_the_variance_of_the_theorem(void **state)
{
    static float x[DRAWS], out[DRAWS];
    static uint32_t q[DRAWS];
    struct pbm p = mechanism(16, 0.25, 1);
    static const float values[] = {-0.9F, -0.2F, 0.0F, 0.55F};
    struct rng r = stream();

    (void)state;
    for (size_t v = 0; v < 4; v++) {
        double mean = 0, variance = 0, bound = 1 / (4 * 0.0625 * 16);

        for (size_t i = 0; i < DRAWS; i++)
            x[i] = values[v];
        pbm_sample(&p, q, x, DRAWS, &r);
        pbm_estimate(&p, out, q, DRAWS, 1);
        for (size_t i = 0; i < DRAWS; i++)
            mean += (double)out[i] / DRAWS;
        for (size_t i = 0; i < DRAWS; i++)
            variance += ((double)out[i] - mean) * ((double)out[i] - mean) / DRAWS;
        assert_true(fabs(mean - (double)values[v]) < 5 * sqrt(bound / DRAWS));
        bound -= (double)(values[v] * values[v]) / 16; /* b p (1 - p) (C / beta b)^2 exactly */
        assert_true(fabs(variance - bound) < 0.03 * bound);
    }
    rng_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_out_of_range_are_refused),
        cmocka_unit_test(test_thresholds_stay_inside_beta_whatever_the_value),
        cmocka_unit_test(test_thresholds_are_the_nearest_whole_numbers),
        cmocka_unit_test(test_every_kernel_gives_the_codes_of_the_definition),
        cmocka_unit_test(test_the_chosen_kernel_runs_here_and_samples_alike),
        cmocka_unit_test(test_the_number_of_random_bytes_depends_on_n_and_b_alone),
        cmocka_unit_test(test_codes_are_binomial_at_both_ends_and_in_the_middle),
        cmocka_unit_test(test_the_statistic_sees_a_wrong_probability),
        cmocka_unit_test(test_elements_are_independent),
        cmocka_unit_test(test_the_estimate_inverts_the_mean_of_the_sum),
        cmocka_unit_test(test_the_estimate_is_unbiased_with_the_variance_of_the_theorem),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
