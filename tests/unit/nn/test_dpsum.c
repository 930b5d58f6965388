/* test_dpsum.c -- how exact the sum over a batch is, and the grid that it is rounded to.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsum.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/nn/dpsgd.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 3000, INPUTS = 6, OUTPUTS = 5, PARAMS = (INPUTS + 1) * OUTPUTS };

static struct arena arena;
static struct nn_net net;
static struct dpsum sum;
static struct rng draws;
static double *memory, factor[ROWS];
static float x[ROWS * INPUTS], dy[ROWS * OUTPUTS];

static int set_up(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {4};
    const struct nn_spec spec = {
        .layers = 1, .width = {INPUTS, OUTPUTS}, .out_scale = 1, .rows_max = ROWS};

    (void)state;
    CHECK(arena_init(&arena, nn_net_bytes(&spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    CHECK(rng_init_key(&draws, key) == STATUS_OK);
    memory = mem_alloc(dpsum_doubles(&spec), sizeof *memory);
    CHECK(memory != NULL);
    dpsum_init(&sum, &spec, memory);
    nn_net_randomize(&net, NN_INIT_GLOROT, &draws);
    /* Of one sign, so that a running sum becomes large. */
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = (float)(0.5 + rng_uniform(&draws));
    for (size_t i = 0; i < ROWS * OUTPUTS; i++)
        dy[i] = (float)(0.5 + rng_uniform(&draws));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mem_free(memory);
    arena_deinit(&arena);
    rng_deinit(&draws);
    return 0;
}

/* By the definition, in long double: 64 bits of mantissa. */
static void exactly(long double *out, uint32_t rows)
{
    memset(out, 0, PARAMS * sizeof *out);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i <= INPUTS; i++) {
            for (size_t k = 0; k < OUTPUTS; k++)
                out[i * OUTPUTS + k] += (long double)factor[r] * dy[r * OUTPUTS + k] *
                                        (i < INPUTS ? x[r * INPUTS + i] : 1);
        }
    }
}

static double off(const long double *want, const double *got)
{
    long double square = 0;

    for (size_t i = 0; i < PARAMS; i++)
        square += (got[i] - want[i]) * (got[i] - want[i]);
    return (double)sqrtl(square);
}

/* E of dpsum.h for rows of the norm G; sums in float32 are far beyond it. */
static void test_the_sum_is_as_exact_as_is_stated(void **state)
{
    static const uint32_t rows[] = {1, 2, 31, 32, 33, 1000, ROWS};
    const double most = 0.7;

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const double terms = rows[k] + 2, bound = terms * DBL_EPSILON / 2 * rows[k] * most * 1.001;
        long double want[PARAMS];
        double in_floats[PARAMS];

        nn_net_forward(&net, x, rows[k]);
        assert_int_equal(dpsgd_backward(&sum, &net, dy, most, factor), rows[k]);
        exactly(want, rows[k]);
        assert_true(off(want, sum.sum) <= bound);
        nn_net_backward(&net, NULL, dy);
        for (size_t i = 0; i < PARAMS; i++)
            in_floats[i] = net.layer[0].dw[i];
        for (size_t r = 0; r < rows[k]; r++)
            factor[r] = 1;
        exactly(want, rows[k]);
        assert_true(rows[k] < 1000 || off(want, in_floats) > 1000 * bound);
    }
}

/* One record more or less in a batch, at its longest: the rounded sums, in steps, are no further
 * from each other than a claim counts. */
