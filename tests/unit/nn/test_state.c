/* test_state.c -- a net goes on from its bytes as if nothing had happened.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "common/nn/state.h"

struct trainee {
    struct arena arena;
    struct nn_net net;
};

static void init(struct trainee *t, enum nn_optimizer how)
{
    static const uint8_t seed[RNG_KEY_BYTES] = {9};
    struct nn_spec spec = {.layers = 2,
                           .width = {3, 4, 2},
                           .act = {NN_ACT_RELU, NN_ACT_TANH},
                           .out_scale = 1,
                           .rows_max = 5,
                           .optimizer = how};
    struct rng r = {0};

    assert_int_equal(arena_init(&t->arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&t->net, &spec, &t->arena), STATUS_OK);
    assert_int_equal(rng_init_key(&r, seed), STATUS_OK);
    nn_net_randomize(&t->net, NN_INIT_GLOROT, &r);
    rng_deinit(&r);
}

static void train(struct trainee *t, int steps)
{
    static const float x[15] = {1, -2, .5f, 3, 1, 0, -1, 2, 2, .1f, .2f, .3f, -3, 1, 1};
    float dy[10];

    for (int s = 0; s < steps; s++) {
        const float *y = nn_net_forward(&t->net, x, 5);
        for (int i = 0; i < 10; i++)
            dy[i] = y[i] - .25f;
        nn_net_backward(&t->net, NULL, dy);
        nn_net_step(&t->net, .05f);
    }
}

static void test_a_restored_net_trains_on_to_the_same_bytes(void **state)
{
    (void)state;
    for (int how = NN_SGD; how <= NN_ADAMW; how++) {
        struct trainee a = {0}, b = {0};
        struct buf half, end_a, end_b;
        buf_init(&half, 1 << 16);
        buf_init(&end_a, 1 << 16);
        buf_init(&end_b, 1 << 16);
        init(&a, (enum nn_optimizer)how);
        init(&b, (enum nn_optimizer)how);
        train(&a, 3);
        assert_int_equal(nn_state_print(&a.net, &half), STATUS_OK);
        assert_int_equal(half.len, nn_state_bytes(&a.net));
        assert_int_equal(nn_state_parse(&b.net, half.data, half.len), STATUS_OK);
        train(&a, 4);
        train(&b, 4);
        assert_int_equal(nn_state_print(&a.net, &end_a), STATUS_OK);
        assert_int_equal(nn_state_print(&b.net, &end_b), STATUS_OK);
        assert_memory_equal(end_a.data, end_b.data, end_a.len);
        assert_memory_not_equal(end_a.data, half.data, end_a.len);
        buf_deinit(&half);
        buf_deinit(&end_a);
        buf_deinit(&end_b);
        arena_deinit(&a.arena);
        arena_deinit(&b.arena);
    }
}

static void test_bytes_that_do_not_fit_change_nothing(void **state)
{
    struct trainee sgd = {0}, adam = {0};
    struct buf before, after;
    float nan = NAN;

    (void)state;
    buf_init(&before, 1 << 16);
    buf_init(&after, 1 << 16);
    init(&sgd, NN_SGD);
    init(&adam, NN_ADAM);
    assert_int_equal(nn_state_print(&sgd.net, &before), STATUS_OK);
    assert_int_equal(nn_state_parse(&adam.net, before.data, before.len), STATUS_DATA);
    assert_int_equal(nn_state_parse(&sgd.net, before.data, before.len - 1), STATUS_DATA);
    memcpy(before.data + before.len - sizeof nan, &nan, sizeof nan);
    assert_int_equal(nn_state_parse(&sgd.net, before.data, before.len), STATUS_DATA);
    assert_int_equal(nn_state_print(&sgd.net, &after), STATUS_OK);
    assert_memory_equal(before.data, after.data, after.len - sizeof nan);
    assert_true(isfinite(sgd.net.layer[1].b[1]));
    buf_deinit(&before);
    buf_deinit(&after);
    arena_deinit(&sgd.arena);
    arena_deinit(&adam.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_restored_net_trains_on_to_the_same_bytes),
        cmocka_unit_test(test_bytes_that_do_not_fit_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
