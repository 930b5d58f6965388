/* test_backward.c -- a record whose pass is not finite is as if it were not there; beside it the
 * records that are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/backward.h"

#include "common/base/check.h"
#include "common/nn/dpsgd.h"
#include "tests/unit/nn/sample.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 5, BROKEN = 2, IN = 4, OUT = 3, PARAMS_MAX = 256 };

static struct arena arena;
static struct nn_net net;
static struct dpsum sum;
static double memory[16 * PARAMS_MAX];
static float x[ROWS * IN], dy[ROWS * OUT];

enum shape { RELU, TANH, PLAIN, POLYNOMIAL, SHAPES };

/* Weights of the first layers that make an overflow of a large input on the way, not at once. */
static void start(enum shape shape)
{
    struct nn_spec s = {.layers = 3, .width = {IN, 6, 6, OUT}, .out_scale = 1, .rows_max = ROWS};
    uint64_t seed = 3;

    if (shape == POLYNOMIAL)
        s = (struct nn_spec){.layers = 1,
                             .width = {IN, OUT},
                             .out_scale = 1,
                             .rows_max = ROWS,
                             .layer = {{NN_POLYNOMIAL, 8, 0}}};
    for (size_t i = 0; i + 1 < s.layers; i++)
        s.act[i] = shape == RELU ? NN_ACT_RELU : NN_ACT_NONE;
    if (shape == TANH)
        s.act[2] = NN_ACT_TANH;
    CHECK(arena_init(&arena, nn_net_bytes(&s)) == STATUS_OK);
    CHECK(nn_net_init(&net, &s, &arena) == STATUS_OK);
    CHECK(dpsum_doubles(&s) <= sizeof memory / sizeof *memory);
    dpsum_init(&sum, &s, memory);
    for (size_t i = 0; i < s.layers; i++)
        sample_fill(net.layer[i].w, nn_layer_params(&net.layer[i]), 3.0F, &seed);
    sample_fill(x, sizeof x / sizeof *x, 1.0F, &seed);
    sample_fill(dy, sizeof dy / sizeof *dy, 1.0F, &seed);
}

/* Of all layers; or, of single rows that were cut, their sum. */
static size_t gradients(double *out, bool clipped)
{
    size_t at = 0;

    if (clipped) {
        memcpy(out, sum.sum, sum.params * sizeof *out);
        return sum.params;
    }
    for (size_t i = 0; i < net.spec.layers; i++)
        for (size_t k = 0; k < nn_layer_params(&net.layer[i]); k++)
            out[at++] = (double)net.layer[i].dw[k];
    assert_true(at <= PARAMS_MAX);
    return at;
}

static void back(bool clipped)
{
    double factor[ROWS];

    if (!clipped) {
        nn_net_backward(&net, NULL, dy);
        return;
    }
    (void)dpsgd_backward(&sum, &net, dy, 0.7, factor);
    assert_true(factor[BROKEN] == 0 || net.sound_back[BROKEN] != 0);
}

/* The record's gradient for its output is nought: it adds nothing, by its own size. */
static size_t without_the_record(double *want, bool clipped)
{
    memset(x + (size_t)BROKEN * IN, 0, IN * sizeof *x);
    memset(dy + (size_t)BROKEN * OUT, 0, OUT * sizeof *dy);
    nn_net_forward(&net, x, ROWS);
    back(clipped);
    return gradients(want, clipped);
}

static void test_a_record_whose_forward_pass_is_not_finite_adds_exactly_nothing(void **state)
{
    static double want[PARAMS_MAX], got[PARAMS_MAX];
    float y[ROWS * OUT];

    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int clipped = 0; clipped < 2; clipped++) {
            size_t n;

            start((enum shape)shape);
            n = without_the_record(want, clipped);
            memcpy(y, nn_net_forward(&net, x, ROWS), sizeof y);
            for (size_t i = 0; i < IN; i++) /* both signs: their infinities have no sum */
                x[BROKEN * IN + i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX;
            for (size_t i = 0; i < OUT; i++)
                dy[BROKEN * OUT + i] = 1;
            nn_net_forward(&net, x, ROWS);
            assert_int_equal(nn_net_lost_forward(&net), 1);
            for (size_t i = 0; i < ROWS * OUT; i++)
                assert_true(net.layer[net.spec.layers - 1].y[i] == (i / OUT == BROKEN ? 0 : y[i]));
            back(clipped);
            assert_int_equal(nn_net_lost_backward(&net), 1);
            assert_int_equal(gradients(got, clipped != 0), n);
            for (size_t i = 0; i < n; i++)
                assert_true(got[i] == want[i]);
            arena_deinit(&arena);
        }
    }
}

/* Forward is fine, and the way back overflows: dx too is nought. */
static void test_a_record_whose_way_back_is_not_finite_adds_exactly_nothing(void **state)
{
    static const float strange[] = {NAN, INFINITY, 3e38F};
    static double want[PARAMS_MAX], got[PARAMS_MAX];
    static float dx[ROWS * IN];

    (void)state;
    for (int shape = 0; shape < SHAPES; shape++) {
        for (size_t v = 0; v < (shape == PLAIN ? 3 : 2); v++) {
            size_t n;

            start((enum shape)shape);
            n = without_the_record(want, false);
            for (size_t i = 0; i < OUT; i++)
                dy[BROKEN * OUT + i] = i % 2 == 0 ? strange[v] : -strange[v];
            nn_net_forward(&net, x, ROWS);
            assert_int_equal(nn_net_lost_forward(&net), 0);
            nn_net_backward(&net, shape == POLYNOMIAL ? NULL : dx, dy);
            assert_int_equal(nn_net_lost_backward(&net), 1);
            assert_int_equal(gradients(got, false), n);
            for (size_t i = 0; i < n; i++)
                assert_true(got[i] == want[i]);
            for (size_t i = 0; i < IN && shape != POLYNOMIAL; i++)
                assert_true(dx[BROKEN * IN + i] == 0 && dx[i] != 0);
            arena_deinit(&arena);
        }
    }
}

static void test_without_layers_a_gradient_that_is_not_finite_is_nought(void **state)
{
    const struct nn_spec s = {.width = {2}, .out_scale = 1, .rows_max = 2};
    const float in[4] = {1, 2, 3, 4}, slope[4] = {5, 6, 7, INFINITY};
    float dx[4];

    (void)state;
    CHECK(arena_init(&arena, nn_net_bytes(&s)) == STATUS_OK);
    CHECK(nn_net_init(&net, &s, &arena) == STATUS_OK);
    nn_net_forward(&net, in, 2);
    nn_net_backward(&net, dx, slope);
    assert_true(dx[0] == 5 && dx[1] == 6 && dx[2] == 0 && dx[3] == 0);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_whose_forward_pass_is_not_finite_adds_exactly_nothing),
        cmocka_unit_test(test_a_record_whose_way_back_is_not_finite_adds_exactly_nothing),
        cmocka_unit_test(test_without_layers_a_gradient_that_is_not_finite_is_nought),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
