/* test_optim.c -- the update rules against their formulas in double, and that wrong ones would be
 * seen.
 *
 * Over a made-up sequence of gradients; test_net.c follows the golden trajectories of a whole net.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/optim.h"

#include "common/nn/net.h"
#include "tests/unit/nn/sample.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { N = 53, STEPS = 5 };
static const double LR = 0.05;

/* A variant of Adam: the exponent that corrects the bias is t + shift, or none is applied. */
struct variant {
    int corrected;
    int shift;
    int epsilon_inside;
};

static void reference_adam(double *w, const float (*g)[N], const struct variant *v)
{
    double m[N] = {0}, s[N] = {0};

    for (int t = 1; t <= STEPS; t++)
        for (size_t i = 0; i < N; i++) {
            const double d = (double)g[t - 1][i], p = (double)(t + v->shift);
            const double c1 = v->corrected ? 1.0 - pow(0.9, p) : 1.0;
            const double c2 = v->corrected ? 1.0 - pow(0.999, p) : 1.0;

            m[i] = 0.9 * m[i] + 0.1 * d;
            s[i] = 0.999 * s[i] + 0.001 * d * d;
            w[i] -= LR * (m[i] / c1) /
                    (v->epsilon_inside ? sqrt(s[i] / c2 + 1e-8) : sqrt(s[i] / c2) + 1e-8);
        }
}

static void reference_momentum(double *w, const float (*g)[N], double mu, double dampening)
{
    double v[N] = {0};

    for (int t = 0; t < STEPS; t++)
        for (size_t i = 0; i < N; i++) {
            v[i] = mu * v[i] + (1.0 - dampening) * (double)g[t][i];
            w[i] -= LR * v[i];
        }
}

struct case_of {
    float w[N], g[STEPS][N], m[N], v[N];
    double want[N];
};

static void start(struct case_of *c)
{
    uint64_t seed = 6;

    memset(c, 0, sizeof *c);
    sample_fill(c->w, N, 1.0F, &seed);
    for (int t = 0; t < STEPS; t++)
        sample_fill(c->g[t], N, 0.02F, &seed);
    for (size_t i = 0; i < N; i++)
        c->want[i] = (double)c->w[i];
}

static void test_sgd_goes_down_the_gradient(void **state)
{
    struct case_of c;

    (void)state;
    start(&c);
    for (int t = 0; t < STEPS; t++) {
        optim_sgd(c.w, c.g[t], N, (float)LR);
        for (size_t i = 0; i < N; i++)
            c.want[i] -= LR * (double)c.g[t][i];
    }
    assert_int_equal(sample_misses(c.w, c.want, N, 1e-6, 1e-7), 0);
}

static size_t momentum_misses(double mu, double dampening)
{
    struct case_of c;

    start(&c);
    for (int t = 0; t < STEPS; t++)
        optim_momentum(c.w, c.v, c.g[t], N, (float)LR);
    reference_momentum(c.want, (const float(*)[N])c.g, mu, dampening);
    return sample_misses(c.w, c.want, N, 1e-6, 1e-6);
}

static void test_momentum_is_the_heavy_ball_at_0_9(void **state)
{
    (void)state;
    assert_int_equal(momentum_misses(0.9, 0.0), 0);
}

static void test_another_momentum_would_be_seen(void **state)
{
    (void)state;
    assert_true(momentum_misses(0.89, 0.0) > N / 2);
    assert_true(momentum_misses(0.9, 0.9) > N / 2);
    assert_true(momentum_misses(0.0, 0.0) > N / 2);
}

static size_t adam_misses(struct variant v)
{
    struct case_of c;

    start(&c);
    for (int t = 0; t < STEPS; t++)
        optim_adam(c.w, c.m, c.v, c.g[t], N, (float)LR, (uint64_t)t + 1);
    reference_adam(c.want, (const float(*)[N])c.g, &v);
    return sample_misses(c.w, c.want, N, 2e-6, 2e-6);
}

static void test_adam_is_algorithm_1_of_its_paper(void **state)
{
    (void)state;
    assert_int_equal(adam_misses((struct variant){1, 0, 0}), 0);
}

