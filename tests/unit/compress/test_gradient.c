/* test_gradient.c -- gradients in few bits: sizes, values that keep their promise, bytes that are
 * none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/gradient.h"

#include "tests/unit/compress/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 7, WIDTH = 5, INNER = 3, VALUES_MAX = ROWS * WIDTH + WIDTH * INNER, WORDS_MAX = 64 };

static struct gradient_form form(enum plan_gradient_form how, enum plan_gradient_type type)
{
    return (struct gradient_form){how, type, WIDTH, INNER};
}

static size_t draw(const struct gradient_form *f, float *x)
{
    const size_t n = gradient_values(f, ROWS);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rng_normal(&chance) * exp(4 * rng_normal(&chance)));
    return n;
}

static void test_sizes_are_those_of_the_formats(void **state)
{
    const size_t d = ROWS * INNER, w = WIDTH * INNER, full = ROWS * WIDTH;
    struct gradient_form f = form(GRADIENT_FULL, GRADIENT_FLOAT32);

    (void)state;
    assert_int_equal(gradient_values(&f, ROWS), full);
    assert_int_equal(gradient_row_values(&f, ROWS), full);
    assert_int_equal(gradient_words(&f, ROWS), full);
    f = form(GRADIENT_FULL, GRADIENT_BFLOAT16);
    assert_int_equal(gradient_words(&f, ROWS), (2 * full + 3) / 4);
    f = form(GRADIENT_FULL, GRADIENT_INT8);
    assert_int_equal(gradient_words(&f, ROWS), (ROWS * (4 + WIDTH) + 3) / 4);
    f = form(GRADIENT_FACTORED, GRADIENT_FLOAT32);
    assert_int_equal(gradient_values(&f, ROWS), d + w);
    assert_int_equal(gradient_row_values(&f, ROWS), d);
    assert_int_equal(gradient_words(&f, ROWS), d + w);
    f = form(GRADIENT_FACTORED, GRADIENT_BFLOAT16);
    assert_int_equal(gradient_words(&f, ROWS), (2 * (d + w) + 3) / 4);
    f = form(GRADIENT_FACTORED, GRADIENT_INT8);
    assert_int_equal(gradient_words(&f, ROWS), ((ROWS + WIDTH) * (4 + INNER) + 3) / 4);
}

static void round_trip(const struct gradient_form *f, float *out, const float *x, uint32_t *words)
{
    memset(words, 0xff, WORDS_MAX * sizeof *words);
    gradient_pack(f, words, x, ROWS, &chance);
    for (size_t i = gradient_words(f, ROWS); i < WORDS_MAX; i++)
        assert_int_equal(words[i], UINT32_MAX); /* no word too many */
    assert_true(gradient_unpack(f, out, words, ROWS));
}

static void test_float32_comes_back_bit_for_bit(void **state)
{
    float x[VALUES_MAX], y[VALUES_MAX];
    uint32_t words[WORDS_MAX];

    (void)state;
    for (int how = GRADIENT_FULL; how <= GRADIENT_FACTORED; how++) {
        const struct gradient_form f = form((enum plan_gradient_form)how, GRADIENT_FLOAT32);
        const size_t n = draw(&f, x);

        round_trip(&f, y, x, words);
        assert_memory_equal(y, x, n * sizeof *x);
    }
}

static void test_bfloat16_is_the_nearest(void **state)
{
    /* 1 + 2^-8 is in the middle: to even; then just beside it, the largest, and what is beyond. */
    static const float from[] = {1.0F,          1.00390625F, 1.00390637F, 1.01171875F, -1.00390625F,
                                 3.3895314e38F, 3.4e38F,     -3.4e38F,    0.0F,        -0.0F};
    static const float to[] = {1.0F,          1.0F,          1.0078125F,     1.015625F, -1.0F,
                               3.3895314e38F, 3.3895314e38F, -3.3895314e38F, 0.0F,      -0.0F};
    struct gradient_form f = {GRADIENT_FULL, GRADIENT_BFLOAT16, 10, 1};
    float y[10];
    uint32_t words[5];

    (void)state;
    gradient_pack(&f, words, from, 1, &chance);
    assert_true(gradient_unpack(&f, y, words, 1));
    for (size_t i = 0; i < 10; i++) {
        assert_true(y[i] == to[i]);
        assert_int_equal(signbit(y[i]) != 0, signbit(to[i]) != 0);
    }
}

static void test_bfloat16_is_off_by_at_most_one_in_256(void **state)
{
    float x[VALUES_MAX], y[VALUES_MAX];
    uint32_t words[WORDS_MAX];

    (void)state;
    for (int k = 0; k < 200; k++) {
        const struct gradient_form f =
            form(k % 2 == 0 ? GRADIENT_FULL : GRADIENT_FACTORED, GRADIENT_BFLOAT16);
        const size_t n = draw(&f, x);

        round_trip(&f, y, x, words);
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(y[i] - x[i]) <= fabsf(x[i]) / 256);
    }
}

