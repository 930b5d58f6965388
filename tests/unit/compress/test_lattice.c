/* test_lattice.c -- payloads there and back: how far off, right on average, and what is refused.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice.h"

#include "tests/unit/compress/chance.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N_MAX = 3 * 4096 + 13, KINDS = 3 };

static float x[N_MAX], y[N_MAX + 1];
static uint8_t payload[4 + N_MAX + 8];

static enum plan_encoding kind_of(int k)
{
    return (enum plan_encoding)(ENCODING_SCALAR + k);
}

static double covering_of(enum plan_encoding kind)
{
    return kind == ENCODING_SCALAR ? 0.5 : kind == ENCODING_LATTICE ? 1 / sqrt(3) : 1;
}

/* A scale at which no x in [-1, 1] overloads. */
static struct lattice_fit roomy(enum plan_encoding kind, uint32_t bits, bool square)
{
    static const double packing[KINDS] = {0.5, 0.5, 0.70710678};
    const double size = ldexp(1, (int)bits), d = lattice_dims(kind);
    const double ball = size * packing[kind - ENCODING_SCALAR] - covering_of(kind);
    /* Half the shorter side of the box of A2 is at least 0.86 of 2^b / 2. */
    const double box = size / 2 * (kind == ENCODING_LATTICE ? 0.86 : 1) - covering_of(kind);

    return (struct lattice_fit){kind, bits, square && kind != ENCODING_SCALAR,
                                (float)(1.01 / (square ? box : ball / sqrt(d)))};
}

static void far_off_at_most(enum plan_encoding kind, size_t n, float scale)
{
    const size_t d = lattice_dims(kind);

    for (size_t at = 0; at < n; at += d) {
        double sum = 0;

        for (size_t i = at; i < at + d && i < n; i++)
            sum += pow((double)x[i] - (double)y[i], 2);
        assert_true(sqrt(sum) <= 1.001 * covering_of(kind) * (double)scale);
    }
}

static void test_without_overload_no_block_is_off_by_more_than_the_covering_radius(void **state)
{
    static const size_t ns[] = {1, 2, 7, 8, 9, 255, 512, 513, 1600, 4096, 4097, 8192, N_MAX};
    uint8_t key[32] = {9};

    (void)state;
    for (size_t i = 0; i < N_MAX; i++)
        x[i] = (float)(2 * rng_uniform(&chance) - 1);
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++)
            for (int s = 0; s < 2; s++)
                for (size_t w = 0; w < sizeof ns / sizeof ns[0]; w++) {
                    const struct lattice_fit fit = roomy(kind_of(k), bits, s != 0);
                    const size_t bytes = lattice_bytes(kind_of(k), bits, ns[w]);

                    if (fit.scale <= 0 || !isfinite(fit.scale))
                        continue; /* E8 in a box at 1 bit: there is no such scale */
                    key[1]++;
                    memset(payload, 0xee, sizeof payload);
                    y[ns[w]] = 7;
                    assert_int_equal(lattice_pack_as(&fit, payload, x, ns[w], key), 0);
                    assert_int_equal(payload[bytes], 0xee);
                    assert_true(lattice_unpack(kind_of(k), bits, y, payload, ns[w], key));
                    far_off_at_most(kind_of(k), ns[w], fit.scale);
                    assert_true(y[ns[w]] == 7);
                }
}

/* 3000 dithers of one message: the mean is within 5 standard deviations, everywhere. */
static void test_without_overload_it_is_right_on_average(void **state)
{
    enum { N = 19, DRAWS = 3000 };

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 2; bits <= 3; bits++)
            for (int s = 0; s < 2; s++) {
                const struct lattice_fit fit = roomy(kind_of(k), bits, s != 0);
                double sum[N] = {0}, square[N] = {0};

                for (size_t i = 0; i < N; i++)
                    x[i] = (float)(2 * rng_uniform(&chance) - 1);
                for (int draw = 0; draw < DRAWS; draw++) {
                    uint8_t key[32];

                    rng_fill(&chance, key, sizeof key);
                    lattice_pack_as(&fit, payload, x, N, key);
                    assert_true(lattice_unpack(kind_of(k), bits, y, payload, N, key));
                    for (size_t i = 0; i < N; i++) {
                        sum[i] += (double)y[i];
                        square[i] += (double)y[i] * (double)y[i];
                    }
                }
                for (size_t i = 0; i < N; i++) {
                    const double mean = sum[i] / DRAWS, variance = square[i] / DRAWS - mean * mean;

                    assert_true(variance > 0.05 * (double)fit.scale * (double)fit.scale);
                    assert_true(fabs(mean - (double)x[i]) <= 5 * sqrt(variance / DRAWS));
                }
            }
}

