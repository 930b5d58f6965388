/* test_gauss.c -- the exact law of a draw, what it uses of the stream, and its tail.
 *
 * Statistics are of keyed streams, so they are the same in every run; beside each stands a wrong
 * law that the same statistic rejects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss.h"

#include "common/base/mem.h"
#include "common/gauss/gauss_table.h"
#include "tests/lib/aborts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { SAMPLES = 200000 };

static const uint8_t KEY[RNG_KEY_BYTES] = "the discrete Gaussian";
static const double sigmas[] = {4, 16, 64.5, 1000};

enum { SIGMAS = sizeof sigmas / sizeof sigmas[0] };

static struct gauss drawn_with(double sigma)
{
    struct gauss g;

    assert_int_equal(gauss_init(&g, sigma), STATUS_OK);
    return g;
}

static void test_a_sigma_out_of_range_is_refused(void **state)
{
    struct gauss g;

    (void)state;
    assert_int_equal(gauss_init(&g, GAUSS_SIGMA_MIN), STATUS_OK);
    assert_int_equal(gauss_init(&g, GAUSS_SIGMA_MAX), STATUS_OK);
    assert_int_equal(gauss_init(&g, nextafter(GAUSS_SIGMA_MIN, 0)), STATUS_CONFIG);
    assert_int_equal(gauss_init(&g, nextafter(GAUSS_SIGMA_MAX, 1e300)), STATUS_CONFIG);
    assert_int_equal(gauss_init(&g, 0), STATUS_CONFIG);
    assert_int_equal(gauss_init(&g, -16), STATUS_CONFIG);
    assert_int_equal(gauss_init(&g, (double)NAN), STATUS_CONFIG);
    assert_int_equal(gauss_init(&g, (double)INFINITY), STATUS_CONFIG);
}

static void sample_one(void *g)
{
    int32_t z[1];

    gauss_sample(g, z, 1, NULL);
}

static void test_sampling_without_init_aborts(void **state)
{
    struct gauss g = {0};

    (void)state;
    assert_true(aborts(sample_one, &g));
    g = drawn_with(4);
    gauss_deinit(&g);
    assert_true(aborts(sample_one, &g));
}

/* Over the whole range: enough entries for the tail, whatever the words are nothing overflows, the
 * parts make up sigma, and the distance is what is promised. */
static void test_every_sigma_is_made_of_tables_that_reach_far_enough(void **state)
{
    (void)state;
    for (double sigma = GAUSS_SIGMA_MIN; sigma <= GAUSS_SIGMA_MAX; sigma *= 1.0007) {
        const struct gauss g = drawn_with(sigma);
        double squares = 0, sum = 0, s;

        for (uint32_t i = 0; i < g.draws; i++) {
            squares += (double)g.factor[i] * g.factor[i];
            sum += g.factor[i];
        }
        s = sigma / sqrt(squares); /* of a table */
        assert_true(s >= 4);
        assert_true(g.entries < GAUSS_ENTRIES);
        assert_true(1 - g.entries * (double)g.entries / (2 * s * s * log(2)) <= -106);
        assert_true(sum * (g.entries - 1) < 0x1p31);
        assert_true(gauss_distance(&g) > 0 && gauss_distance(&g) <= 0x1p-100);
    }
}

/* --- the law ------------------------------------------------------------------------------------
 */

/* P(z), z = -reach .. reach, of the tables' law, for factors[from .. from + n): to long double. */
static void convolve(long double *p, long reach, const struct gauss *g)
{
    long double *next = mem_alloc((size_t)(2 * reach + 1), sizeof *next);

    assert_non_null(next);
    memset(p, 0, (size_t)(2 * reach + 1) * sizeof *p);
    p[reach] = 1;
    for (uint32_t d = 0; d < g->draws; d++) {
        memset(next, 0, (size_t)(2 * reach + 1) * sizeof *next);
        for (uint32_t m = 0; m < g->entries; m++) {
            const uint64_t before = m > 0 ? gauss_table_entry(g->main, m - 1) : 0;
            const long double w =
                ldexpl((long double)(gauss_table_entry(g->main, m) - before), -GAUSS_WORD_BITS);
            const long shift = (long)m * g->factor[d];

            for (long z = 0; z <= 2 * reach; z++) {
                if (z >= shift)
                    next[z] += w / 2 * p[z - shift];
                if (z + shift <= 2 * reach)
                    next[z] += w / 2 * p[z + shift];
            }
        }
        memcpy(p, next, (size_t)(2 * reach + 1) * sizeof *p);
    }
    mem_free(next);
}

