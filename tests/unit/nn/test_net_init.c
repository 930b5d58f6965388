/* test_net_init.c -- initial weights: the documented order of draws, and the distributions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/net.h"

#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* torch first: glorot and he must clear the biases that it leaves. */
static const enum nn_init INITS[] = {NN_INIT_TORCH, NN_INIT_GLOROT, NN_INIT_HE};
static const uint8_t KEY[RNG_KEY_BYTES] = {1, 2, 3, 4};

static void open_net(struct nn_net *n, struct arena *a, const struct nn_spec *s)
{
    assert_int_equal(arena_init(a, nn_net_bytes(s)), STATUS_OK);
    assert_int_equal(nn_net_init(n, s, a), STATUS_OK);
}

static void randomize(struct nn_net *n, enum nn_init init, const uint8_t key[RNG_KEY_BYTES])
{
    struct rng r;

    memset(&r, 0, sizeof r);
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    nn_net_randomize(n, init, &r);
    rng_deinit(&r);
}

/* What net.h says, once more: layer order, w row major then b, one draw each. */
static float draw_again(struct rng *r, enum nn_init init, double in, double out, int bias)
{
    switch (init) {
    case NN_INIT_GLOROT:
        return bias ? 0.0F : (float)((2.0 * rng_uniform(r) - 1.0) * sqrt(6.0 / (in + out)));
    case NN_INIT_HE: return bias ? 0.0F : (float)(rng_normal(r) * sqrt(2.0 / in));
    case NN_INIT_TORCH: return (float)((2.0 * rng_uniform(r) - 1.0) * (1.0 / sqrt(in)));
    }
    return NAN;
}

static void test_draws_come_in_the_documented_order(void **state)
{
    const struct nn_spec s = {2,      {6, 8, 3},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 1,
                              NN_SGD, .layer = {{0}}};
    struct nn_net n;
    struct arena a;

    (void)state;
    open_net(&n, &a, &s);
    for (size_t k = 0; k < 3; k++) {
        struct rng r;

        randomize(&n, INITS[k], KEY);
        memset(&r, 0, sizeof r);
        assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
        for (size_t l = 0; l < 2; l++) {
            const double in = (double)s.width[l], out = (double)s.width[l + 1];

            for (size_t i = 0; i < (size_t)s.width[l] * s.width[l + 1]; i++)
                assert_true(n.layer[l].w[i] == draw_again(&r, INITS[k], in, out, 0));
            for (size_t i = 0; i < s.width[l + 1]; i++)
                assert_true(n.layer[l].b[i] == draw_again(&r, INITS[k], in, out, 1));
        }
        rng_deinit(&r);
    }
    arena_deinit(&a);
}

static void test_another_key_gives_another_model(void **state)
{
    const struct nn_spec s = {1, {6, 8}, {NN_ACT_RELU}, 1.0F, 1, NN_SGD, .layer = {{0}}};
    const uint8_t other[RNG_KEY_BYTES] = {1, 2, 3, 5};
    float first[48];
    struct nn_net n;
    struct arena a;

    (void)state;
    open_net(&n, &a, &s);
    randomize(&n, NN_INIT_GLOROT, KEY);
    memcpy(first, n.layer[0].w, sizeof first);
    randomize(&n, NN_INIT_GLOROT, other);
    assert_memory_not_equal(first, n.layer[0].w, sizeof first);
    randomize(&n, NN_INIT_GLOROT, KEY);
    assert_memory_equal(first, n.layer[0].w, sizeof first);
    arena_deinit(&a);
}

struct moments {
    double mean, variance, kurtosis, largest;
};

static struct moments moments_of(const float *x, size_t n)
{
    struct moments m = {0.0, 0.0, 0.0, 0.0};
    double fourth = 0.0;

    for (size_t i = 0; i < n; i++) {
        m.mean += (double)x[i] / (double)n;
        m.largest = fmax(m.largest, fabs((double)x[i]));
    }
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - m.mean;

        m.variance += d * d / (double)n;
        fourth += d * d * d * d / (double)n;
    }
    m.kurtosis = fourth / (m.variance * m.variance);
    return m;
}

/* 120,000 weights: five standard errors are 0.0144 s of the mean, 1.3 % (uniform) or 2.1 % of the
 * variance. Kurtosis 9/5 and the range tell a uniform from a normal (3). */
static void check_moments(enum nn_init init, double variance, double range)
{
    const struct nn_spec s = {1, {200, 600}, {NN_ACT_RELU}, 1.0F, 1, NN_SGD, .layer = {{0}}};
    struct moments m;
    struct nn_net n;
    struct arena a;

    open_net(&n, &a, &s);
    randomize(&n, init, KEY);
    m = moments_of(n.layer[0].w, (size_t)200 * 600);
    assert_true(fabs(m.mean) < 0.0145 * sqrt(variance));
    assert_true(fabs(m.variance / variance - 1.0) < (range > 0.0 ? 0.013 : 0.021));
    assert_true(fabs(m.kurtosis - (range > 0.0 ? 1.8 : 3.0)) < (range > 0.0 ? 0.03 : 0.1));
    if (range > 0.0)
        assert_true(m.largest <= range * 1.0000001 && m.largest > range * 0.999);
    m = moments_of(n.layer[0].b, 600);
    if (init == NN_INIT_TORCH)
        assert_true(m.largest <= range * 1.0000001 && m.largest > range * 0.97);
    else
        assert_true(m.largest == 0.0);
    arena_deinit(&a);
}

static void test_glorot_is_uniform_within_root_6_over_in_plus_out(void **state)
{
    (void)state;
    check_moments(NN_INIT_GLOROT, 2.0 / 800.0, sqrt(6.0 / 800.0));
}

static void test_he_is_normal_with_variance_2_over_in(void **state)
{
    (void)state;
    check_moments(NN_INIT_HE, 2.0 / 200.0, 0.0);
}

static void test_torch_is_uniform_within_1_over_root_in(void **state)
{
    (void)state;
    check_moments(NN_INIT_TORCH, 1.0 / 600.0, 1.0 / sqrt(200.0));
}

static void test_randomize_forgets_the_optimiser(void **state)
{
    const struct nn_spec s = {1, {2, 2}, {NN_ACT_NONE}, 1.0F, 1, NN_ADAM, .layer = {{0}}};
    const float x[2] = {1.0F, 2.0F}, dy[2] = {1.0F, -1.0F};
    struct nn_net n;
    struct arena a;

    (void)state;
    open_net(&n, &a, &s);
    nn_net_forward(&n, x, 1);
    nn_net_backward(&n, NULL, dy);
    nn_net_step(&n, 0.1F);
    assert_true(n.layer[0].m1[0] != 0.0F && n.layer[0].m2[5] != 0.0F && n.steps == 1);
    randomize(&n, NN_INIT_HE, KEY);
    for (size_t i = 0; i < 6; i++)
        assert_true(n.layer[0].m1[i] == 0.0F && n.layer[0].m2[i] == 0.0F);
    assert_int_equal(n.steps, 0);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_come_in_the_documented_order),
        cmocka_unit_test(test_another_key_gives_another_model),
        cmocka_unit_test(test_glorot_is_uniform_within_root_6_over_in_plus_out),
        cmocka_unit_test(test_he_is_normal_with_variance_2_over_in),
        cmocka_unit_test(test_torch_is_uniform_within_1_over_root_in),
        cmocka_unit_test(test_randomize_forgets_the_optimiser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