/* --- what b bits are worth --- */

enum shape { NORMAL, UNIFORM, TANH, SHAPES };

static void draw(enum shape shape, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(shape == UNIFORM ? 2 * rng_uniform(&chance) - 1
                       : shape == TANH  ? tanh(rng_normal(&chance))
                                        : rng_normal(&chance));
}

/* Signal to error of messages of 1600, in dB. */
static double quality(int k, uint32_t bits, enum shape shape)
{
    enum { N = 1600, MESSAGES = 40 };
    double signal = 0, error = 0;
    uint8_t key[32];

    for (int i = 0; i < MESSAGES; i++) {
        draw(shape, N);
        rng_fill(&chance, key, sizeof key);
        lattice_pack(kind_of(k), bits, payload, x, N, key);
        assert_true(lattice_unpack(kind_of(k), bits, y, payload, N, key));
        for (size_t j = 0; j < N; j++) {
            signal += (double)x[j] * (double)x[j];
            error += pow((double)x[j] - (double)y[j], 2);
        }
    }
    return 10 * log10(signal / error);
}

/* Floors half a dB below what was measured; rows: bits 1, 2, 3, 4, 6, 8. */
static void test_e8_is_better_than_a2_than_z_and_each_is_as_good_as_it_was(void **state)
{
    static const uint32_t bits[] = {1, 2, 3, 4, 6, 8};
    static const double floor_db[SHAPES][6] = {
        [NORMAL] = {3.0, 8.3, 13.6, 18.8, 29.5, 41.1},
        [UNIFORM] = {3.8, 10.5, 17.0, 23.2, 35.3, 47.4},
        [TANH] = {4.0, 11.0, 17.6, 23.9, 36.0, 48.1},
    };

    (void)state;
    for (enum shape shape = NORMAL; shape < SHAPES; shape++)
        for (size_t b = 0; b < 6; b++) {
            const double z = quality(0, bits[b], shape), a2 = quality(1, bits[b], shape);
            const double e8 = quality(2, bits[b], shape);

            assert_true(z >= floor_db[shape][b]);
            if (bits[b] == 1)
                continue;
            assert_true(a2 >= z + 0.03);
            assert_true(e8 >= a2 + 0.3);
        }
}

/* --- strange values --- */

static void round_trip(int k, uint32_t bits, size_t n)
{
    static const uint8_t key[32] = {11};

    memset(payload, 0xee, sizeof payload);
    lattice_pack(kind_of(k), bits, payload, x, n, key);
    assert_int_equal(payload[lattice_bytes(kind_of(k), bits, n)], 0xee);
    assert_true(lattice_unpack(kind_of(k), bits, y, payload, n, key));
}

static void test_zeros_and_what_is_next_to_them_are_zeros(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++)
            for (int tiny = 0; tiny < 2; tiny++) {
                for (size_t i = 0; i < 50; i++)
                    x[i] = tiny == 0 ? (i % 2 == 0 ? 0.0F : -0.0F) : (float)i * 1e-42F;
                round_trip(k, bits, 50);
                for (size_t i = 0; i < 50; i++)
                    assert_true(y[i] == 0);
                for (size_t i = 0; i < lattice_bytes(kind_of(k), bits, 50); i++)
                    assert_int_equal(payload[i], 0);
            }
}

/* A constant fills the region to its border: from 2^-b on, whatever its size. */
static void test_a_constant_comes_back_to_the_last_bit_there_is(void **state)
{
    static const float values[] = {1, -0.37F, 1e-25F, 3e20F, -1e37F};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 2; bits <= 8; bits++)
            for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
                double sum = 0;

                for (size_t i = 0; i < 400; i++)
                    x[i] = values[v];
                round_trip(k, bits, 400);
                for (size_t i = 0; i < 400; i++)
                    sum += pow((double)y[i] / (double)x[i] - 1, 2);
                assert_true(sqrt(sum / 400) < 0.9 * ldexp(1, -(int)bits));
            }
}

static void test_the_largest_numbers_stay_numbers(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            for (size_t i = 0; i < 100; i++)
                x[i] = i % 3 == 0 ? FLT_MAX : -FLT_MAX;
            round_trip(k, bits, 100);
            for (size_t i = 0; i < 100; i++) {
                assert_true(isfinite(y[i]));
                if (bits > 2)
                    assert_true(x[i] > 0 ? y[i] > FLT_MAX / 32 : y[i] < -FLT_MAX / 32);
            }
        }
}

/* One value a thousand times the others, in a message larger than its sample: less is lost than if
 * it were left out, and less than if the scale were made for it. */
