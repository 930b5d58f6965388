/* test_dpsgd.c -- gradients of which no row has more than its share, against one row at a time.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsgd.h"

#include "common/base/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 7, INPUTS = 5, OUTPUTS = 3, PARAMS_MAX = 4096, SHAPES = 6 };

static struct arena arena;
static struct nn_net net;
static struct rng draws;
static struct dpsum sum;
static double memory[1 << 14];
static float x[ROWS * INPUTS], dy[ROWS * OUTPUTS];

static struct nn_spec shape(int which)
{
    struct nn_spec s = {.layers = 1, .out_scale = 1, .rows_max = ROWS, .optimizer = NN_SGD};

    s.width[0] = INPUTS;
    s.width[1] = OUTPUTS;
    switch (which) {
    case 0: break; /* linear */
    case 1: s.act[0] = NN_ACT_TANH, s.out_scale = 1.5F; break;
    case 2:
        s.layers = 2;
        s.width[1] = 6, s.width[2] = OUTPUTS;
        s.act[0] = NN_ACT_RELU, s.act[1] = NN_ACT_TANH;
        break;
    case 3:
        s.layers = 3;
        s.width[1] = 4, s.width[2] = 8, s.width[3] = OUTPUTS;
        s.act[0] = NN_ACT_SIGMOID, s.act[1] = NN_ACT_TANH, s.act[2] = NN_ACT_NONE;
        break;
    case 4: s.layer[0] = (struct nn_layer_spec){.kind = NN_POLYNOMIAL, .degree = 3}; break;
    default:
        s.layers = 2;
        s.width[1] = INPUTS + 1, s.width[2] = OUTPUTS;
        s.act[1] = NN_ACT_TANH;
        s.layer[0].kind = NN_EMBEDDING;
        s.embedded = (struct nn_embedded){2, {{0, 2, 2}, {3, 3, 1}}};
        break;
    }
    return s;
}

static void start(int which)
{
    static const uint8_t key[RNG_KEY_BYTES] = {3};
    const struct nn_spec spec = shape(which);

    arena_deinit(&arena);
    rng_deinit(&draws);
    CHECK(arena_init(&arena, nn_net_bytes(&spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    CHECK(rng_init_key(&draws, key) == STATUS_OK);
    CHECK(dpsum_doubles(&spec) <= sizeof memory / sizeof *memory);
    dpsum_init(&sum, &spec, memory);
    nn_net_randomize(&net, NN_INIT_GLOROT, &draws);
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = (float)rng_normal(&draws);
    for (size_t r = 0; r < ROWS && spec.embedded.n > 0; r++) {
        x[r * INPUTS] = (float)(r % 3);
        x[r * INPUTS + 3] = (float)(r % 4);
    }
    for (size_t i = 0; i < ROWS * OUTPUTS; i++)
        dy[i] = (float)(rng_normal(&draws) * (1 + (double)(i / OUTPUTS))); /* rows of all lengths */
}

static int tear_down(void **state)
{
    (void)state;
    arena_deinit(&arena);
    rng_deinit(&draws);
    return 0;
}

/* Of all layers in order; how many. */
static size_t gradients(double *out)
{
    size_t n = 0;

    for (size_t i = 0; i < net.spec.layers; i++) {
        for (size_t k = 0; k < nn_layer_params(&net.layer[i]); k++)
            out[n++] = net.layer[i].dw[k];
    }
    CHECK(n <= PARAMS_MAX);
    return n;
}

/* What dpsgd_backward has added up. */
static size_t sums(double *out)
{
    memcpy(out, sum.sum, sum.params * sizeof *out);
    return sum.params;
}

/* One row's own gradient, by the plain backward. */
static double of_row(size_t r, double *out)
{
    double norm = 0;
    size_t n;

    nn_net_forward(&net, x + r * INPUTS, 1);
    nn_net_backward(&net, NULL, dy + r * OUTPUTS);
    n = gradients(out);
    for (size_t i = 0; i < n; i++)
        norm += out[i] * out[i];
    return sqrt(norm);
}

static void assert_near(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= 5e-5 * (1 + fabs(b[i]))))
            fail_msg("gradient %zu: %.9g, not %.9g", i, a[i], b[i]);
    }
}

