/* test_lattice_scale.c -- the scale that is found beside the best there is.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/lattice_scale.h"

#include "common/base/check.h"
#include "tests/unit/compress/chance.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3200, BYTES_MAX = 4 * N };

static float x[N], y[N];

/* Tails, bounds, both ends, one outlier. */
enum shape { NORMAL, UNIFORM, SATURATED, OUTLIER, SHAPES };

static void draw(enum shape shape, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(shape == UNIFORM     ? 2 * rng_uniform(&chance) - 1
                       : shape == SATURATED ? tanh(3 * rng_normal(&chance))
                                            : rng_normal(&chance));
    if (shape == OUTLIER)
        x[n / 2 + 1] = 100;
}

/* Mean squared error over a few dithers. */
static double error_of(const struct lattice_fit *fit, size_t n)
{
    static uint8_t payload[BYTES_MAX];
    uint8_t key[32] = {0};
    double sum = 0;

    for (uint8_t k = 0; k < 4; k++) {
        key[0] = k;
        lattice_pack_as(fit, payload, x, n, key);
        CHECK(lattice_unpack(fit->kind, fit->bits, y, payload, n, key));
        for (size_t i = 0; i < n; i++)
            sum += pow((double)x[i] - (double)y[i], 2);
    }
    return sum / (4 * (double)n);
}

static double best_on_a_grid(const struct lattice_fit *from, size_t n)
{
    struct lattice_fit fit = *from;
    double best = INFINITY;

    for (double factor = 0.25; factor < 4; factor *= 1.05)
        for (int square = 0; square < (from->kind == ENCODING_SCALAR ? 1 : 2); square++) {
            fit.square = square != 0;
            fit.scale = (float)(factor * (double)from->scale);
            best = fmin(best, error_of(&fit, n));
        }
    return best;
}

static struct lattice_fit fit_of(enum plan_encoding kind, uint32_t bits, const float *values,
                                 size_t n)
{
    struct lattice_fit fit;

    lattice_scale_fit(&fit, kind, bits, values, n);
    assert_true(fit.kind == kind && fit.bits == bits);
    return fit;
}

static void test_the_error_is_close_to_the_least_there_is(void **state)
{
    (void)state;
    for (enum plan_encoding kind = ENCODING_SCALAR; kind <= ENCODING_E8; kind++)
        for (uint32_t bits = 1; bits <= 8; bits += bits < 4 ? 1 : 2)
            for (enum shape shape = NORMAL; shape < SHAPES; shape++) {
                struct lattice_fit fit;
                const size_t n = shape == UNIFORM ? 200 : N;

                draw(shape, n);
                fit = fit_of(kind, bits, x, n);
                assert_true(error_of(&fit, n) <= 1.2 * best_on_a_grid(&fit, n));
            }
}

static void test_tails_ask_for_a_round_region_and_bounds_for_a_square_one(void **state)
{
    (void)state;
    for (uint32_t bits = 2; bits <= 8; bits++) {
        draw(UNIFORM, N);
        assert_true(fit_of(ENCODING_E8, bits, x, N).square);
        assert_false(fit_of(ENCODING_SCALAR, bits, x, N).square);
        draw(SATURATED, N);
        assert_true(fit_of(ENCODING_LATTICE, bits, x, N).square);
        draw(OUTLIER, N);
        assert_false(fit_of(ENCODING_E8, bits, x, N).square);
    }
}

static void test_the_scale_follows_the_values(void **state)
{
    struct lattice_fit fit, times;

    (void)state;
    draw(NORMAL, N);
    for (enum plan_encoding kind = ENCODING_SCALAR; kind <= ENCODING_E8; kind++) {
        fit = fit_of(kind, 3, x, N);
        for (size_t i = 0; i < N; i++)
            y[i] = ldexpf(x[i], 20);
        times = fit_of(kind, 3, y, N);
        assert_true(fabsf(ldexpf(fit.scale, 20) / times.scale - 1) < 1e-5F);
        assert_int_equal(fit.square, times.square);
    }
}

static void test_nothing_but_zeros_has_no_scale_and_no_scale_is_out_of_range(void **state)
{
    static const float tiny[3] = {1e-40F, -1e-38F, 0}, zeros[3],
                       huge[3] = {FLT_MAX, -FLT_MAX, FLT_MAX}, mixed[3] = {1e-40F, FLT_MAX, 1};

    (void)state;
    for (enum plan_encoding kind = ENCODING_SCALAR; kind <= ENCODING_E8; kind++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            assert_true(fit_of(kind, bits, zeros, 3).scale == 0);
            assert_true(fit_of(kind, bits, tiny, 3).scale == 0);
            assert_true(fit_of(kind, bits, huge, 3).scale <= lattice_scale_max(bits));
            assert_true(fit_of(kind, bits, huge, 3).scale > 0);
            assert_true(fit_of(kind, bits, mixed, 3).scale <= lattice_scale_max(bits));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_error_is_close_to_the_least_there_is),
        cmocka_unit_test(test_tails_ask_for_a_round_region_and_bounds_for_a_square_one),
        cmocka_unit_test(test_the_scale_follows_the_values),
        cmocka_unit_test(test_nothing_but_zeros_has_no_scale_and_no_scale_is_out_of_range),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
