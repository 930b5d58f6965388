/* test_outside.c -- a layer that somebody else computes, and states as floats.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/outside.h"

#include "common/base/check.h"
#include "common/nn/safetensors.h"
#include "common/nn/state.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 2, IN = 3, OUT = 2, BYTES = 5, FLOATS = 4 + 2 };

/* Who computes y = the first inputs plus `add`, and moves `add` against the gradient. */
struct other {
    float add;
    uint8_t state[BYTES];
    uint32_t fetched, given;
};

static void other_forward(void *owner, float *y, const float *x, uint32_t rows, bool training)
{
    const struct other *o = owner;

    (void)training;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < OUT; i++)
            y[r * OUT + i] = x[r * IN + i] + o->add;
}

static void other_back(void *owner, float *dx, const float *dy, uint32_t rows)
{
    (void)owner;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < IN; i++)
            dx[r * IN + i] = i < OUT ? dy[r * OUT + i] : 0;
}

static void other_step(void *owner, const float *dy, uint32_t rows, float rate)
{
    struct other *o = owner;

    for (uint32_t i = 0; i < rows * OUT; i++)
        o->add -= rate * dy[i];
    o->state[0]++;
}

static void other_fetch(void *owner, float *w, size_t floats)
{
    struct other *o = owner;

    o->fetched++;
    outside_pack(w, floats, o->state, BYTES);
}

static void other_give(void *owner, const float *w, size_t floats)
{
    struct other *o = owner;
    size_t n;
    bool lost;

    o->given++;
    assert_true(outside_unpack(o->state, BYTES, &n, &lost, w, floats));
    assert_int_equal(n, BYTES);
}

static struct other other;
static const struct nn_outside outside = {&other,     other_forward, other_back,
                                          other_step, other_fetch,   other_give};
static const struct nn_spec spec = {.layers = 1,
                                    .width = {IN, OUT},
                                    .act = {NN_ACT_TANH},
                                    .out_scale = 2,
                                    .rows_max = ROWS,
                                    .layer = {{.kind = NN_OUTSIDE, .units = FLOATS}},
                                    .outside = &outside};
static const float x[ROWS * IN] = {0.5F, -0.25F, 9, 0, 1, 9};

static struct arena arena;
static struct nn_net net;

