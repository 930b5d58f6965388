/* test_layer.c -- the laws of a layer, for every kind there is.
 *
 * What a kind computes is its own test's business; here is what nets, dp and files rest on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/layer.h"

#include "common/base/mem.h"
#include "common/nn/backward.h"
#include "common/nn/dpsum.h"
#include "tests/unit/nn/sample.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 4, BROKEN = 2, VALUES_MAX = 320, PARAMS_MAX = 512, DOUBLES_MAX = 8192 };

#define SHAPE(c, h, w) .shape = {c, h, w}
#define ADD(summand)                                                                               \
    {                                                                                              \
        .kind = NN_ADD, .beside = summand                                                          \
    }
#define WINDOW(size, stride, padding) .window = {{size, size}, {stride, stride}, {padding, padding}}
#define IMAGE(of, activation, in, out, ...)                                                        \
    {                                                                                              \
        .layers = 1, .width = {in, out}, .act = {NN_ACT_##activation}, .out_scale = 1, .layer = {  \
            {.kind = NN_##of, __VA_ARGS__}                                                         \
        }                                                                                          \
    }

/* A net whose last layer is of this kind; most have no other. */
struct sample {
    const char *name;
    struct nn_spec spec;
};

static const struct sample SAMPLES[] = {
    {"dense", {.layers = 1, .width = {5, 3}, .act = {NN_ACT_NONE}, .out_scale = 1}},
    {"dense", {.layers = 1, .width = {5, 3}, .act = {NN_ACT_TANH}, .out_scale = 2.5F}},
    {"dense", {.layers = 1, .width = {1, 7}, .act = {NN_ACT_SIGMOID}, .out_scale = 1}},
    {"polynomial",
     {.layers = 1, .width = {4, 3}, .out_scale = 1, .layer = {{NN_POLYNOMIAL, 1, 0}}}},
    {"polynomial",
     {.layers = 1, .width = {3, 2}, .out_scale = 1, .layer = {{NN_POLYNOMIAL, 4, 1.5F}}}},
    {"conv", IMAGE(CONV, TANH, 5 * 4 * 2, 5 * 4 * 3, SHAPE(2, 5, 4), WINDOW(3, 1, 1), .groups = 1)},
    {"conv", IMAGE(CONV, NONE, 6 * 5 * 4, 2 * 2 * 6, SHAPE(4, 6, 5), WINDOW(3, 2, 0), .groups = 2)},
    {"conv", IMAGE(CONV, NONE, 3 * 4 * 2, 3 * 4 * 3, SHAPE(2, 3, 4), WINDOW(1, 1, 0), .groups = 1)},
    {"conv", IMAGE(CONV, NONE, 4 * 4 * 3, 2 * 2 * 3, SHAPE(3, 4, 4), WINDOW(4, 2, 1), .groups = 3)},
    /* By taps. */
    {"conv", IMAGE(CONV, TANH, 2 * 2 * 8, 2 * 2 * 2, SHAPE(8, 2, 2), WINDOW(3, 1, 1), .groups = 1)},
    /* So many places that each row's are multiplied for themselves. */
    {"conv", IMAGE(CONV, NONE, 20 * 16, 20 * 16, SHAPE(1, 20, 16), WINDOW(3, 1, 1), .groups = 1)},
    {"max_pool", IMAGE(MAX_POOL, NONE, 5 * 4 * 2, 2 * 2 * 2, SHAPE(2, 5, 4), WINDOW(2, 2, 0))},
    {"max_pool", IMAGE(MAX_POOL, NONE, 5 * 5 * 3, 3 * 3 * 3, SHAPE(3, 5, 5), WINDOW(3, 2, 1))},
    {"avg_pool", IMAGE(AVG_POOL, NONE, 5 * 5 * 3, 3 * 3 * 3, SHAPE(3, 5, 5), WINDOW(3, 2, 1))},
    {"avg_pool", IMAGE(AVG_POOL, NONE, 3 * 3 * 4, 4, SHAPE(4, 3, 3), WINDOW(3, 1, 0))},
    {"group_norm",
     IMAGE(GROUP_NORM, NONE, 3 * 4 * 6, 3 * 4 * 6, SHAPE(6, 3, 4), .groups = 3, .degree = 0)},
    {"group_norm",
     IMAGE(GROUP_NORM, TANH, 2 * 2 * 4, 2 * 2 * 4, SHAPE(4, 2, 2), .groups = 1, .degree = 0)},
    {"group_norm", IMAGE(GROUP_NORM, NONE, 6, 6, SHAPE(6, 1, 1), .groups = 2, .degree = 0)},
    {"batch_norm", IMAGE(BATCH_NORM, NONE, 3 * 2 * 4, 3 * 2 * 4, SHAPE(4, 3, 2))},
    {"batch_norm", IMAGE(BATCH_NORM, SIGMOID, 5, 5, SHAPE(5, 1, 1))},
    {"lstm", IMAGE(LSTM, NONE, 5 * 3, 4, SHAPE(3, 1, 5), .units = 4)},
    {"lstm", IMAGE(LSTM, NONE, 4 * 2, 4 * 3, SHAPE(2, 1, 4), .units = 3)},
    {"gru", IMAGE(GRU, NONE, 5 * 3, 4, SHAPE(3, 1, 5), .units = 4)},
    {"gru", IMAGE(GRU, NONE, 4 * 2, 4 * 3, SHAPE(2, 1, 4), .units = 3)},
    {"add", {.layers = 2, .width = {4, 4, 4}, .out_scale = 1, .layer = {{0}, ADD(1)}}},
    {"add",
     {.layers = 4,
      .width = {4, 3, 2, 2, 2},
      .act = {NN_ACT_TANH, NN_ACT_NONE, NN_ACT_TANH, NN_ACT_SIGMOID},
      .out_scale = 1.5F,
      .layer = {{0}, {0}, {.back = 2}, ADD(1)}}},
    {"activation", IMAGE(ACTIVATION, SIGMOID, 7, 7, .degree = 0)},
    {"turn", IMAGE(TURN, NONE, 3 * 2 * 5, 3 * 2 * 5, SHAPE(5, 3, 2), .flattens = true)},
    {"turn", IMAGE(TURN, NONE, 3 * 2 * 5, 3 * 2 * 5, SHAPE(5, 3, 2), .flattens = false)},
    {"embedding",
     {.layers = 1,
      .width = {4, 7},
      .out_scale = 1,
      .layer = {{.kind = NN_EMBEDDING}},
      .embedded = {2, {{1, 3, 2}, {3, 2, 3}}}}},
};
enum { SAMPLES_N = sizeof SAMPLES / sizeof *SAMPLES };

