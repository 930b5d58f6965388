/* test_net_golden.c -- a 6-8-5-3 net against tests/golden/gen_nn.py: forward, loss, gradients, and
 * three steps of each optimiser.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/net.h"

#include "common/nn/loss.h"
#include "tests/unit/nn/golden.h"
#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 7, PARAMS = 119, OUT = 3, STEPS = 3 };

static const char *const RULES[] = {"sgd", "momentum",
                                    "adam"}; /* in the order of enum nn_optimizer */

static const json_t *golden(const char *key)
{
    return json_object_get(json_object_get(golden_vectors, "net"), key);
}

struct trial {
    struct arena arena;
    struct nn_net net;
    float x[ROWS * 6], label[ROWS], dy[ROWS * OUT], dx[ROWS * 6];
};

/* Copies w, b of all layers into or out of one run of floats. */
static void transfer(struct nn_net *n, float *flat, int into_net, int gradients)
{
    for (size_t l = 0; l < n->spec.layers; l++) {
        struct nn_layer *y = &n->layer[l];
        const size_t count[2] = {(size_t)y->in * y->out, y->out};
        float *part[2] = {gradients ? y->dw : y->w, gradients ? y->db : y->b};

        for (int i = 0; i < 2; flat += count[i++])
            memcpy(into_net ? part[i] : flat, into_net ? flat : part[i], count[i] * sizeof *flat);
    }
}

static void trial_open(struct trial *t, enum nn_optimizer o)
{
    const struct nn_spec spec = {
        3, {6, 8, 5, OUT}, {NN_ACT_RELU, NN_ACT_SIGMOID, NN_ACT_TANH}, 2.5F, ROWS,
        o, .layer = {{0}}};
    float p[PARAMS];

    assert_int_equal(arena_init(&t->arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&t->net, &spec, &t->arena), STATUS_OK);
    assert_int_equal(sample_floats(p, PARAMS, golden("params")), PARAMS);
    assert_int_equal(sample_floats(t->x, ROWS * 6, golden("x")), ROWS * 6);
    assert_int_equal(sample_floats(t->label, ROWS, golden("label")), ROWS);
    transfer(&t->net, p, 1, 0);
}

static double run(struct trial *t)
{
    const float *y = nn_net_forward(&t->net, t->x, ROWS);
    const double loss = nn_loss(NN_LOSS_SOFTMAX, t->dy, y, t->label, ROWS, OUT);

    nn_net_backward(&t->net, t->dx, t->dy);
    return loss;
}

static void test_forward_loss_and_gradients_are_the_golden_ones(void **state)
{
    struct trial t;
    double want[PARAMS];
    float got[PARAMS];

    (void)state;
    trial_open(&t, NN_SGD);
    assert_true(sample_close(run(&t), json_number_value(golden("loss")), 1e-6, 0.0));
    assert_int_equal(sample_doubles(want, PARAMS, golden("y")), ROWS * OUT);
    assert_int_equal(sample_misses(t.net.layer[2].y, want, ROWS * OUT, 1e-6, 1e-6), 0);
    assert_int_equal(sample_doubles(want, PARAMS, golden("dy")), ROWS * OUT);
    assert_int_equal(sample_misses(t.dy, want, ROWS * OUT, 1e-5, 1e-7), 0);
    assert_int_equal(sample_doubles(want, PARAMS, golden("gradient")), PARAMS);
    transfer(&t.net, got, 0, 1);
    assert_int_equal(sample_misses(got, want, PARAMS, 1e-5, 1e-6), 0);
    assert_int_equal(sample_doubles(want, PARAMS, golden("dx")), ROWS * 6);
    assert_int_equal(sample_misses(t.dx, want, ROWS * 6, 1e-5, 1e-6), 0);
    arena_deinit(&t.arena);
}

/* Parameters that miss the golden ones of `rule` after any of three steps with optimiser o. */
static size_t trajectory_misses(enum nn_optimizer o, const char *rule)
{
    struct trial t;
    double want[PARAMS];
    float got[PARAMS];
    size_t misses = 0;

    trial_open(&t, o);
    for (size_t step = 0; step < STEPS; step++) {
        run(&t);
        nn_net_step(&t.net, 0.05F);
        transfer(&t.net, got, 0, 0);
        assert_int_equal(sample_doubles(want, PARAMS, json_array_get(golden(rule), step)), PARAMS);
        misses += sample_misses(got, want, PARAMS, 1e-5, 1e-5);
    }
    arena_deinit(&t.arena);
    return misses;
}

static void test_three_steps_are_the_golden_ones(void **state)
{
    (void)state;
    for (int o = 0; o < 3; o++)
        assert_int_equal(trajectory_misses((enum nn_optimizer)o, RULES[o]), 0);
}

static void test_another_rule_misses_them(void **state)
{
    (void)state;
    for (int o = 0; o < 3; o++)
        assert_true(trajectory_misses((enum nn_optimizer)o, RULES[(o + 1) % 3]) > PARAMS / 2);
}

/* Adam whose t does not count: the bias correction of step 1 at each step. */
static void test_adam_that_forgets_its_step_misses_them(void **state)
{
    struct trial t;
    double want[PARAMS];
    float got[PARAMS];

    (void)state;
    trial_open(&t, NN_ADAM);
    for (size_t step = 0; step < STEPS; step++) {
        run(&t);
        t.net.steps = 0;
        nn_net_step(&t.net, 0.05F);
    }
    transfer(&t.net, got, 0, 0);
    sample_doubles(want, PARAMS, json_array_get(golden("adam"), STEPS - 1));
    assert_true(sample_misses(got, want, PARAMS, 1e-5, 1e-5) > PARAMS / 2);
    arena_deinit(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_loss_and_gradients_are_the_golden_ones),
        cmocka_unit_test(test_three_steps_are_the_golden_ones),
        cmocka_unit_test(test_another_rule_misses_them),
        cmocka_unit_test(test_adam_that_forgets_its_step_misses_them),
    };
    return cmocka_run_group_tests(tests, golden_load, golden_unload);
}