static void test_each_row_is_cut_by_its_own_norm_over_all_layers(void **state)
{
    static double got[PARAMS_MAX], want[PARAMS_MAX], one[PARAMS_MAX];
    static const double most[] = {1e-3, 0.5, 2, 5, 1e6};

    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
            double factor[ROWS], norm;
            uint32_t cut = 0;
            size_t n = 0;

            start(which);
            memset(want, 0, sizeof want);
            for (size_t r = 0; r < ROWS; r++) {
                norm = of_row(r, one);
                cut += norm > most[m];
                n = gradients(one);
                for (size_t i = 0; i < n; i++)
                    want[i] += one[i] * fmin(1, most[m] / norm);
            }
            nn_net_forward(&net, x, ROWS);
            assert_int_equal(dpsgd_backward(&sum, &net, dy, most[m], factor), cut);
            assert_int_equal(sums(got), n);
            assert_near(got, want, n);
        }
    }
}

static void test_no_single_row_passes_the_limit(void **state)
{
    static double one[PARAMS_MAX];

    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        start(which);
        for (size_t r = 0; r < ROWS; r++) {
            const double most = of_row(r, one) / 3;
            double factor, norm = 0;
            size_t n;

            nn_net_forward(&net, x + r * INPUTS, 1);
            assert_int_equal(dpsgd_backward(&sum, &net, dy + r * OUTPUTS, most, &factor), 1);
            n = sums(one);
            for (size_t i = 0; i < n; i++)
                norm += one[i] * one[i];
            assert_true(sqrt(norm) <= most);
            assert_true(sqrt(norm) >= most * (1 - 1e-6));
            assert_true(fabs(factor - 1.0 / 3) < 1e-4);
        }
    }
}

static void test_what_is_short_enough_is_the_plain_gradient(void **state)
{
    static double got[PARAMS_MAX], want[PARAMS_MAX];

    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        double factor[ROWS];
        size_t n;

        start(which);
        nn_net_forward(&net, x, ROWS);
        nn_net_backward(&net, NULL, dy);
        n = gradients(want);
        assert_int_equal(dpsgd_backward(&sum, &net, dy, 1e9, factor), 0);
        assert_int_equal(sums(got), n);
        assert_near(got, want, n);
    }
}

static void test_a_row_without_a_finite_gradient_counts_as_none(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 1e38F};
    static double got[PARAMS_MAX], want[PARAMS_MAX];

    (void)state;
    for (int which = 0; which < SHAPES; which++) {
        for (size_t v = 0; v < 4; v++) {
            double factor[ROWS];
            size_t n;

            start(which);
            memset(dy + 2 * OUTPUTS, 0, OUTPUTS * sizeof *dy);
            nn_net_forward(&net, x, ROWS);
            (void)dpsgd_backward(&sum, &net, dy, 1, factor);
            n = sums(want);
            for (size_t i = 0; i < OUTPUTS; i++)
                dy[2 * OUTPUTS + i] = values[v];
            (void)dpsgd_backward(&sum, &net, dy, 1, factor);
            assert_int_equal(sums(got), n);
            for (size_t i = 0; i < n; i++)
                assert_true(isfinite(got[i]));
            if (v < 3) { /* 1e38 is finite, and cut */
                assert_true(factor[2] == 0);
                assert_near(got, want, n);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row_is_cut_by_its_own_norm_over_all_layers),
        cmocka_unit_test(test_no_single_row_passes_the_limit),
        cmocka_unit_test(test_what_is_short_enough_is_the_plain_gradient),
        cmocka_unit_test(test_a_row_without_a_finite_gradient_counts_as_none),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