struct trial {
    struct nn_net net;
    struct arena arena;
    const float *(*forward)(struct nn_net *n, const float *x, uint32_t rows);
    size_t in, out, params;
    float x[ROWS * VALUES_MAX], dy[ROWS * VALUES_MAX], dx[ROWS * VALUES_MAX], p[PARAMS_MAX];
};

/* The layer that the sample is of. */
static const struct nn_layer *layer(const struct trial *t)
{
    return &t->net.layer[t->net.spec.layers - 1];
}

/* But for running moments, which are the last parameters of its only layer. */
static size_t trained(const struct trial *t)
{
    return t->params - (nn_layer_params(layer(t)) - layer(t)->trained);
}

static void open_trial(struct trial *t, const struct sample *of)
{
    struct nn_spec spec = of->spec;
    uint64_t seed = 77;

    memset(t, 0, sizeof *t);
    t->forward = nn_net_forward_masked;
    spec.rows_max = ROWS;
    assert_int_equal(arena_init(&t->arena, nn_net_bytes(&spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&t->net, &spec, &t->arena), STATUS_OK);
    t->in = spec.width[0];
    t->out = spec.width[spec.layers];
    t->params = nn_spec_params(&spec);
    assert_true(t->in <= VALUES_MAX && t->out <= VALUES_MAX && t->params <= PARAMS_MAX);
    sample_fill(t->x, ROWS * t->in, 1.0F, &seed);
    /* A step of a difference must not change which is the most. */
    for (size_t i = 0; spec.layer[0].kind == NN_MAX_POOL && i < ROWS * t->in; i++)
        t->x[i] = (float)(i * 101 % 307) / 64.0F - 2.4F;
    for (size_t i = 0; i < ROWS * spec.embedded.n; i++) /* each level, and none, in some row */
        t->x[i / spec.embedded.n * t->in + spec.embedded.of[i % spec.embedded.n].column] =
            (float)(i % (spec.embedded.of[i % spec.embedded.n].levels + 1));
    sample_fill(t->dy, ROWS * t->out, 1.0F, &seed);
    sample_fill(t->p, t->params, 0.7F, &seed);
    for (size_t i = trained(t); i < t->params; i++) /* variances are not negative */
        t->p[i] = 0.1F + fabsf(t->p[i]);
    nn_net_set_params(&t->net, t->p);
}

static void close_trial(struct trial *t)
{
    arena_deinit(&t->arena);
}

static void copy_gradients(const struct trial *t, float *out)
{
    for (size_t i = 0; i < t->net.spec.layers; i++) {
        memcpy(out, t->net.layer[i].dw, nn_layer_params(&t->net.layer[i]) * sizeof *out);
        out += nn_layer_params(&t->net.layer[i]);
    }
}

static void backward(struct trial *t, uint32_t rows)
{
    t->forward(&t->net, t->x, rows);
    nn_net_backward(&t->net, layer(t)->kind->no_dx ? NULL : t->dx, t->dy);
}

/* <dy, y> */
static double loss(struct trial *t)
{
    const float *y = t->forward(&t->net, t->x, ROWS);
    double sum = 0;

    for (size_t i = 0; i < ROWS * t->out; i++)
        sum += (double)y[i] * (double)t->dy[i];
    return sum;
}

/* Of single floats, so the step is large and what it leaves is of its square. */
static double difference(struct trial *t, float *value)
{
    const float was = *value, step = 1.0F / 256;
    double up, down;

    *value = was + step;
    nn_net_set_params(&t->net, t->p);
    up = loss(t);
    *value = was - step;
    nn_net_set_params(&t->net, t->p);
    down = loss(t);
    *value = was;
    nn_net_set_params(&t->net, t->p);
    return (up - down) * 128;
}

static void test_each_kind_has_a_sample_and_its_own_name(void **state)
{
    bool seen[NN_KINDS] = {[NN_OUTSIDE] = true}; /* others compute it: test_outside.c */

    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        const enum nn_kind kind = SAMPLES[s].spec.layer[SAMPLES[s].spec.layers - 1].kind;

        assert_string_equal(layer_kind(kind)->name, SAMPLES[s].name);
        assert_true(nn_spec_fits(&SAMPLES[s].spec));
        seen[kind] = true;
    }
    for (size_t k = 0; k < NN_KINDS; k++)
        assert_true(seen[k]);
}

