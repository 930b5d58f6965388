/* test_unit_dropout.c -- masks: how often they drop, and that a pass with them and back is the
 * derivative of what went forward; without them nothing has changed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/unit_dropout.h"

#include "common/nn/dpsgd.h"
#include "common/nn/head.h"
#include "tests/unit/nn/sample.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 5, INPUTS = 3, OUTPUTS = 2, HIDDEN = 8, PARAMS_MAX = 256 };

static void open_rng(struct rng *r, uint8_t first)
{
    uint8_t key[RNG_KEY_BYTES] = {first};

    assert_int_equal(rng_init_key(r, key), STATUS_OK);
}

static void test_as_many_are_dropped_as_was_asked_for(void **state)
{
    enum { N = 100000 };
    static float mask[N];
    struct rng r = {0};
    double sum = 0;
    size_t dropped = 0;

    (void)state;
    open_rng(&r, 1);
    unit_dropout_draw(mask, N, 0.3F, &r);
    for (size_t i = 0; i < N; i++) {
        assert_true(mask[i] == 0 || fabsf(mask[i] - 1 / 0.7F) < 1e-6F);
        dropped += mask[i] == 0;
        sum += (double)mask[i];
    }
    assert_true(fabs((double)dropped / N - 0.3) < 0.01);
    assert_true(fabs(sum / N - 1) < 0.01);
    unit_dropout_draw(mask, N, 0, &r);
    for (size_t i = 0; i < N; i++)
        assert_true(mask[i] == 1);
    rng_deinit(&r);
}

static struct nn_spec spec_of(enum nn_act act, float dropout)
{
    return (struct nn_spec){.layers = 3,
                            .width = {INPUTS, HIDDEN, HIDDEN - 1, OUTPUTS},
                            .act = {act, act, NN_ACT_TANH},
                            .out_scale = 1.5F,
                            .rows_max = ROWS,
                            .dropout = dropout};
}

struct fixture {
    struct arena arena;
    struct nn_net net;
    struct rng rng;
    float x[ROWS * INPUTS], dy[ROWS * OUTPUTS];
};

static void fixture_init(struct fixture *f, enum nn_act act, float dropout)
{
    const struct nn_spec spec = spec_of(act, dropout);
    uint64_t seed = 3;

    *f = (struct fixture){0};
    open_rng(&f->rng, 2);
    assert_int_equal(arena_init(&f->arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&f->net, &spec, &f->arena), STATUS_OK);
    nn_net_randomize(&f->net, NN_INIT_TORCH, &f->rng);
    sample_fill(f->x, ROWS * INPUTS, 1.0F, &seed);
    sample_fill(f->dy, ROWS * OUTPUTS, 1.0F, &seed);
    nn_net_draw_masks(&f->net, ROWS, &f->rng);
}

static void fixture_deinit(struct fixture *f)
{
    rng_deinit(&f->rng);
    arena_deinit(&f->arena);
}

static double value(struct fixture *f)
{
    const float *y = nn_net_forward_masked(&f->net, f->x, ROWS);
    double sum = 0;

    for (size_t i = 0; i < ROWS * OUTPUTS; i++)
        sum += (double)y[i] * f->dy[i];
    return sum;
}

/* Each weight's slope, by a difference. */
static void check_slopes(struct fixture *f)
{
    const float step = 1e-2F;

    (void)value(f);
    nn_net_backward(&f->net, NULL, f->dy);
    for (size_t i = 0; i < f->net.spec.layers; i++) {
        struct nn_layer *l = &f->net.layer[i];

        for (size_t k = 0; k < nn_layer_params(l); k++) {
            const float was = l->w[k];
            double up, down;

            l->w[k] = was + step;
            up = value(f);
            l->w[k] = was - step;
            down = value(f);
            l->w[k] = was;
            assert_true(fabs((up - down) / (2 * (double)step) - (double)l->dw[k]) < 2e-3);
        }
    }
}

static void test_slopes_are_those_of_the_pass_with_masks(void **state)
{
    static const enum nn_act acts[] = {NN_ACT_NONE, NN_ACT_TANH, NN_ACT_SIGMOID};

    (void)state;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        struct fixture f;

        fixture_init(&f, acts[i], 0.4F);
        check_slopes(&f);
        fixture_deinit(&f);
    }
}

/* relu has a corner, where a difference is no slope: by hand, of its one hidden layer. */
static void test_a_dropped_unit_has_no_slope_and_the_others_more(void **state)
{
    struct fixture f;
    const struct nn_layer *l;

    (void)state;
    fixture_init(&f, NN_ACT_RELU, 0.4F);
    (void)value(&f);
    nn_net_backward(&f.net, NULL, f.dy);
    l = &f.net.layer[1];
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < l->out; c++) {
            const size_t at = r * l->out + c;
            double slope = 0;

            for (size_t k = 0; k < OUTPUTS; k++)
                slope += (double)f.net.layer[2].dy[r * OUTPUTS + k] *
                         (double)f.net.layer[2].w[c * OUTPUTS + k];
            assert_true(l->y[at] == l->whole[at] * l->mask[at]);
            slope *= l->whole[at] > 0 ? (double)l->mask[at] : 0;
            assert_true(fabs(slope - (double)l->dy[at]) < 1e-5);
        }
    fixture_deinit(&f);
}

