/* test_encode.c -- from plans to encodings, codes and estimates.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/encode.h"

#include "common/config/encoding.h"
#include "common/secagg/encode_ops.h"
#include "common/config/plan_noise.h"
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
    assert_true(e.clip == 2.0F && e.sum_bits == 0);
    p = plan_of(ENCODING_GAUSSIAN);
    e = encoding(&p, 5);
    assert_true(e.integers && e.residues && e.step == 0.125);
    assert_int_equal(e.sum_bits, encoding_sum_bits(&p, 5));
}

static void test_only_compressors_give_bytes_and_only_pbm_and_gaussian_noise(void **state)
{
    (void)state;
    for (int k = 0; k < PLAN_ENCODINGS; k++) {
        struct plan p = plan_of((enum plan_encoding)k);
        struct encode e;

        p.protocol.bits = 3;
        e = encoding(&p, 5);
        assert_int_equal(e.compressed, plan_compresses(&p));
        assert_int_equal(e.noisy, k == ENCODING_PBM || k == ENCODING_GAUSSIAN);
        if (!e.compressed)
            continue;
        assert_false(e.integers);
        assert_int_equal(e.compress.kind, k);
        assert_int_equal(e.compress.bits, 3);
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
    p.protocol.gaussian.sigma = 1e-300; /* which is 0 as a float */
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.gaussian.sigma = nextafter(0.5, 0); /* 4 steps, nearly */
    assert_int_equal(encode_init(&e, &p, 5), STATUS_CONFIG);
    p.protocol.gaussian.sigma = 0.5;
    assert_int_equal(encode_init(&e, &p, 5), STATUS_OK);
    p.protocol.gaussian.sigma = (double)NAN;
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

static void test_a_gain_is_in_the_codes_and_not_in_the_price(void **state)
{
    struct plan p = plan_of(ENCODING_PBM);
    struct account_entry bare = {0}, steep = {0};
    float x[2000], estimate[2000];
    struct encode e = encoding(&p, 1);
    uint32_t q[2000];
    double sum = 0;
    struct rng r;

    (void)state;
    encode_price(&e, &bare);
    p.protocol.pbm.gain = 10;
    e = encoding(&p, 1);
    encode_price(&e, &steep);
    assert_memory_equal(&bare, &steep, sizeof bare);
    for (size_t i = 0; i < 2000; i++)
        x[i] = 0.1F; /* of C = 2: with this gain 1 */
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    encode_integers(&e, q, x, 2000, &r);
    rng_deinit(&r);
    encode_estimate(&e, estimate, q, 2000, 1);
    for (size_t i = 0; i < 2000; i++)
        sum += estimate[i];
    assert_true(fabs(sum / 2000 - 1.0) < 0.2);
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
    encode_clip(&e, y, x, 5);
    assert_memory_equal(y, want, sizeof y);
}

/* --- gaussian
 * -------------------------------------------------------------------------------------- */

static struct encode gaussian(double sigma, uint32_t levels)
{
    struct plan p = plan_of(ENCODING_GAUSSIAN);

    p.protocol.gaussian.match = GAUSSIAN_SIGMA;
    p.protocol.gaussian.sigma = sigma;
    p.protocol.gaussian.levels = levels;
    return encoding(&p, 5);
}

static void codes_of(const struct encode *e, uint32_t *q, const float *x, size_t n, uint64_t number)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng r;

    rng_seed_key(key, 1, 0, "noise", number);
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    encode_integers(e, q, x, n, &r);
    rng_deinit(&r);
}

/* What is left of a code without its draw is the nearest point of the grid, which C is on. */
static void test_gaussian_is_the_nearest_step_and_a_draw(void **state)
{
    static const uint32_t levels[] = {16, 17, 1000, 1 << 16};
    static float x[N];
    static uint32_t q[N];
    static int32_t z[N];

    (void)state;
    for (size_t k = 0; k < sizeof levels / sizeof levels[0]; k++) {
        const struct encode e = gaussian(3, levels[k]);
        const double top = levels[k];
        uint8_t key[RNG_KEY_BYTES];
        struct rng r;

        for (size_t i = 0; i < N; i++)
            x[i] = (float)(2.2 * sin((double)i));
        x[0] = 2;
        x[1] = -2;
        x[2] = 1e30F;
        x[3] = -1e30F;
        x[4] = 0;
        codes_of(&e, q, x, N, k);
        rng_seed_key(key, 1, 0, "noise", k);
        assert_int_equal(rng_init_key(&r, key), STATUS_OK);
        for (size_t at = 0; at < N; at += ENCODE_BLOCK)
            gauss_sample(&e.gauss, z + at, N - at < ENCODE_BLOCK ? N - at : ENCODE_BLOCK, &r);
        rng_deinit(&r);
        for (size_t i = 0; i < N; i++) {
            const double code = (double)((int32_t)q[i] - z[i]);
            const double exact = fmax(-top, fmin(top, (double)x[i] * top / 2));

            assert_true(fabs(code - exact) <= 0.5 + 1e-9 * top);
            assert_true(code == floor(code) && fabs(code) <= top);
        }
        assert_true((int32_t)q[0] - z[0] == (int32_t)top && (int32_t)q[1] - z[1] == -(int32_t)top);
        assert_true((int32_t)q[4] == z[4]);
    }
}