static void expect_gradients(struct trial *t)
{
    float gradients[PARAMS_MAX], dx[ROWS * VALUES_MAX];

    backward(t, ROWS);
    copy_gradients(t, gradients);
    memcpy(dx, t->dx, sizeof dx);
    for (size_t i = 0; i < trained(t); i++)
        assert_true(sample_close((double)gradients[i], difference(t, &t->p[i]), 2e-3, 2e-3));
    for (size_t i = 0; i < ROWS * t->in && !layer(t)->kind->no_dx; i++)
        assert_true(sample_close((double)dx[i], difference(t, &t->x[i]), 2e-3, 2e-3));
}

/* In a step of training, and in any other pass, where some kinds compute otherwise. */
static void test_backward_is_the_gradient_of_forward(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        struct trial t;

        open_trial(&t, &SAMPLES[s]);
        expect_gradients(&t);
        t.forward = nn_net_forward;
        expect_gradients(&t);
        close_trial(&t);
    }
}

/* Row 0 makes way for the next one. */
static void drop_row(struct trial *t)
{
    memmove(t->x, t->x + t->in, t->in * (ROWS - 1) * sizeof *t->x);
    memmove(t->dy, t->dy + t->out, t->out * (ROWS - 1) * sizeof *t->dy);
}

/* Which dp rests on (dpsgd.h): each row's norm, and what is added of it, are those of a batch of
 * that row alone. */