static void test_a_record_moves_the_rounded_sum_by_two_clips_and_little_more(void **state)
{
    const double most = 1, ratio = dpsum_ratio(2, PARAMS), step = 2 * most / ratio;
    static const int32_t none[PARAMS];
    double before[PARAMS], square = 0;

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t k = 0; k < OUTPUTS; k++)
            dy[7 * OUTPUTS + k] = turn == 0 ? 1e9F : -1e9F;
        nn_net_forward(&net, x, ROWS);
        (void)dpsgd_backward(&sum, &net, dy, most, factor);
        for (size_t i = 0; i < PARAMS && turn == 0; i++)
            before[i] = rint(sum.sum[i] / step);
    }
    for (size_t i = 0; i < PARAMS; i++)
        square += pow((rint(sum.sum[i] / step) - before[i]) * step, 2);
    assert_true(sqrt(square) <= (2 + 1.0 / 512) * most);
    assert_true(sqrt(square) >= 1.99 * most);
    dpsum_release(&sum, &net, none, step);
    for (size_t i = 0; i < PARAMS; i++)
        assert_true(fabs(net.layer[0].dw[i] - sum.sum[i]) <=
                    step * 0.5 + fabs(sum.sum[i]) * FLT_EPSILON);
}

static void test_a_row_that_counts_as_nothing_is_not_read(void **state)
{
    double without[PARAMS];

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        nn_net_forward(&net, x, 50);
        (void)dpsgd_backward(&sum, &net, dy, 1, factor);
        factor[3] = 0;
        for (size_t i = 0; i < INPUTS && turn == 1; i++)
            x[3 * INPUTS + i] = i % 2 ? INFINITY : NAN;
        for (size_t k = 0; k < OUTPUTS && turn == 1; k++)
            net.layer[0].dy[3 * OUTPUTS + k] = NAN;
        dpsum_begin(&sum);
        dpsum_add(&sum, &net, factor);
        if (turn == 0)
            memcpy(without, sum.sum, sizeof without);
    }
    assert_memory_equal(sum.sum, without, sizeof without);
}

static void test_the_grid_is_fine_enough_for_all_weights(void **state)
{
    static const size_t params[] = {1, 2, 17, 2050, 100000, (size_t)1 << 30};

    (void)state;
    for (size_t k = 0; k < sizeof params / sizeof *params; k++) {
        for (double noise = DPSUM_NOISE_MIN; noise < 1e7; noise *= 3) {
            const double ratio = dpsum_ratio(noise, params[k]), root = sqrt((double)params[k]);
            int exponent;

            if (ratio == 0) {
                assert_true(1024 * noise * root > DPSUM_RATIO_MAX);
                continue;
            }
            assert_true(frexp(ratio, &exponent) == 0.5);
            assert_true(ratio >= DPSUM_RATIO_MIN && ratio <= DPSUM_RATIO_MAX);
            assert_true(noise / ratio * root <= 1.0 / 1024);
            assert_true(ratio == DPSUM_RATIO_MIN || 2 * noise / ratio * root > 1.0 / 1024);
            assert_true(65536 * ratio / noise < 0x1p52);
        }
    }
    assert_true(dpsum_ratio(0, 1) == 0);
    assert_true(dpsum_ratio((double)NAN, 1) == 0);
    assert_true(dpsum_ratio(nextafter(DPSUM_NOISE_MIN, 0), 1) == 0);
    assert_true(dpsum_ratio(1e-3, DPSUM_PARAMS_MAX + 1) == 0);
}

static void test_what_is_released_are_whole_steps(void **state)
{
    const double step = 1.0 / 384;
    int32_t noise[PARAMS];

    (void)state;
    nn_net_forward(&net, x, 100);
    (void)dpsgd_backward(&sum, &net, dy, 0.1, factor);
    for (size_t i = 0; i < PARAMS; i++)
        noise[i] = (int32_t)rng_below(&draws, 2001) - 1000;
    dpsum_release(&sum, &net, noise, step);
    for (size_t i = 0; i < PARAMS; i++) {
        const double whole = rint(sum.sum[i] / step) + noise[i];

        assert_true(net.layer[0].dw[i] == (float)(whole * step));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_sum_is_as_exact_as_is_stated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_record_moves_the_rounded_sum_by_two_clips_and_little_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_row_that_counts_as_nothing_is_not_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_grid_is_fine_enough_for_all_weights, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_released_are_whole_steps, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