static void test_one_outlier_costs_less_than_either_extreme(void **state)
{
    enum { N = 12000 };
    static const uint8_t key[32] = {11};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 2; bits <= 8; bits += 3) {
            double lost = 0, for_it = 0;
            struct lattice_fit fit;

            draw(NORMAL, N);
            x[7777] = 1000;
            round_trip(k, bits, N);
            for (size_t i = 0; i < N; i++)
                lost += pow((double)x[i] - (double)y[i], 2);
            fit = roomy(kind_of(k), bits, false);
            fit.scale *= 1000;
            lattice_pack_as(&fit, payload, x, N, key);
            assert_true(lattice_unpack(kind_of(k), bits, y, payload, N, key));
            for (size_t i = 0; i < N; i++)
                for_it += pow((double)x[i] - (double)y[i], 2);
            assert_true(lost < for_it);
            assert_true(lost < 1000.0 * 1000 + N);
        }
}

/* --- dithers --- */

static void test_with_another_dither_it_means_something_else(void **state)
{
    enum { N = 1600 };
    uint8_t key[32] = {1};

    (void)state;
    draw(UNIFORM, N);
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            double right = 0, wrong = 0;

            round_trip(k, bits, N);
            for (size_t i = 0; i < N; i++)
                right += pow((double)x[i] - (double)y[i], 2);
            assert_true(lattice_unpack(kind_of(k), bits, y, payload, N, key));
            for (size_t i = 0; i < N; i++)
                wrong += pow((double)x[i] - (double)y[i], 2);
            assert_true(wrong > 1.5 * right);
        }
}

/* --- payloads that are none --- */

static bool taken(int k, uint32_t bits, size_t n, float scale, size_t at, uint8_t byte)
{
    static const uint8_t key[32];
    uint8_t in[64] = {0};

    memcpy(in, &scale, sizeof scale);
    in[4 + at] = byte;
    return lattice_unpack(kind_of(k), bits, y, in, n, key);
}

static void test_scales_out_of_range_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            const float most = lattice_scale_max(bits), least = LATTICE_SCALE_MIN;

            assert_true(most == ldexpf(1, 127 - (int)bits) && least == ldexpf(1, -100));
            assert_true(taken(k, bits, 16, 1, 0, 1));
            assert_true(taken(k, bits, 16, most, 0, 1));
            for (size_t i = 0; i < 16; i++)
                assert_true(isfinite(y[i]));
            assert_false(taken(k, bits, 16, nextafterf(most, INFINITY), 0, 1));
            assert_true(taken(k, bits, 16, least, 0, 1));
            assert_false(taken(k, bits, 16, nextafterf(least, 0), 0, 1));
            assert_false(taken(k, bits, 16, FLT_TRUE_MIN, 0, 0));
            assert_false(taken(k, bits, 16, INFINITY, 0, 1));
            assert_false(taken(k, bits, 16, NAN, 0, 1));
            assert_false(taken(k, bits, 16, -NAN, 0, 1));
            assert_false(taken(k, bits, 16, -INFINITY, 0, 1));
            assert_false(taken(k, bits, 16, -0.0F, 0, 0));
            assert_int_equal(taken(k, bits, 16, -1, 0, 1), k > 0); /* Z has no square region */
        }
}

static void test_codes_without_a_scale_and_spare_bits_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            const size_t d = lattice_dims(kind_of(k)), n = 9;
            const size_t used = (n + d - 1) / d * d * bits, bytes = (used + 7) / 8;

            assert_true(taken(k, bits, n, 0, 0, 0));
            for (size_t at = 0; at < bytes; at++)
                assert_false(taken(k, bits, n, 0, at, 1));
            for (size_t bit = 8 * (bytes - 1); bit < 8 * bytes; bit++)
                assert_int_equal(taken(k, bits, n, 1, bytes - 1, (uint8_t)(1U << bit % 8)),
                                 bit < used);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_overload_no_block_is_off_by_more_than_the_covering_radius),
        cmocka_unit_test(test_without_overload_it_is_right_on_average),
        cmocka_unit_test(test_e8_is_better_than_a2_than_z_and_each_is_as_good_as_it_was),
        cmocka_unit_test(test_zeros_and_what_is_next_to_them_are_zeros),
        cmocka_unit_test(test_a_constant_comes_back_to_the_last_bit_there_is),
        cmocka_unit_test(test_the_largest_numbers_stay_numbers),
        cmocka_unit_test(test_one_outlier_costs_less_than_either_extreme),
        cmocka_unit_test(test_with_another_dither_it_means_something_else),
        cmocka_unit_test(test_scales_out_of_range_are_refused),
        cmocka_unit_test(test_codes_without_a_scale_and_spare_bits_are_refused),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
