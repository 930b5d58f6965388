/* test_pool.c -- of a window's values which is the most, where that is not plain.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/pool.h"

#include "common/base/check.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { SIDE = 4, VALUES = SIDE * SIDE };

static struct arena arena;
static struct nn_net net;

/* Windows of 2 x 2 that do not overlap, on one channel. */
static int set_up(void **state)
{
    const struct nn_spec s = {
        .layers = 1,
        .width = {VALUES, VALUES / 4},
        .out_scale = 1,
        .rows_max = 1,
        .layer = {{.kind = NN_MAX_POOL, .shape = {1, SIDE, SIDE}, .window = {{2, 2}, {2, 2}}}}};

    (void)state;
    CHECK(arena_init(&arena, nn_net_bytes(&s)) == STATUS_OK);
    CHECK(nn_net_init(&net, &s, &arena) == STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

/* Without the net, which makes a row of zeros of one that is not finite. */
static const float *forward(const float x[VALUES])
{
    MAX_POOL_LAYER.forward(&net.layer[0], x, 1);
    return net.layer[0].y;
}

static void test_of_equal_values_the_first_gets_all_that_comes_back(void **state)
{
    /* Equal are all of the first window, two of the second and of the fourth; none of the third. */
    static const float x[VALUES] = {7, 7, 1, 5, 7, 7, 5, 2, -1, -2, 3, 0, -3, -4, 0, 3};
    static const float back[VALUES] = {10, 0, 0, 20, 0, 0, 0, 0, 30, 0, 40, 0, 0, 0, 0, 0};
    static const float dy[VALUES / 4] = {10, 20, 30, 40};
    float dx[VALUES];

    (void)state;
    nn_net_forward(&net, x, 1);
    nn_net_backward(&net, dx, dy);
    assert_memory_equal(dx, back, sizeof dx);
}

/* So that the record is seen to be none, and counts as nothing (sound.h). */
static void test_a_value_that_is_no_number_is_the_most_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t at = 0; at < VALUES; at++) {
        float x[VALUES] = {0};
        const float *y;

        x[at] = NAN;
        y = forward(x);
        for (size_t w = 0; w < VALUES / 4; w++)
            assert_true((isnan(y[w]) != 0) == (w == at / SIDE / 2 * 2 + at % SIDE / 2));
        nn_net_forward(&net, x, 1);
        assert_int_equal(nn_net_lost_forward(&net), 1);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_of_equal_values_the_first_gets_all_that_comes_back),
        TEST(test_a_value_that_is_no_number_is_the_most_wherever_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