static void test_a_wrong_bias_correction_would_be_seen(void **state)
{
    (void)state;
    assert_true(adam_misses((struct variant){0, 0, 0}) > N / 2);
    assert_true(adam_misses((struct variant){1, 1, 0}) > N / 2);
    assert_true(adam_misses((struct variant){1, 0, 1}) > N / 2);
}

static void test_adam_does_not_move_without_a_gradient(void **state)
{
    float w = 0.5F, m = 0.0F, v = 0.0F;
    const float g = 0.0F;

    (void)state;
    for (uint64_t t = 1; t < 100; t++)
        optim_adam(&w, &m, &v, &g, 1, 0.1F, t);
    assert_true(w == 0.5F && m == 0.0F && v == 0.0F);
}

static void test_a_pull_adds_to_the_gradient_and_nothing_else(void **state)
{
    struct case_of c;
    float was[N];

    (void)state;
    start(&c);
    for (size_t i = 0; i < N; i++)
        c.want[i] = (double)c.g[0][i] + 0.25 * ((double)c.w[i] - (double)c.g[1][i]);
    memcpy(was, c.w, sizeof was);
    optim_pull(c.g[0], c.w, c.g[1], N, 0.25F);
    assert_int_equal(sample_misses(c.g[0], c.want, N, 1e-6, 1e-7), 0);
    assert_memory_equal(c.w, was, sizeof was);
}

static void test_a_ridge_adds_the_slope_of_the_squares_to_the_gradient(void **state)
{
    struct case_of c;
    float was[N];

    (void)state;
    start(&c);
    for (size_t i = 0; i < N; i++)
        c.want[i] = (double)c.g[0][i] + 0.25 * (double)c.w[i];
    memcpy(was, c.w, sizeof was);
    optim_ridge(c.g[0], c.w, N, 0.25F);
    assert_int_equal(sample_misses(c.g[0], c.want, N, 1e-6, 1e-7), 0);
    assert_memory_equal(c.w, was, sizeof was);
}

static void test_what_decays_is_the_rate_times_lambda_of_each_weight(void **state)
{
    struct case_of c;

    (void)state;
    start(&c);
    for (size_t i = 0; i < N; i++)
        c.want[i] = (double)c.w[i] * (1 - 0.5 * 0.125);
    optim_decay(c.w, N, 0.5F, 0.125F);
    assert_int_equal(sample_misses(c.w, c.want, N, 1e-6, 1e-7), 0);
    optim_decay(c.w, N, 8, 0.125F);
    for (size_t i = 0; i < N; i++)
        assert_true(c.w[i] == 0);
}

/* Each rule, many steps, from anywhere, whatever the gradients are. */
static void test_weights_and_state_are_finite_after_every_step(void **state)
{
    static const float slopes[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e20F, 1e-45F};
    float w[N], m[N], v[N], g[N];

    (void)state;
    for (int rule = 0; rule < 3; rule++) {
        for (size_t i = 0; i < N; i++)
            w[i] = m[i] = v[i] = 0;
        for (uint64_t t = 1; t <= 2000; t++) {
            for (size_t i = 0; i < N; i++)
                g[i] = t % 3 == 0 ? slopes[(i + t) % 7] : slopes[i % 7];
            optim_pull(g, w, m, N, 1e6F);
            optim_ridge(g, w, N, 1e-3F);
            optim_decay(w, N, 1000, 1e-3F);
            if (rule == 0)
                optim_sgd(w, g, N, 1000);
            else if (rule == 1)
                optim_momentum(w, m, g, N, 1000);
            else
                optim_adam(w, m, v, g, N, 1000, t);
            for (size_t i = 0; i < N; i++) {
                assert_true(fabsf(w[i]) <= OPTIM_WEIGHT_MAX);
                assert_true(isfinite(m[i]) && isfinite(v[i]) && v[i] >= 0);
            }
        }
    }
}

