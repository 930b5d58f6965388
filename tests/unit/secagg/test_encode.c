/* test_encode.c -- from plans to encodings, codes and estimates.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/secagg/gaussian.h"
#include "tests/lib/aborts.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { N = 40000 };

static const uint8_t KEY[RNG_KEY_BYTES] = "encodings";

static struct plan plan_of(enum plan_encoding encoding)
{
    struct plan p;

    plan_defaults(&p);
    p.protocol.encoding = encoding;
    p.protocol.clip = 2.0;
    p.protocol.pbm.trials = 16;
    p.protocol.pbm.beta = 0.2;
    p.protocol.fixed.bits = 8;
    p.model.embedding = 16;
    p.privacy.delta = 1e-5;
    return p;
}

static struct encode encoding(const struct plan *p, uint32_t parties)
{
    struct encode e;

    assert_int_equal(encode_init(&e, p, parties), STATUS_OK);
    return e;
}

static void test_plan_gives_kind_and_largest_code(void **state)
{
    struct plan p = plan_of(ENCODING_PBM);
    struct encode e = encoding(&p, 5);

    (void)state;
    assert_true(e.integers);
    assert_int_equal(e.value_max, 16);
    assert_int_equal(e.pbm.trials, 16);
    p = plan_of(ENCODING_FIXED);
    e = encoding(&p, 5);
    assert_true(e.integers);
    assert_int_equal(e.value_max, 255);
    p = plan_of(ENCODING_FLOAT32);
    e = encoding(&p, 5);
    assert_false(e.integers);
    assert_true(e.sigma == 0.0F && encode_float_max(&e) == 2.0F);
}

static void test_only_compressors_give_bytes_and_only_pbm_and_gaussian_noise(void **state)
{
    (void)state;
    for (int k = 0; k <= ENCODING_TOPK; k++) {
        struct plan p = plan_of((enum plan_encoding)k);
        struct encode e;

        p.protocol.bits = 3;
        e = encoding(&p, 5);
        assert_int_equal(e.compressed, plan_compresses(&p));
        assert_int_equal(encode_noisy(&e), k == ENCODING_PBM || k == ENCODING_GAUSSIAN);
        if (!e.compressed)
            continue;
        assert_false(e.integers);
        assert_int_equal(e.compress.kind, k);
        assert_int_equal(e.compress.bits, 3);
        assert_true(encode_float_max(&e) == 2.0F);
    }
}

static void test_plans_out_of_range_are_refused(void **state)
{
    struct plan p = plan_of(ENCODING_PBM);
    struct encode e;

    (void)state;
    p.protocol.pbm.beta = 0.5;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p = plan_of(ENCODING_FLOAT32);
    assert_int_equal(encode_init(&e, &p, 0), STATUS_CONFIG);
    p.protocol.clip = 0;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.clip = 1e39; /* no float */
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.clip = (double)NAN;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p = plan_of(ENCODING_FIXED);
    p.protocol.fixed.bits = 25;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.fixed.bits = 0;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p = plan_of(ENCODING_GAUSSIAN);
    p.protocol.gaussian.match = GAUSSIAN_EPSILON;
    p.protocol.gaussian.epsilon = 0;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.gaussian.match = GAUSSIAN_SIGMA;
    p.protocol.gaussian.sigma = -1;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
}

/* --- fixed
 * ----------------------------------------------------------------------------------------- */

static void test_fixed_takes_the_nearest_of_equal_steps(void **state)
{
    struct plan p = plan_of(ENCODING_FIXED);
    struct encode e = encoding(&p, 5);
    const float x[7] = {-2, 2, -5, 5, 0, 2.0F - 0.49F * 4 / 255, 2.0F - 0.51F * 4 / 255};
    const uint32_t want[7] = {0, 255, 0, 255, 128, 255, 254}; /* 0 lies half way: up */
    uint32_t q[7];

    (void)state;
    encode_integers(&e, q, x, 7, NULL);
    assert_memory_equal(q, want, sizeof q);
    for (int i = -2000; i <= 2000; i++) {
        float v = (float)i / 1000.0F;
        double exact = ((double)v + 2) / 4 * 255;

        encode_integers(&e, q, &v, 1, NULL);
        assert_true(fabs(q[0] - exact) <= 0.5 + 1e-9);
    }
}

static void test_fixed_sum_is_read_back_within_half_a_step_each(void **state)
{
    static const uint32_t bits[] = {1, 2, 8, 16, 24};
    enum { M = 7 };

    (void)state;
    for (size_t k = 0; k < sizeof bits / sizeof bits[0]; k++) {
        struct plan p = plan_of(ENCODING_FIXED);
        struct encode e;
        uint32_t q, q_sum = 0;
        double sum = 0, step;
        float out;

        p.protocol.fixed.bits = bits[k];
        e = encoding(&p, M);
        step = 4.0 / e.value_max;
        for (int m = 0; m < M; m++) {
            float x = (float)(1.9 * sin(m + 1.0));

            encode_integers(&e, &q, &x, 1, NULL);
            q_sum += q;
            sum += (double)x;
        }
        encode_estimate(&e, &out, &q_sum, 1, M);
        assert_true(fabs((double)out - sum) <= M * step / 2 + 1e-5);
    }
}

static void test_estimate_reads_the_ends_of_the_scale(void **state)
{
    struct plan p = plan_of(ENCODING_FIXED);
    struct encode e = encoding(&p, 3);
    const uint32_t q[2] = {0, 3 * 255};
    float out[2];

    (void)state;
    encode_estimate(&e, out, q, 2, 3);
    assert_true(out[0] == -6.0F);
    assert_true(fabs((double)out[1] - 6) < 1e-6);
}