static void test_int8_is_off_by_less_than_a_step_of_its_row(void **state)
{
    float x[VALUES_MAX], y[VALUES_MAX];
    uint32_t words[WORDS_MAX];

    (void)state;
    for (int k = 0; k < 200; k++) {
        const struct gradient_form f =
            form(k % 2 == 0 ? GRADIENT_FULL : GRADIENT_FACTORED, GRADIENT_INT8);
        const size_t n = draw(&f, x), cols = f.form == GRADIENT_FULL ? WIDTH : INNER;

        round_trip(&f, y, x, words);
        for (size_t row = 0; row < n; row += cols) {
            float most = 0;
            for (size_t i = row; i < row + cols; i++)
                most = fmaxf(most, fabsf(x[i]));
            for (size_t i = row; i < row + cols; i++)
                assert_true(fabsf(y[i] - x[i]) <= most / 127 * 1.0001F);
        }
    }
}

/* 40,000 draws of each: the mean is within 5 standard deviations, and it is not always the same. */
static void test_int8_is_right_on_average(void **state)
{
    static const float x[] = {1.0F, 0.3F, -0.71F, 0.001F, -0.9999F};
    enum { N = sizeof x / sizeof *x, DRAWS = 40000 };
    struct gradient_form f = {GRADIENT_FULL, GRADIENT_INT8, N, 1};
    double sum[N] = {0}, square[N] = {0};
    uint32_t words[3];
    float y[N];

    (void)state;
    for (int k = 0; k < DRAWS; k++) {
        gradient_pack(&f, words, x, 1, &chance);
        assert_true(gradient_unpack(&f, y, words, 1));
        for (size_t i = 0; i < N; i++) {
            sum[i] += (double)y[i];
            square[i] += (double)y[i] * (double)y[i];
        }
    }
    for (size_t i = 0; i < N; i++) {
        const double mean = sum[i] / DRAWS, variance = square[i] / DRAWS - mean * mean;

        assert_true(fabs(mean - (double)x[i]) <= 5 * sqrt(fabs(variance) / DRAWS) + 1e-6);
        if (i > 0)
            assert_true(variance > 0);
    }
}

static void test_a_row_of_zeros_stays_one(void **state)
{
    struct gradient_form f = {GRADIENT_FULL, GRADIENT_INT8, 3, 1};
    static const float zeros[3];
    float y[3] = {1, 1, 1};
    uint32_t words[2];

    (void)state;
    gradient_pack(&f, words, zeros, 1, &chance);
    assert_true(gradient_unpack(&f, y, words, 1));
    assert_memory_equal(y, zeros, sizeof y);
}

static void refuse(const struct gradient_form *f, const uint32_t *good, size_t at, uint8_t byte)
{
    uint32_t words[WORDS_MAX];
    float y[VALUES_MAX];

    memcpy(words, good, sizeof words);
    ((uint8_t *)words)[at] = byte;
    assert_false(gradient_unpack(f, y, words, ROWS));
}

static void test_what_no_pack_makes_is_refused(void **state)
{
    float x[VALUES_MAX] = {0}, y[VALUES_MAX];
    uint32_t good[WORDS_MAX] = {0};
    struct gradient_form f = form(GRADIENT_FULL, GRADIENT_FLOAT32);

    (void)state;
    for (size_t i = 0; i < VALUES_MAX; i++)
        x[i] = 1.0F;
    gradient_pack(&f, good, x, ROWS, &chance);
    good[ROWS * WIDTH - 1] = 0x7f800000u; /* infinite */
    assert_false(gradient_unpack(&f, y, good, ROWS));
    good[ROWS * WIDTH - 1] = 0x7fc00000u; /* no number */
    assert_false(gradient_unpack(&f, y, good, ROWS));

    f = form(GRADIENT_FULL, GRADIENT_BFLOAT16); /* 35 values, 70 bytes, 18 words */
    gradient_pack(&f, good, x, ROWS, &chance);
    refuse(&f, good, 71, 1);
    refuse(&f, good, 1, 0x7f | 0x80); /* 0xff80: minus infinity */
    assert_true(gradient_unpack(&f, y, good, ROWS));

    f = form(GRADIENT_FULL, GRADIENT_INT8); /* 63 bytes, 16 words */
    gradient_pack(&f, good, x, ROWS, &chance);
    refuse(&f, good, 63, 1);
    refuse(&f, good, 4, 0x80); /* -128 */
    refuse(&f, good, 3, 0xbc); /* a negative scale */
    refuse(&f, good, 3, 0x7f); /* 0x7f..: a scale near the largest: 127 of it are infinite */
    assert_true(gradient_unpack(&f, y, good, ROWS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_those_of_the_formats),
        cmocka_unit_test(test_float32_comes_back_bit_for_bit),
        cmocka_unit_test(test_bfloat16_is_the_nearest),
        cmocka_unit_test(test_bfloat16_is_off_by_at_most_one_in_256),
        cmocka_unit_test(test_int8_is_off_by_less_than_a_step_of_its_row),
        cmocka_unit_test(test_int8_is_right_on_average),
        cmocka_unit_test(test_a_row_of_zeros_stays_one),
        cmocka_unit_test(test_what_no_pack_makes_is_refused),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