static void test_blocks_one_after_the_other_are_one_run(void **state)
{
    const struct encode e = gaussian(3, 16);
    static float x[N];
    static uint32_t whole[N], parts[N];
    uint8_t key[RNG_KEY_BYTES];
    struct rng r;

    (void)state;
    codes_of(&e, whole, x, N, 0);
    rng_seed_key(key, 1, 0, "noise", 0);
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    for (size_t at = 0, k = 1; at < N; at += k++ * ENCODE_BLOCK)
        encode_integers(&e, parts + at, x + at,
                        N - at < k * ENCODE_BLOCK ? N - at : k * ENCODE_BLOCK, &r);
    rng_deinit(&r);
    assert_memory_equal(whole, parts, sizeof whole);
}

/* Mean and variance of a release, and that values are clipped before it. */
static void test_gaussian_noise_has_the_plans_variance(void **state)
{
    static float x[N], y[N];
    static uint32_t q[N];
    const struct encode e = gaussian(3, 16);
    double sum = 0, squares = 0;

    (void)state;
    assert_true(e.sigma == 3);
    for (size_t i = 0; i < N; i++)
        x[i] = 100;
    codes_of(&e, q, x, N, 0);
    encode_estimate(&e, y, q, N, 1);
    for (size_t i = 0; i < N; i++) {
        sum += (double)y[i] - 2;
        squares += pow((double)y[i] - 2, 2);
    }
    assert_true(fabs(sum / N) < 4.5 * 3 / sqrt(N));
    assert_true(fabs(squares / N / 9 - 1) < 4.5 * sqrt(2.0 / N));
}

/* Of continuous noise in floating point the low bits told 0 from C with certainty in one release of
 * thirteen (Mironov 2012).  Here a release is a whole number of steps, and what it is modulo 8, or
 * divided by 8, has the same law for both, but for where its middle is. */
static void test_low_bits_say_nothing_of_the_value(void **state)
{
    enum { CELLS = 8 };
    static float x[N], y[N];
    static uint32_t q[N];
    const struct encode e = gaussian(20, 16); /* 160 steps */
    size_t count[3][CELLS] = {{0}};

    (void)state;
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < N; i++)
            x[i] = k == 0 ? 0 : k == 1 ? 2 : 0.3F;
        codes_of(&e, q, x, N, (uint64_t)k);
        encode_estimate(&e, y, q, N, 1);
        for (size_t i = 0; i < N; i++) {
            const double steps = (double)y[i] / e.step;

            assert_true(steps == floor(steps));
            count[k][q[i] % CELLS]++;
        }
    }
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < CELLS; i++) /* 5000; 5 deviations are 331 */
            assert_true(fabs((double)count[k][i] - N / CELLS) < 331);
}

/* Sums mod 2^w and mod p are the sums of whole numbers. */
static void test_residues_add_up_to_the_sum_of_whole_numbers(void **state)
{
    enum { M = 5, VALUES = 4000 };
    static float x[VALUES], out[VALUES], want[VALUES];
    static uint32_t q[VALUES], sum[VALUES], field[VALUES];
    static uint16_t mod[VALUES];
    const struct encode e = gaussian(3, 16);
    const uint32_t mask = (1U << e.sum_bits) - 1, p = 65521;
    int64_t whole[VALUES] = {0};

    (void)state;
    memset(sum, 0, sizeof sum);
    memset(field, 0, sizeof field);
    for (uint32_t m = 0; m < M; m++) {
        for (size_t i = 0; i < VALUES; i++)
            x[i] = (float)(2.2 * sin((double)(i + 7 * m)));
        codes_of(&e, q, x, VALUES, m);
        encode_mod(mod, q, VALUES, p);
        for (size_t i = 0; i < VALUES; i++) {
            whole[i] += (int32_t)q[i];
            sum[i] = (sum[i] + (q[i] & mask)) & mask;
            field[i] = (field[i] + mod[i]) % p;
        }
    }
    for (size_t i = 0; i < VALUES; i++) {
        want[i] = (float)(e.step * (double)whole[i]);
        mod[i] = (uint16_t)field[i];
    }
    encode_estimate(&e, out, sum, VALUES, M);
    assert_memory_equal(out, want, sizeof out);
    encode_centre(q, mod, VALUES, p);
    encode_estimate(&e, out, q, VALUES, M);
    assert_memory_equal(out, want, sizeof out);
    assert_true(encode_is_sum(&e, sum, VALUES) && encode_is_code(&e, sum, VALUES));
}