static int set_up(void **state)
{
    (void)state;
    other = (struct other){.add = 0.125F, .state = {1, 2, 255, 0, 7}};
    CHECK(arena_init(&arena, nn_net_bytes(&spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static void test_its_output_is_activated_and_its_gradient_is_for_what_it_gave(void **state)
{
    static const float dy[ROWS * OUT] = {1, -2, 0.5F, 3};
    const float *y = nn_net_forward_masked(&net, x, ROWS);
    float add = other.add;

    (void)state;
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t i = 0; i < OUT; i++) {
            const double t = tanh((double)(x[r * IN + i] + 0.125F));

            assert_true(fabs((double)y[r * OUT + i] - 2 * t) < 1e-5);
            add -= (float)(0.5 * (double)dy[r * OUT + i] * 2 * (1 - t * t));
        }
    nn_net_backward(&net, NULL, dy);
    nn_net_step(&net, 0.5F);
    assert_true(fabsf(other.add - add) < 1e-5F);
}

static void test_a_state_is_fetched_before_it_is_read_and_given_after_it_was_written(void **state)
{
    struct buf out, file;
    struct error err = {0};
    float w[FLOATS];

    (void)state;
    buf_init(&out, SIZE_MAX);
    buf_init(&file, SIZE_MAX);
    assert_int_equal(nn_spec_params(&spec), FLOATS);
    nn_net_copy_params(&net, w);
    assert_int_equal(other.fetched, 1);
    assert_int_equal(nn_state_print(&net, &out), STATUS_OK);
    assert_int_equal(safetensors_print(&net, &file), STATUS_OK);
    assert_int_equal(other.fetched, 3);
    for (uint32_t way = 0; way < 3; way++) {
        memset(other.state, 0, BYTES);
        if (way == 0)
            nn_net_set_params(&net, w);
        else if (way == 1)
            assert_int_equal(nn_state_parse(&net, out.data, out.len), STATUS_OK);
        else
            assert_int_equal(safetensors_parse(&net, file.data, file.len, &err), STATUS_OK);
        assert_int_equal(other.given, way + 1);
        assert_memory_equal(other.state, ((const uint8_t[]){1, 2, 255, 0, 7}), BYTES);
    }
    buf_deinit(&out);
    buf_deinit(&file);
}

/* It is a net's only layer: nobody would bring it a gradient for what came in. */
static void test_nothing_stands_beside_it(void **state)
{
    struct nn_spec two = spec;

    (void)state;
    assert_true(nn_spec_fits(&spec));
    two.layers = 2;
    two.width[2] = OUT;
    assert_false(nn_spec_fits(&two));
    two = spec;
    two.layer[0].units = 3;
    assert_false(nn_spec_fits(&two));
    two.layer[0].units = OUTSIDE_FLOATS_MAX + 1;
    assert_false(nn_spec_fits(&two));
}

static void test_states_of_every_length_come_back(void **state)
{
    uint8_t bytes[64], back[64];
    float w[32];
    size_t n;
    bool lost;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 89 + 200);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        const size_t floats = outside_floats(len);

        assert_true(floats <= 32);
        outside_pack(w, floats, bytes, len);
        for (size_t i = 0; i < floats; i++)
            assert_true(isfinite(w[i]) && w[i] >= 0 && w[i] < 16777216.0F);
        assert_true(outside_unpack(back, sizeof back, &n, &lost, w, floats));
        assert_false(lost);
        assert_int_equal(n, len);
        assert_memory_equal(back, bytes, len);
    }
}

static void test_rows_that_are_large_come_a_few_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(outside_rows(100, 5000), 5000);
    assert_int_equal(outside_rows(1 << 20, 5000), 16);
    assert_int_equal(outside_rows(1 << 25, 5000), 1);
}

/* What a package or a checkpoint has in the place of a state may be anything. */
static void test_floats_that_are_no_state_are_none(void **state)
{
    static const float strange[] = {-1, 0.5F, 16777216.0F, 3e38F, NAN, INFINITY};
    float w[8];
    uint8_t bytes[16];
    size_t n;
    bool lost;

    (void)state;
    outside_pack(w, 8, (const uint8_t *)"state of 12b", 12);
    assert_true(outside_unpack(bytes, 16, &n, &lost, w, 8));
    assert_int_equal(n, 12);
    assert_false(lost);
    assert_memory_equal(bytes, "state of 12b", 12);
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < sizeof strange / sizeof *strange; k++) {
            const float was = w[i];

            w[i] = strange[k];
            assert_false(outside_unpack(bytes, 16, &n, &lost, w, 8));
            w[i] = was;
        }
    w[1] = 13; /* more bytes than floats for them */
    assert_false(outside_unpack(bytes, 16, &n, &lost, w, 8));
    assert_false(outside_unpack(bytes, 16, &n, &lost, w, 3));
    outside_pack_lost(w, 8);
    assert_true(outside_unpack(bytes, 16, &n, &lost, w, 8));
    assert_true(lost);
    w[0] = 2;
    assert_false(outside_unpack(bytes, 16, &n, &lost, w, 8));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_its_output_is_activated_and_its_gradient_is_for_what_it_gave),
        TEST(test_a_state_is_fetched_before_it_is_read_and_given_after_it_was_written),
        TEST(test_nothing_stands_beside_it),
        TEST(test_states_of_every_length_come_back),
        TEST(test_rows_that_are_large_come_a_few_at_a_time),
        cmocka_unit_test(test_floats_that_are_no_state_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