static void test_the_norm_of_a_row_is_that_of_its_own_gradient(void **state)
{
    static const double factor[ROWS] = {1, 0.25, 0, 0.75};

    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        double memory[DOUBLES_MAX], norm[ROWS], want[PARAMS_MAX] = {0};
        struct dpsum sum;
        struct trial t;

        if (layer_that_mixes(&SAMPLES[s].spec) != NULL)
            continue;
        open_trial(&t, &SAMPLES[s]);
        assert_true(dpsum_doubles(&t.net.spec) <= DOUBLES_MAX);
        dpsum_init(&sum, &t.net.spec, memory);
        nn_net_forward_masked(&t.net, t.x, ROWS);
        backward_deltas(&t.net, NULL, t.dy);
        dpsum_begin(&sum);
        for (size_t r = 0; r < ROWS; r++) {
            norm[r] = dpsum_norm2(&sum, &t.net, r);
            dpsum_add_row(&sum, &t.net, factor[r]);
        }
        dpsum_add(&sum, &t.net, factor);
        for (size_t r = 0; r < ROWS; r++, drop_row(&t)) {
            float gradients[PARAMS_MAX];
            double own = 0;

            backward(&t, 1);
            copy_gradients(&t, gradients);
            for (size_t i = 0; i < t.params; i++) {
                own += (double)gradients[i] * (double)gradients[i];
                want[i] += factor[r] * (double)gradients[i];
            }
            assert_true(sample_close(norm[r], own, 1e-5, 1e-9));
        }
        for (size_t i = 0; i < t.params; i++)
            assert_true(sample_close(sum.sum[i], want[i], 1e-5, 1e-6));
        close_trial(&t);
    }
}

/* Which rows of a batch give something else when row 2 changes. */
static void assert_changed(struct trial *t,
                           const float *(*forward)(struct nn_net *, const float *, uint32_t),
                           bool others)
{
    float y[ROWS * VALUES_MAX], x[ROWS * VALUES_MAX];

    memcpy(x, t->x, sizeof x);
    memcpy(y, forward(&t->net, t->x, ROWS), ROWS * t->out * sizeof *y);
    for (size_t i = 0; i < t->in; i++)
        t->x[2 * t->in + i] += 0.5F;
    forward(&t->net, t->x, ROWS);
    for (size_t r = 0; r < ROWS; r++)
        assert_true((memcmp(y + r * t->out, layer(t)->y + r * t->out, t->out * sizeof *y) != 0) ==
                    (r == 2 || others));
    memcpy(t->x, x, sizeof x);
}

/* A batch mixes nothing, or one record would be in what is released of another; but where a kind
 * says so, and then in steps alone. */
static void test_what_a_row_gives_hangs_on_that_row_alone(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        struct trial t;

        open_trial(&t, &SAMPLES[s]);
        assert_changed(&t, nn_net_forward, false);
        assert_changed(&t, nn_net_forward_masked, layer(&t)->kind->mixes);
        assert_int_equal(layer(&t)->kind->mixes, layer_that_mixes(&t.net.spec) != NULL);
        close_trial(&t);
    }
}

/* What no optimiser steps has no decay either, and goes nowhere without a batch. */
static void test_running_parameters_follow_batches_alone(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        float before[PARAMS_MAX];
        struct trial t;
        size_t n;

        open_trial(&t, &SAMPLES[s]);
        n = trained(&t);
        t.net.spec.weight_decay = 0.5F;
        nn_net_copy_params(&t.net, before);
        nn_net_forward(&t.net, t.x, ROWS);
        nn_net_backward(&t.net, NULL, t.dy);
        nn_net_step(&t.net, 0.1F);
        nn_net_copy_params(&t.net, t.p);
        assert_memory_equal(before + n, t.p + n, (t.params - n) * sizeof *before);
        backward(&t, ROWS);
        nn_net_step(&t.net, 0.1F);
        nn_net_copy_params(&t.net, t.p);
        for (size_t i = n; i < t.params; i++)
            assert_true(before[i] < t.p[i] || before[i] > t.p[i]);
        close_trial(&t);
    }
}

/* What the batch adds up to when record BROKEN's gradient for its output is nought. */
static void without_the_record(struct trial *t, float *want)
{
    memset(t->dy + BROKEN * t->out, 0, t->out * sizeof *t->dy);
    backward(t, ROWS);
    copy_gradients(t, want);
}

static void assert_adds_nothing(const struct trial *t, const float *want)
{
    float got[PARAMS_MAX];

    assert_int_equal(nn_net_lost_backward(&t->net), 1);
    copy_gradients(t, got);
    for (size_t i = 0; i < t->params; i++)
        assert_true(got[i] == want[i]);
    for (size_t i = 0; i < t->in && !layer(t)->kind->no_dx; i++)
        assert_true(t->dx[BROKEN * t->in + i] == 0);
}