/* The largest difference from e^(-z^2 / 2 sigma^2) / sum within five sigma, relative. */
static double law_error(const struct gauss *g, double sigma)
{
    const long reach = (long)(16 * sigma);
    long double *p = mem_alloc((size_t)(2 * reach + 1), sizeof *p), sum = 0, worst = 0;

    assert_non_null(p);
    convolve(p, reach, g);
    for (long z = -reach; z <= reach; z++)
        sum += expl(-(long double)z * z / (2 * (long double)sigma * sigma));
    for (long z = -(long)(5 * sigma); z <= (long)(5 * sigma); z++) {
        const long double want = expl(-(long double)z * z / (2 * (long double)sigma * sigma)) / sum;

        worst = fmaxl(worst, fabsl(p[z + reach] / want - 1));
    }
    mem_free(p);
    return (double)worst;
}

/* One table, and sums of two and of four draws: what smoothing leaves is out of a long double's
 * sight.  With a k that is too large for sigma it is not. */
static void test_sums_of_table_draws_have_the_law_of_the_whole(void **state)
{
    static const double some[] = {4, 16, 20.8, 21, 33.3, 64.5, 230, 400};
    struct gauss g;

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        g = drawn_with(some[i]);
        assert_true(law_error(&g, some[i]) < 1e-11);
        assert_true(law_error(&g, some[i] * 1.000001) > 1e-7);
    }
    g = drawn_with(64.5);
    g.factor[1] = 17; /* 64.5 = 12.65 sqrt(26); 12.65 sqrt(290) is a sigma beyond what is smooth */
    assert_true(law_error(&g, 64.5 * sqrt(290. / 26)) > 1e-6);
}

/* Pearson's statistic of draws against the law of sigma, in cells of `width` values from -6 sigma
 * to 6 sigma; its distance from the mean in standard deviations. */
static double deviation(const int32_t *z, double sigma)
{
    const long width = (long)ceil(sigma / 12), cells = 2 * (long)(5 * sigma / (double)width) + 1;
    const long low = -(cells * width) / 2;
    double chi = 0, sum = 0, freedom = -1, *expected = mem_alloc((size_t)cells, sizeof *expected);
    uint32_t *seen = mem_alloc((size_t)cells, sizeof *seen);

    assert_non_null(expected);
    assert_non_null(seen);
    memset(seen, 0, (size_t)cells * sizeof *seen);
    for (long v = -(long)(16 * sigma); v <= (long)(16 * sigma); v++)
        sum += exp(-0.5 * (double)v * (double)v / (sigma * sigma));
    for (long c = 0; c < cells; c++) {
        expected[c] = 0;
        for (long v = low + c * width; v < low + (c + 1) * width; v++)
            expected[c] += SAMPLES * exp(-0.5 * (double)v * (double)v / (sigma * sigma)) / sum;
    }
    for (long i = 0; i < SAMPLES; i++) {
        const long c = z[i] >= low ? (z[i] - low) / width : cells;

        if (c < cells)
            seen[c]++;
    }
    for (long c = 0; c < cells; c++) {
        if (expected[c] < 10)
            continue;
        chi += (seen[c] - expected[c]) * (seen[c] - expected[c]) / expected[c];
        freedom++;
    }
    mem_free(expected);
    mem_free(seen);
    return (chi - freedom) / sqrt(2 * freedom);
}

static void test_draws_follow_the_law(void **state)
{
    int32_t *z = mem_alloc(SAMPLES, sizeof *z);
    struct rng r;

    (void)state;
    assert_non_null(z);
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t i = 0; i < SIGMAS; i++) {
        const struct gauss g = drawn_with(sigmas[i]);

        gauss_sample(&g, z, SAMPLES, &r);
        assert_true(fabs(deviation(z, sigmas[i])) < 4);
        assert_true(deviation(z, sigmas[i] * 1.04) > 6);
    }
    rng_deinit(&r);
    mem_free(z);
}

/* Mean, skewness and the halves, each within five of its standard deviations. */
static void test_draws_are_symmetric(void **state)
{
    int32_t *z = mem_alloc(SAMPLES, sizeof *z);
    struct rng r;

    (void)state;
    assert_non_null(z);
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t i = 0; i < SIGMAS; i++) {
        const struct gauss g = drawn_with(sigmas[i]);
        double first = 0, third = 0, sides = 0;

        gauss_sample(&g, z, SAMPLES, &r);
        for (size_t k = 0; k < SAMPLES; k++) {
            const double x = z[k] / sigmas[i];

            first += x;
            third += x * x * x;
            sides += (x > 0) - (x < 0);
        }
        assert_true(fabs(first) < 5 * sqrt(SAMPLES));
        assert_true(fabs(third) < 5 * sqrt(15.0 * SAMPLES));
        assert_true(fabs(sides) < 5 * sqrt(SAMPLES));
    }
    rng_deinit(&r);
    mem_free(z);
}

/* --- the stream ---------------------------------------------------------------------------------
 */

