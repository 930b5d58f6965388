/* test_act.c -- the rational tanh and sigmoid against libm's, and every derivative against
 * differences.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/act.h"

#include "tests/unit/nn/sample.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const enum nn_act ACTS[] = {NN_ACT_NONE, NN_ACT_RELU, NN_ACT_TANH, NN_ACT_SIGMOID};
static const float SCALES[] = {1.0F, 2.5F, 0.3F};

/* Every 1009th float: all exponents, subnormals included. */
static void test_tanh_is_within_a_millionth_of_libm(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f800000U; bits += 1009) {
        float x, got, want;

        memcpy(&x, &bits, sizeof x);
        got = act_tanh(x);
        want = tanhf(x);
        if (fabsf(got - want) > 5e-7F * want || got > 1.0F || act_tanh(-x) != -got)
            fail_msg("tanh(%.9g) = %.9g, libm %.9g", (double)x, (double)got, (double)want);
    }
    assert_true(act_tanh(INFINITY) == 1.0F && act_tanh(-INFINITY) == -1.0F);
    assert_true(isnan(act_tanh(NAN)));
}

static void test_sigmoid_is_a_probability_within_three_ten_millionths(void **state)
{
    (void)state;
    for (int i = -40000; i <= 40000; i++) {
        const float x = (float)i / 1000.0F, got = act_sigmoid(x);
        const double want = 1.0 / (1.0 + exp(-(double)x));

        if (fabs((double)got - want) > 3e-7 || got < 0.0F || got > 1.0F)
            fail_msg("sigmoid(%.9g) = %.9g, exact %.9g", (double)x, (double)got, want);
    }
    assert_true(isnan(act_sigmoid(NAN)));
}

/* Vector body and scalar tail must round alike, or a record's embedding would depend on its row. */
static void test_an_element_has_the_same_bits_at_any_place(void **state)
{
    enum { N = 67 };
    const float zero[N] = {0};

    (void)state;
    for (size_t k = 0; k < 4; k++)
        for (size_t place = 0; place < N; place++) {
            float y[N] = {0}, alone = 1.2345678F;

            y[place] = alone;
            act_forward(y, zero, ACTS[k], 1.7F, 1, N);
            act_forward(&alone, zero, ACTS[k], 1.7F, 1, 1);
            assert_memory_equal(&y[place], &alone, sizeof alone);
        }
}

static double exact(enum nn_act act, double z)
{
    switch (act) {
    case NN_ACT_RELU: return z > 0.0 ? z : 0.0;
    case NN_ACT_TANH: return tanh(z);
    case NN_ACT_SIGMOID: return 1.0 / (1.0 + exp(-z));
    case NN_ACT_NONE: break;
    }
    return z;
}

static void test_forward_adds_the_bias_acts_and_scales(void **state)
{
    enum { ROWS = 5, COLS = 37 };
    float z[ROWS * COLS], y[ROWS * COLS], b[COLS];
    uint64_t seed = 4;

    (void)state;
    sample_fill(z, ROWS * COLS, 3.0F, &seed);
    sample_fill(b, COLS, 1.0F, &seed);
    for (size_t k = 0; k < 12; k++) {
        const enum nn_act act = ACTS[k % 4];
        const float scale = SCALES[k / 4];

        memcpy(y, z, sizeof y);
        act_forward(y, b, act, scale, ROWS, COLS);
        for (size_t i = 0; i < ROWS * COLS; i++)
            assert_true(sample_close((double)y[i],
                                     (double)scale * exact(act, (double)z[i] + (double)b[i % COLS]),
                                     2e-6, 1e-6));
    }
}

static void test_backward_is_the_derivative_of_forward(void **state)
{
    enum { ROWS = 6, COLS = 35 };
    const double h = 1e-6;
    float z[ROWS * COLS], y[ROWS * COLS], dy[ROWS * COLS], dz[ROWS * COLS];
    const float zero[COLS] = {0};
    uint64_t seed = 5;

    (void)state;
    sample_fill(z, ROWS * COLS, 3.0F, &seed);
    sample_fill(dy, ROWS * COLS, 1.0F, &seed);
    for (size_t k = 0; k < 12; k++) {
        const enum nn_act act = ACTS[k % 4];
        const float scale = SCALES[k / 4];
        double want[ROWS * COLS];

        memcpy(y, z, sizeof y);
        memcpy(dz, dy, sizeof dz);
        act_forward(y, zero, act, scale, ROWS, COLS);
        act_backward(dz, y, act, scale, ROWS, COLS);
        for (size_t i = 0; i < ROWS * COLS; i++) {
            const double up = exact(act, (double)z[i] + h), down = exact(act, (double)z[i] - h);

            want[i] = (double)dy[i] * (double)scale * (up - down) / (2.0 * h);
        }
        assert_int_equal(sample_misses(dz, want, ROWS * COLS, 1e-5, 1e-6), 0);
    }
}

/* A NaN from a peer's bytes or a diverged model must be seen, not turned into a plausible number.
 */
static void test_a_nan_stays_a_nan(void **state)
{
    const float zero = 0.0F;

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        float y = NAN;

        act_forward(&y, &zero, ACTS[k], 1.0F, 1, 1);
        assert_true(isnan(y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tanh_is_within_a_millionth_of_libm),
        cmocka_unit_test(test_sigmoid_is_a_probability_within_three_ten_millionths),
        cmocka_unit_test(test_an_element_has_the_same_bits_at_any_place),
        cmocka_unit_test(test_forward_adds_the_bias_acts_and_scales),
        cmocka_unit_test(test_backward_is_the_derivative_of_forward),
        cmocka_unit_test(test_a_nan_stays_a_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