/* test_backward.c has the same of deep nets of units. */
static void test_a_record_whose_pass_is_not_finite_adds_exactly_nothing(void **state)
{
    bool lost[NN_KINDS] = {false};

    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        float want[PARAMS_MAX];
        struct trial t;

        if (layer_that_mixes(&SAMPLES[s].spec) != NULL) /* it spoils its batch */
            continue;
        open_trial(&t, &SAMPLES[s]);
        for (size_t i = 0; i < t.params; i++)
            t.p[i] *= 8;
        nn_net_set_params(&t.net, t.p);
        without_the_record(&t, want);
        for (size_t i = 0; i < t.in; i++)
            t.x[BROKEN * t.in + i] = i % 2 == 0 ? FLT_MAX : -FLT_MAX;
        for (size_t i = 0; i < t.out; i++)
            t.dy[BROKEN * t.out + i] = 1;
        backward(&t, ROWS);
        if (nn_net_lost_forward(&t.net) == 1) {
            assert_adds_nothing(&t, want);
            lost[SAMPLES[s].spec.layer[SAMPLES[s].spec.layers - 1].kind] = true;
        }
        close_trial(&t);
    }
    /* Many kinds make numbers of whatever numbers come in. */
    assert_true(lost[NN_DENSE] && lost[NN_POLYNOMIAL] && lost[NN_CONV] && lost[NN_GROUP_NORM]);
}

static void test_a_record_whose_way_back_is_not_finite_adds_exactly_nothing(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};

    (void)state;
    for (size_t k = 0; k < SAMPLES_N * 3; k++) {
        float want[PARAMS_MAX];
        struct trial t;

        if (layer_that_mixes(&SAMPLES[k / 3].spec) != NULL)
            continue;
        open_trial(&t, &SAMPLES[k / 3]);
        without_the_record(&t, want);
        for (size_t i = 0; i < t.out; i++)
            t.dy[BROKEN * t.out + i] = strange[k % 3];
        backward(&t, ROWS);
        assert_int_equal(nn_net_lost_forward(&t.net), 0);
        assert_adds_nothing(&t, want);
        close_trial(&t);
    }
}

/* Or it would be made on the loop's thread, however long it takes (net.h). */
static void test_each_value_that_a_layer_makes_is_counted_as_work(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        const struct nn_spec *spec = &SAMPLES[s].spec;

        assert_true(nn_net_flops(spec, 10) >= 10.0 * spec->width[spec->layers]);
        assert_true(nn_net_flops(spec, 10) == 10 * nn_net_flops(spec, 1));
    }
}

static void test_its_tensors_are_all_of_its_parameters_in_order(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES_N; s++) {
        const struct nn_layer *l;
        struct trial t;
        size_t at = 0;

        open_trial(&t, &SAMPLES[s]);
        l = layer(&t);
        for (size_t i = 0; i < layer_tensors(l); i++) {
            const struct layer_tensor one = l->kind->tensor(l, 3, i);
            size_t count = 1;

            assert_ptr_equal(one.values, l->w + at);
            assert_true(one.rank >= 1 && one.rank <= LAYER_RANK_MAX && one.name[0] != 0);
            for (size_t d = 0; d < one.rank; d++)
                count *= one.shape[d];
            assert_int_equal(count, one.count);
            at += one.count;
        }
        assert_int_equal(at, nn_layer_params(l));
        close_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_has_a_sample_and_its_own_name),
        cmocka_unit_test(test_backward_is_the_gradient_of_forward),
        cmocka_unit_test(test_the_norm_of_a_row_is_that_of_its_own_gradient),
        cmocka_unit_test(test_what_a_row_gives_hangs_on_that_row_alone),
        cmocka_unit_test(test_a_record_whose_pass_is_not_finite_adds_exactly_nothing),
        cmocka_unit_test(test_a_record_whose_way_back_is_not_finite_adds_exactly_nothing),
        cmocka_unit_test(test_each_value_that_a_layer_makes_is_counted_as_work),
        cmocka_unit_test(test_running_parameters_follow_batches_alone),
        cmocka_unit_test(test_its_tensors_are_all_of_its_parameters_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