/* How many bytes of the stream are used is a function of n and sigma, and of nothing drawn. */
static void test_what_is_used_of_the_stream_depends_on_n_alone(void **state)
{
    static const size_t ns[] = {0, 1, 15, 16, 17, 31, 32, 100, 1000, 5000};
    uint8_t key[RNG_KEY_BYTES] = "consumption";
    static int32_t z[5000];
    struct rng r, other;

    (void)state;
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    assert_int_equal(rng_init_key(&other, key), STATUS_OK);
    for (size_t i = 0; i < SIGMAS; i++) {
        const struct gauss g = drawn_with(sigmas[i]);

        for (size_t a = 0; a < sizeof ns / sizeof ns[0]; a++) {
            for (uint8_t k = 0; k < 20; k++) {
                key[31] = k;
                rng_rekey(&r, key);
                rng_rekey(&other, key);
                gauss_sample(&g, z, ns[a], &r);
                for (size_t w = 0; w < (ns[a] + 15) / 16 * 32 * g.draws; w++)
                    (void)rng_u64(&other);
                assert_true(rng_u64(&r) == rng_u64(&other));
            }
        }
    }
    rng_deinit(&r);
    rng_deinit(&other);
}

/* Seeded runs depend on it. */
static void test_draws_of_a_known_key(void **state)
{
    static const int32_t want[SIGMAS][8] = {
        {5, -3, -1, -4, 7, 7, -3, 3},
        {18, -13, -4, -15, 27, 27, -12, 11},
        {114, -45, -39, -52, -79, 21, -135, -56},
        {-767, 31, -2011, 47, 2684, -318, -1028, -894},
    };
    int32_t z[8];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t i = 0; i < SIGMAS; i++) {
        const struct gauss g = drawn_with(sigmas[i]);

        rng_rekey(&r, KEY);
        gauss_sample(&g, z, 8, &r);
        for (size_t k = 0; k < 8; k++)
            assert_int_equal(z[k], want[i][k]);
    }
    rng_deinit(&r);
}

/* --- the tail -----------------------------------------------------------------------------------
 */

static void test_sums_stay_within_their_tail(void **state)
{
    enum { PARTIES = 5, SUMS = SAMPLES / PARTIES };
    int32_t *z = mem_alloc(SAMPLES, sizeof *z);
    struct rng r;

    (void)state;
    assert_non_null(z);
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t i = 0; i < SIGMAS; i++) {
        const struct gauss g = drawn_with(sigmas[i]);
        /* P(|S| > t) <= 2 e^(-t^2 / (2 n sigma^2)) = 2^-4 (Canonne, Kamath and Steinke 2020). */
        const int64_t t = (int64_t)ceil(sigmas[i] * sqrt(2 * PARTIES * log(2) * 5));
        long beyond = 0, half = 0;

        gauss_sample(&g, z, SAMPLES, &r);
        for (size_t k = 0; k < SAMPLES; k += PARTIES) {
            const int64_t sum = (int64_t)z[k] + z[k + 1] + z[k + 2] + z[k + 3] + z[k + 4];

            beyond += llabs(sum) > t;
            half += llabs(sum) > t / 2;
        }
        assert_true(beyond <= SUMS / 16);
        assert_true(half > SUMS / 16);
    }
    rng_deinit(&r);
    mem_free(z);
}

/* Mironov 2012.  Noise in float32 on a value reaches some floats and not others, and which these
 * are depends on the value: could y, released for one value, have been released for b?  Only if
 * some float next to the noise that it takes leads there. */
static bool could_be_of(float b, float y)
{
    float noise = y - b;

    for (int k = 0; k < 4; k++)
        noise = nextafterf(noise, -INFINITY);
    for (int k = 0; k < 9; k++, noise = nextafterf(noise, INFINITY)) {
        if (b + noise == y)
            return true;
    }
    return false;
}

static void test_noise_in_floating_point_shows_what_is_under_it(void **state)
{
    const float a = 0.3F, b = -0.7F, sigma = 2;
    size_t certain = 0;
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t k = 0; k < SAMPLES / 10; k++) {
        const float y = a + sigma * (float)rng_normal(&r);

        assert_true(could_be_of(a, y));
        certain += !could_be_of(b, y);
    }
    print_message("%zu of %d floats show the value with certainty\n", certain, SAMPLES / 10);
    assert_true(certain > SAMPLES / 10 / 50);
    rng_deinit(&r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sigma_out_of_range_is_refused),
        cmocka_unit_test(test_sampling_without_init_aborts),
        cmocka_unit_test(test_every_sigma_is_made_of_tables_that_reach_far_enough),
        cmocka_unit_test(test_sums_of_table_draws_have_the_law_of_the_whole),
        cmocka_unit_test(test_draws_follow_the_law),
        cmocka_unit_test(test_draws_are_symmetric),
        cmocka_unit_test(test_what_is_used_of_the_stream_depends_on_n_alone),
        cmocka_unit_test(test_draws_of_a_known_key),
        cmocka_unit_test(test_sums_stay_within_their_tail),
        cmocka_unit_test(test_noise_in_floating_point_shows_what_is_under_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