static void test_residues_mod_p_are_those_of_division(void **state)
{
    static const uint32_t primes[] = {3, 5, 251, 4099, 65519, 65521};
    static uint32_t q[N], back[N];
    static uint16_t mod[N];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t k = 0; k < sizeof primes / sizeof primes[0]; k++) {
        const int64_t p = primes[k];

        for (size_t i = 0; i < N; i++)
            q[i] = i < 2000   ? (uint32_t)((int64_t)i - 1000)
                   : i < 4000 ? (uint32_t)(p * ((int64_t)i - 3000) + (int64_t)(i % 3) - 1)
                   : i < 4004 ? 0x7fffffffU + (uint32_t)(i % 2)
                              : (uint32_t)rng_u64(&r);
        encode_mod(mod, q, N, (uint32_t)p);
        encode_centre(back, mod, N, (uint32_t)p);
        for (size_t i = 0; i < N; i++) {
            const int64_t code = (int32_t)q[i], rest = (code % p + p) % p;

            assert_int_equal(mod[i], rest);
            assert_true((int32_t)back[i] == (rest > p / 2 ? rest - p : rest));
        }
    }
    rng_deinit(&r);
}

/* --- misuse
 * ---------------------------------------------------------------------------------------- */

static void integers_of_floats(void *arg)
{
    float x = 0;
    uint32_t q;

    encode_integers(arg, &q, &x, 1, NULL);
}

static void test_wrong_kind_is_a_programmers_mistake(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32), q = plan_of(ENCODING_FIXED);
    struct encode e = encoding(&p, 5), f = encoding(&q, 5);

    (void)state;
    assert_true(aborts(integers_of_floats, &e));
    assert_false(aborts(integers_of_floats, &f));
}

static void test_encodings_do_what_their_facts_say(void **state)
{
#define OPS(id, name) [ENCODING_##id] = &encode_##name,
    static const struct encode_ops *const ops[] = {PLAN_ENCODING_LIST(OPS)};
#undef OPS

    (void)state;
    for (int i = 0; i < PLAN_ENCODINGS; i++) {
        const struct encoding *row = encoding_row((enum plan_encoding)i);
        struct account_entry price = {.kind = ACCOUNT_PBM};
        struct encode e;
        struct plan p;

        plan_defaults(&p);
        p.protocol.encoding = (enum plan_encoding)i;
        assert_non_null(ops[i]->init);
        assert_int_equal(row->integers, ops[i]->integers != NULL && ops[i]->estimate != NULL);
        assert_int_equal(row->noisy, ops[i]->price != NULL);
        assert_int_equal(encode_init(&e, &p, 5), STATUS_OK);
        encode_price(&e, &price);
        assert_int_equal(row->noisy, price.kind != ACCOUNT_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings_do_what_their_facts_say),
        cmocka_unit_test(test_plan_gives_kind_and_largest_code),
        cmocka_unit_test(test_only_compressors_give_bytes_and_only_pbm_and_gaussian_noise),
        cmocka_unit_test(test_plans_out_of_range_are_refused),
        cmocka_unit_test(test_fixed_takes_the_nearest_of_equal_steps),
        cmocka_unit_test(test_fixed_sum_is_read_back_within_half_a_step_each),
        cmocka_unit_test(test_estimate_reads_the_ends_of_the_scale),
        cmocka_unit_test(test_pbm_is_the_mechanism_itself),
        cmocka_unit_test(test_a_gain_is_in_the_codes_and_not_in_the_price),
        cmocka_unit_test(test_float32_is_the_clipped_value),
        cmocka_unit_test(test_gaussian_is_the_nearest_step_and_a_draw),
        cmocka_unit_test(test_blocks_one_after_the_other_are_one_run),
        cmocka_unit_test(test_gaussian_noise_has_the_plans_variance),
        cmocka_unit_test(test_low_bits_say_nothing_of_the_value),
        cmocka_unit_test(test_residues_add_up_to_the_sum_of_whole_numbers),
        cmocka_unit_test(test_residues_mod_p_are_those_of_division),
        cmocka_unit_test(test_wrong_kind_is_a_programmers_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