/* Evaluations are by all units, whatever was drawn, and so is what goes back through them. */
static void test_a_pass_without_masks_is_that_of_a_net_without_dropout(void **state)
{
    float y[ROWS * OUTPUTS], slopes[PARAMS_MAX];
    struct fixture with, without;
    size_t n;

    (void)state;
    fixture_init(&with, NN_ACT_TANH, 0.4F);
    fixture_init(&without, NN_ACT_TANH, 0);
    n = nn_layer_params(&with.net.layer[0]);
    (void)value(&with);
    memcpy(y, nn_net_forward_masked(&without.net, without.x, ROWS), sizeof y);
    assert_memory_not_equal(with.net.layer[2].y, y, sizeof y);
    assert_memory_equal(nn_net_forward(&with.net, with.x, ROWS), y, sizeof y);
    nn_net_backward(&without.net, NULL, without.dy);
    memcpy(slopes, without.net.layer[0].dw, n * sizeof *slopes);
    nn_net_backward(&with.net, NULL, with.dy);
    assert_memory_equal(with.net.layer[0].dw, slopes, n * sizeof *slopes);
    fixture_deinit(&with);
    fixture_deinit(&without);
}

/* The same masks until others are drawn, and of the same stream the same. */
static void test_masks_stand_until_the_next(void **state)
{
    struct fixture f;
    double first;

    (void)state;
    fixture_init(&f, NN_ACT_TANH, 0.4F);
    first = value(&f);
    (void)nn_net_forward(&f.net, f.x, ROWS);
    assert_true(value(&f) == first);
    nn_net_draw_masks(&f.net, ROWS, &f.rng);
    assert_true(value(&f) != first);
    fixture_deinit(&f);
}

/* A record's gradient is cut with its masks on: no longer than it may be. */
static void test_gradients_of_single_records_are_cut_with_masks_on(void **state)
{
    double memory[4096], factor[ROWS];
    struct fixture f;
    struct dpsum s;
    const double most = 0.05;

    (void)state;
    fixture_init(&f, NN_ACT_TANH, 0.4F);
    assert_true(dpsum_doubles(&f.net.spec) <= sizeof memory / sizeof *memory);
    dpsum_init(&s, &f.net.spec, memory);
    (void)value(&f);
    assert_true(dpsgd_backward(&s, &f.net, f.dy, most, factor) > 0);
    for (size_t r = 0; r < ROWS; r++) {
        double one[ROWS] = {0}, norm = 0;

        one[r] = factor[r];
        dpsum_begin(&s);
        dpsum_add(&s, &f.net, one);
        for (size_t k = 0; k < s.params; k++)
            norm += s.sum[k] * s.sum[k];
        assert_true(sqrt(norm) <= most);
        assert_true(factor[r] == 1 || sqrt(norm) > most * 0.999);
    }
    fixture_deinit(&f);
}

/* A head's masks are of the public seed and the step. */
static void test_a_heads_masks_follow_from_seed_and_step(void **state)
{
    enum { MASK = ROWS * HIDDEN };
    struct nn_head h;
    struct arena arena;
    struct rng rng = {0};
    struct plan p;
    float mask[MASK];

    (void)state;
    plan_defaults(&p);
    p.model.embedding = INPUTS;
    p.model.head = (struct config_layers){1, {{LAYERS_UNITS, {HIDDEN}}}};
    p.model.head_dropout = 0.5;
    p.shape.parties = 3;
    p.shape.outputs = 2;
    open_rng(&rng, 9);
    assert_int_equal(arena_init(&arena, nn_head_bytes(&p, ROWS)), STATUS_OK);
    assert_int_equal(nn_head_init(&h, &p, ROWS, &arena, NULL), STATUS_OK);
    nn_head_draw_masks(&h, 7, 100, ROWS, &rng);
    memcpy(mask, h.net.layer[0].mask, sizeof mask);
    nn_head_draw_masks(&h, 7, 101, ROWS, &rng);
    assert_memory_not_equal(mask, h.net.layer[0].mask, sizeof mask);
    nn_head_draw_masks(&h, 8, 100, ROWS, &rng);
    assert_memory_not_equal(mask, h.net.layer[0].mask, sizeof mask);
    nn_head_draw_masks(&h, 7, 100, ROWS, &rng);
    assert_memory_equal(mask, h.net.layer[0].mask, sizeof mask);
    rng_deinit(&rng);
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_are_dropped_as_was_asked_for),
        cmocka_unit_test(test_slopes_are_those_of_the_pass_with_masks),
        cmocka_unit_test(test_a_dropped_unit_has_no_slope_and_the_others_more),
        cmocka_unit_test(test_a_pass_without_masks_is_that_of_a_net_without_dropout),
        cmocka_unit_test(test_masks_stand_until_the_next),
        cmocka_unit_test(test_gradients_of_single_records_are_cut_with_masks_on),
        cmocka_unit_test(test_a_heads_masks_follow_from_seed_and_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