/* --- pbm
 * ------------------------------------------------------------------------------------------- */

static void test_pbm_is_the_mechanism_itself(void **state)
{
    struct plan p = plan_of(ENCODING_PBM);
    struct encode e = encoding(&p, 5);
    float x[100], a[100], b[100];
    uint32_t q[100], want[100];
    struct rng r;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        x[i] = (float)(2.5 * sin((double)i));
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    encode_integers(&e, q, x, 100, &r);
    rng_rekey(&r, KEY);
    pbm_sample(&e.pbm, want, x, 100, &r);
    rng_deinit(&r);
    assert_memory_equal(q, want, sizeof q);
    encode_estimate(&e, a, q, 100, 1);
    pbm_estimate(&e.pbm, b, q, 100, 1);
    assert_memory_equal(a, b, sizeof a);
    assert_true(e.pbm.clip == 2.0 && e.pbm.beta == 0.2);
}

/* --- floats
 * ---------------------------------------------------------------------------------------- */

static void test_float32_is_the_clipped_value(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32);
    struct encode e = encoding(&p, 5);
    const float x[5] = {0.1F, -2, 2.5F, -FLT_MAX, FLT_MIN}, want[5] = {0.1F, -2, 2, -2, FLT_MIN};
    float y[5];

    (void)state;
    encode_floats(&e, y, x, 5, NULL);
    assert_memory_equal(y, want, sizeof y);
}

static void expect_sigma(const struct plan *p, double want)
{
    struct encode e = encoding(p, 5);

    assert_true(fabs((double)e.sigma - want) <= 1e-6 * want);
}

static void test_gaussian_takes_its_noise_from_what_the_plan_matches(void **state)
{
    struct plan p = plan_of(ENCODING_GAUSSIAN);

    (void)state;
    p.protocol.gaussian.match = GAUSSIAN_PAPER;
    expect_sigma(&p, sqrt(2 * 5 * 4 / (16 * 0.04)));
    p.protocol.gaussian.match = GAUSSIAN_EQUAL_RDP;
    expect_sigma(&p, sqrt(5 * 4 * (1 - 0.16) / (4 * 16 * 0.04)));
    p.protocol.gaussian.match = GAUSSIAN_SIGMA;
    p.protocol.gaussian.sigma = 0.7;
    expect_sigma(&p, 0.7);
    p.protocol.gaussian.match = GAUSSIAN_EPSILON;
    p.protocol.gaussian.epsilon = 1;
    expect_sigma(&p, 16 * 3.730632); /* sensitivity 2 C sqrt(P) = 16 */
}

/* Mean and variance of the added noise, and that values are clipped before it is added. */
static void test_gaussian_noise_has_the_plans_variance(void **state)
{
    static float x[N], y[N];
    struct plan p = plan_of(ENCODING_GAUSSIAN);
    struct encode e;
    double sum = 0, squares = 0;
    struct rng r;

    (void)state;
    p.protocol.gaussian.match = GAUSSIAN_SIGMA;
    p.protocol.gaussian.sigma = 3.0;
    e = encoding(&p, 5);
    for (size_t i = 0; i < N; i++)
        x[i] = 100;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    encode_floats(&e, y, x, N, &r);
    rng_deinit(&r);
    for (size_t i = 0; i < N; i++) {
        assert_true(fabsf(y[i]) <= encode_float_max(&e));
        sum += (double)y[i] - 2;
        squares += pow((double)y[i] - 2, 2);
    }
    assert_true(fabs(sum / N) < 4.5 * 3 / sqrt(N));
    assert_true(fabs(squares / N / 9 - 1) < 4.5 * sqrt(2.0 / N));
}

/* --- misuse
 * ---------------------------------------------------------------------------------------- */

static void integers_of_floats(void *arg)
{
    float x = 0;
    uint32_t q;

    encode_integers(arg, &q, &x, 1, NULL);
}

static void floats_of_integers(void *arg)
{
    float x = 0, y;

    encode_floats(arg, &y, &x, 1, NULL);
}

static void test_wrong_kind_is_a_programmers_mistake(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32), q = plan_of(ENCODING_FIXED);
    struct encode e = encoding(&p, 5), f = encoding(&q, 5);

    (void)state;
    assert_true(aborts(integers_of_floats, &e));
    assert_false(aborts(integers_of_floats, &f));
    assert_true(aborts(floats_of_integers, &f));
    assert_false(aborts(floats_of_integers, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_gives_kind_and_largest_code),
        cmocka_unit_test(test_only_compressors_give_bytes_and_only_pbm_and_gaussian_noise),
        cmocka_unit_test(test_plans_out_of_range_are_refused),
        cmocka_unit_test(test_fixed_takes_the_nearest_of_equal_steps),
        cmocka_unit_test(test_fixed_sum_is_read_back_within_half_a_step_each),
        cmocka_unit_test(test_estimate_reads_the_ends_of_the_scale),
        cmocka_unit_test(test_pbm_is_the_mechanism_itself),
        cmocka_unit_test(test_float32_is_the_clipped_value),
        cmocka_unit_test(test_gaussian_takes_its_noise_from_what_the_plan_matches),
        cmocka_unit_test(test_gaussian_noise_has_the_plans_variance),
        cmocka_unit_test(test_wrong_kind_is_a_programmers_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