static void test_a_gradient_that_is_no_number_moves_nothing(void **state)
{
    const float g[2] = {NAN, 2}, end = 1 - 0.5F * 2;
    float w[2] = {1, 1}, m[2] = {0, 0}, v[2] = {0, 0};

    (void)state;
    optim_sgd(w, g, 2, 0.5F);
    assert_true(w[0] == 1 && w[1] == end);
    w[1] = 1;
    optim_momentum(w, m, g, 2, 0.5F);
    assert_true(w[0] == 1 && w[1] == end);
    m[1] = 0;
    optim_adam(w, m, v, g, 2, 0.5F, 1);
    assert_true(w[0] == 1 && m[0] == 0 && v[0] == 0 && v[1] > 0);
}

static void test_weights_from_elsewhere_get_the_same_bounds(void **state)
{
    float w[5] = {NAN, INFINITY, -FLT_MAX, 7, -OPTIM_WEIGHT_MAX};

    (void)state;
    optim_limit(w, 5);
    assert_true(w[0] == 0 && w[1] == OPTIM_WEIGHT_MAX && w[2] == -OPTIM_WEIGHT_MAX && w[3] == 7 &&
                w[4] == -OPTIM_WEIGHT_MAX);
}

/* Steps of a net of one layer with weight decay against the rules of PyTorch's optimisers, in
 * double: L2 enters the gradient, so that adam divides it too; what adamw takes away it does not
 * see. */
static void expect_decay(enum nn_optimizer rule)
{
    enum { PARAMS = 8, TURNS = 4 };
    const double lr = 0.05, lambda = 0.3;
    const struct nn_spec s = {1, {3, 2}, {NN_ACT_NONE}, 1.0F, 1, rule, .weight_decay = 0.3F};
    double w[PARAMS], m[PARAMS] = {0}, v[PARAMS] = {0};
    struct nn_net n;
    struct arena a;

    assert_int_equal(arena_init(&a, nn_net_bytes(&s)), STATUS_OK);
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    for (int i = 0; i < PARAMS; i++)
        w[i] = (double)(n.layer[0].w[i] = 0.5F - 0.25F * (float)i);
    for (int t = 1; t <= TURNS; t++) {
        for (int i = 0; i < PARAMS; i++) {
            double g = (double)(n.layer[0].dw[i] = 0.01F * (float)(i * t - 7));

            if (rule == NN_ADAMW)
                w[i] -= lr * lambda * w[i];
            else
                g += lambda * w[i];
            if (rule == NN_SGD) {
                w[i] -= lr * g;
            } else if (rule == NN_MOMENTUM) {
                w[i] -= lr * (m[i] = 0.9 * m[i] + g);
            } else {
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                w[i] -= lr * m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.999, t))) + 1e-8);
            }
        }
        nn_net_step(&n, (float)lr);
    }
    for (int i = 0; i < PARAMS; i++)
        assert_true(fabs((double)n.layer[0].w[i] - w[i]) < 2e-6);
    arena_deinit(&a);
}

static void test_weights_decay_as_the_optimiser_has_it(void **state)
{
    (void)state;
    for (int rule = NN_SGD; rule <= NN_ADAMW; rule++)
        expect_decay((enum nn_optimizer)rule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_goes_down_the_gradient),
        cmocka_unit_test(test_momentum_is_the_heavy_ball_at_0_9),
        cmocka_unit_test(test_another_momentum_would_be_seen),
        cmocka_unit_test(test_adam_is_algorithm_1_of_its_paper),
        cmocka_unit_test(test_a_wrong_bias_correction_would_be_seen),
        cmocka_unit_test(test_adam_does_not_move_without_a_gradient),
        cmocka_unit_test(test_a_pull_adds_to_the_gradient_and_nothing_else),
        cmocka_unit_test(test_a_ridge_adds_the_slope_of_the_squares_to_the_gradient),
        cmocka_unit_test(test_what_decays_is_the_rate_times_lambda_of_each_weight),
        cmocka_unit_test(test_weights_decay_as_the_optimiser_has_it),
        cmocka_unit_test(test_weights_and_state_are_finite_after_every_step),
        cmocka_unit_test(test_a_gradient_that_is_no_number_moves_nothing),
        cmocka_unit_test(test_weights_from_elsewhere_get_the_same_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
