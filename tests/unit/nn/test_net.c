/* test_net.c -- gradients of whole nets against central differences in double; memory,
 * reproducibility.  Golden trajectories: test_net_golden.c; initial weights: test_net_init.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/net.h"

#include "common/base/mem.h"
#include "common/nn/loss.h"
#include "tests/unit/nn/sample.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 5, PARAMS_MAX = 256, MOST = 64 };

/* --- a net in double, by the definition
 * ----------------------------------------------------------- */

static double exact_act(enum nn_act act, double z)
{
    switch (act) {
    case NN_ACT_RELU: return z > 0.0 ? z : 0.0;
    case NN_ACT_TANH: return tanh(z);
    case NN_ACT_SIGMOID: return 1.0 / (1.0 + exp(-z));
    case NN_ACT_NONE: break;
    }
    return z;
}

static void exact_forward(double *y, const struct nn_spec *s, const double *p, const double *x)
{
    double a[MOST], z[MOST];

    memcpy(a, x, s->width[0] * sizeof *a);
    for (size_t l = 0; l < s->layers; l++) {
        const size_t in = s->width[l], out = s->width[l + 1];

        for (size_t j = 0; j < out; j++) {
            z[j] = p[in * out + j];
            for (size_t i = 0; i < in; i++)
                z[j] += a[i] * p[i * out + j];
            a[j + 32] =
                exact_act(s->act[l], z[j]) * (l + 1 == s->layers ? (double)s->out_scale : 1.0);
        }
        memmove(a, a + 32, out * sizeof *a);
        p += in * out + out;
    }
    memcpy(y, a, s->width[s->layers] * sizeof *y);
}

static double exact_row_loss(enum nn_loss kind, const double *y, double target, size_t k)
{
    double sum = 0.0;

    switch (kind) {
    case NN_LOSS_SOFTMAX:
        for (size_t j = 0; j < k; j++)
            sum += exp(y[j]);
        return log(sum) - y[(size_t)target];
    case NN_LOSS_SIGMOID: return log1p(exp(y[0])) - target * y[0];
    case NN_LOSS_SQUARED: return (y[0] - target) * (y[0] - target) / 2.0;
    case NN_LOSS_SIGMOIDS: break; /* test_loss.c: it has a target for each output */
    }
    return NAN;
}

/* --- one net with its data
 * ------------------------------------------------------------------------ */

struct model {
    struct nn_spec spec;
    enum nn_loss loss;
    struct arena arena;
    struct nn_net net;
    size_t params;
    double p[PARAMS_MAX], x[ROWS * MOST], dx[ROWS * MOST];
    float xf[ROWS * MOST], target[ROWS], dxf[ROWS * MOST];
};

static double exact_loss(const struct model *m)
{
    const size_t in = m->spec.width[0], k = m->spec.width[m->spec.layers];
    double y[MOST], loss = 0.0;

    for (size_t r = 0; r < ROWS; r++) {
        exact_forward(y, &m->spec, m->p, m->x + r * in);
        loss += exact_row_loss(m->loss, y, (double)m->target[r], k);
    }
    return loss / ROWS;
}

static void model_open(struct model *m, const struct nn_spec *spec, enum nn_loss loss,
                       uint64_t seed)
{
    const size_t inputs = (size_t)ROWS * spec->width[0];

    memset(m, 0, sizeof *m);
    m->spec = *spec;
    m->loss = loss;
    assert_int_equal(arena_init(&m->arena, nn_net_bytes(spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&m->net, spec, &m->arena), STATUS_OK);
    for (size_t l = 0; l < spec->layers; l++) {
        struct nn_layer *y = &m->net.layer[l];
        const size_t weights = (size_t)y->in * y->out;

        sample_fill(y->w, weights, 1.0F, &seed);
        sample_fill(y->b, y->out, 0.5F, &seed);
        for (size_t i = 0; i < weights; i++)
            m->p[m->params++] = (double)y->w[i];
        for (size_t i = 0; i < y->out; i++)
            m->p[m->params++] = (double)y->b[i];
    }
    assert_true(m->params <= PARAMS_MAX);
    sample_fill(m->xf, inputs, 1.0F, &seed);
    for (size_t i = 0; i < inputs; i++)
        m->x[i] = (double)m->xf[i];
    for (size_t r = 0; r < ROWS; r++)
        m->target[r] = (float)(loss == NN_LOSS_SOFTMAX ? r % spec->width[spec->layers] : r % 2);
}

static void model_close(struct model *m)
{
    arena_deinit(&m->arena);
}

static double model_gradients(struct model *m)
{
    float dy[ROWS * MOST];
    const uint32_t k = m->spec.width[m->spec.layers];
    const float *y = nn_net_forward(&m->net, m->xf, ROWS);
    const double loss = nn_loss(m->loss, dy, y, m->target, ROWS, k);

    nn_net_backward(&m->net, m->dxf, dy);
    return loss;
}

static float gradient(const struct nn_net *n, size_t index)
{
    for (size_t l = 0; l < n->spec.layers; l++) {
        const size_t weights = (size_t)n->layer[l].in * n->layer[l].out;

        if (index < weights)
            return n->layer[l].dw[index];
        index -= weights;
        if (index < n->layer[l].out)
            return n->layer[l].db[index];
        index -= n->layer[l].out;
    }
    return NAN;
}

static double difference(const struct model *m, double *place)
{
    const double h = 1e-6, kept = *place;
    double up, down;

    *place = kept + h;
    up = exact_loss(m);
    *place = kept - h;
    down = exact_loss(m);
    *place = kept;
    return (up - down) / (2.0 * h);
}

static void check_against_differences(struct model *m)
{
    size_t misses = 0;

    assert_true(sample_close(model_gradients(m), exact_loss(m), 1e-5, 1e-6));
    for (size_t i = 0; i < m->params; i++)
        misses += !sample_close((double)gradient(&m->net, i), difference(m, &m->p[i]), 2e-5, 2e-6);
    for (size_t i = 0; i < (size_t)ROWS * m->spec.width[0]; i++)
        misses += !sample_close((double)m->dxf[i], difference(m, &m->x[i]), 2e-5, 2e-6);
    assert_int_equal(misses, 0);
}

/* --- the laws
 * ------------------------------------------------------------------------------------- */

static const enum nn_act ACTS[] = {NN_ACT_NONE, NN_ACT_RELU, NN_ACT_TANH, NN_ACT_SIGMOID};

/* 3 depths, 4 hidden activations, 4 output activations, 2 scales, 3 losses. */
static void test_backward_is_the_gradient_of_any_stack(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3 * 4 * 4 * 2 * 3; i++) {
        const enum nn_loss loss = (enum nn_loss)(i % 3);
        const uint32_t k = loss == NN_LOSS_SOFTMAX ? 3 : 1;
        const enum nn_act last = ACTS[i / 3 % 4], hidden = ACTS[i / 12 % 4];
        struct nn_spec s = {1 + i / 96, {4, 6, 5, 0},  {hidden, hidden, hidden}, 1.0F, ROWS,
                            NN_SGD,     .layer = {{0}}};
        struct model m;

        s.width[s.layers] = k;
        s.act[s.layers - 1] = last;
        s.out_scale = i / 48 % 2 == 0 ? 1.0F : 2.5F;
        model_open(&m, &s, loss, 100 + i);
        check_against_differences(&m);
        model_close(&m);
    }
}

/* The twin: the same comparison must refuse a net whose scale is not the one that ran. */
static void test_a_wrong_gradient_would_be_seen(void **state)
{
    const struct nn_spec s = {2,      {4, 6, 3},     {NN_ACT_TANH, NN_ACT_TANH}, 2.5F, ROWS,
                              NN_SGD, .layer = {{0}}};
    struct model m;
    size_t misses = 0;

    (void)state;
    model_open(&m, &s, NN_LOSS_SOFTMAX, 11);
    model_gradients(&m);
    m.spec.out_scale = 2.501F;
    for (size_t i = 0; i < m.params; i++)
        misses += !sample_close((double)gradient(&m.net, i), difference(&m, &m.p[i]), 2e-5, 2e-6);
    assert_true(misses > m.params / 2);
    model_close(&m);
}

static void test_fewer_rows_than_rows_max(void **state)
{
    const struct nn_spec large = {2,      {4, 6, 3},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 50,
                                  NN_SGD, .layer = {{0}}};
    struct nn_spec exact = large;
    struct model m, n;

    (void)state;
    exact.rows_max = ROWS;
    model_open(&m, &large, NN_LOSS_SOFTMAX, 12);
    model_open(&n, &exact, NN_LOSS_SOFTMAX, 12);
    assert_true(model_gradients(&m) == model_gradients(&n));
    for (size_t i = 0; i < m.params; i++)
        assert_true(gradient(&m.net, i) == gradient(&n.net, i));
    model_close(&m);
    model_close(&n);
}

static void test_backward_repeats_without_another_forward(void **state)
{
    const struct nn_spec s = {2,      {4, 6, 3},     {NN_ACT_TANH, NN_ACT_TANH}, 2.0F, ROWS,
                              NN_SGD, .layer = {{0}}};
    float dy[ROWS * 3], first[PARAMS_MAX];
    uint64_t seed = 13;
    struct model m;

    (void)state;
    model_open(&m, &s, NN_LOSS_SOFTMAX, 14);
    sample_fill(dy, (size_t)ROWS * 3, 1.0F, &seed);
    nn_net_forward(&m.net, m.xf, ROWS);
    nn_net_backward(&m.net, NULL, dy);
    for (size_t i = 0; i < m.params; i++)
        first[i] = gradient(&m.net, i);
    nn_net_backward(&m.net, m.dxf, dy);
    for (size_t i = 0; i < m.params; i++)
        assert_true(first[i] == gradient(&m.net, i));
    model_close(&m);
}

static size_t train_bytes(uint8_t *out, enum nn_optimizer o)
{
    const struct nn_spec s = {2, {4, 6, 3},     {NN_ACT_RELU, NN_ACT_TANH}, 2.0F, ROWS,
                              o, .layer = {{0}}};
    struct model m;
    size_t n;

    model_open(&m, &s, NN_LOSS_SOFTMAX, 15);
    for (int t = 0; t < 20; t++) {
        model_gradients(&m);
        nn_net_step(&m.net, 0.05F);
    }
    assert_int_equal(m.net.steps, 20);
    n = ((size_t)4 * 6 + 6) * sizeof(float);
    memcpy(out, m.net.layer[0].w, n);
    model_close(&m);
    return n;
}

static void test_the_same_input_gives_the_same_bits(void **state)
{
    uint8_t a[PARAMS_MAX * 4], b[PARAMS_MAX * 4];

    (void)state;
    for (int o = 0; o < 3; o++) {
        const size_t n = train_bytes(a, (enum nn_optimizer)o);

        train_bytes(b, (enum nn_optimizer)o);
        assert_memory_equal(a, b, n);
    }
    train_bytes(a, NN_SGD);
    assert_memory_not_equal(a, b, 64); /* and the bytes are those of the rule */
}

static void test_nothing_is_allocated_after_init(void **state)
{
    const struct nn_spec s = {
        3,       {4, 6, 5, 3},  {NN_ACT_RELU, NN_ACT_RELU, NN_ACT_TANH}, 2.0F, ROWS,
        NN_ADAM, .layer = {{0}}};
    struct model m;
    uint64_t before;
    size_t used;

    (void)state;
    model_open(&m, &s, NN_LOSS_SOFTMAX, 16);
    before = mem_count();
    used = m.arena.used;
    for (int t = 0; t < 3; t++) {
        model_gradients(&m);
        nn_net_step(&m.net, 0.05F);
    }
    assert_int_equal(mem_count(), before);
    assert_int_equal(m.arena.used, used);
    model_close(&m);
}

static void test_a_short_arena_is_out_of_memory_at_every_size(void **state)
{
    const struct nn_spec s = {2,       {4, 6, 3},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 7,
                              NN_ADAM, .layer = {{0}}};
    const size_t need = nn_net_bytes(&s);
    struct nn_net n;
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, need), STATUS_OK);
    for (size_t size = 0; size + 2 * MEM_ALIGNMENT <= need; size += 32) {
        a.size = size;
        a.used = 0;
        assert_int_equal(nn_net_init(&n, &s, &a), STATUS_MEMORY);
    }
    a.size = need;
    a.used = 0;
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    arena_deinit(&a);
}

/* Two nets and something odd in one arena: the sum of their bytes and the odd thing is enough. */
static void test_net_bytes_suffice_from_any_place_in_an_arena(void **state)
{
    const struct nn_spec s = {1, {16, 16}, {NN_ACT_NONE}, 1.0F, 16, NN_MOMENTUM, .layer = {{0}}};
    struct nn_net n;
    struct arena a;

    (void)state;
    for (size_t odd = 1; odd <= 65; odd += 8) {
        assert_int_equal(arena_init(&a, odd + 2 * nn_net_bytes(&s)), STATUS_OK);
        assert_non_null(arena_alloc(&a, odd, 1));
        assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
        assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
        arena_deinit(&a);
    }
}

static void test_a_net_beyond_any_memory_has_the_largest_size(void **state)
{
    const uint32_t huge = 2147483647;
    const struct nn_spec s = {2,       {huge, huge, huge}, {NN_ACT_NONE}, 1.0F, huge,
                              NN_ADAM, .layer = {{0}}};
    struct arena a = {NULL, 0, 0};

    (void)state;
    assert_true(nn_net_bytes(&s) == SIZE_MAX);
    assert_int_equal(arena_init(&a, nn_net_bytes(&s)), STATUS_MEMORY);
    arena_deinit(&a);
}

static void test_a_reused_arena_leaves_no_trace(void **state)
{
    const struct nn_spec s = {1, {3, 2}, {NN_ACT_NONE}, 1.0F, 4, NN_ADAM, .layer = {{0}}};
    struct nn_net n;
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, nn_net_bytes(&s)), STATUS_OK);
    memset(a.base, 0xff, a.size);
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    for (size_t i = 0; i < 8; i++)
        assert_true(n.layer[0].w[i] == 0.0F && n.layer[0].m1[i] == 0.0F &&
                    n.layer[0].m2[i] == 0.0F);
    arena_deinit(&a);
}

/* --- all parameters in one run --- */

static const struct nn_spec STACK = {
    3, {4, 6, 5, 3}, {NN_ACT_TANH, NN_ACT_RELU, NN_ACT_TANH}, 2.0F, ROWS, NN_ADAM, .layer = {{0}}};

static void test_parameters_go_out_and_in_by_layer_weights_first(void **state)
{
    float out[PARAMS_MAX];
    struct model m, n;

    (void)state;
    model_open(&m, &STACK, NN_LOSS_SOFTMAX, 17);
    model_open(&n, &STACK, NN_LOSS_SOFTMAX, 18);
    assert_int_equal(nn_spec_params(&STACK), 4 * 6 + 6 + 6 * 5 + 5 + 5 * 3 + 3);
    out[m.params] = 4711.0F;
    nn_net_copy_params(&m.net, out);
    assert_true(out[m.params] == 4711.0F);
    for (size_t i = 0; i < m.params; i++)
        assert_true((double)out[i] == m.p[i]); /* as model_open has laid them out */
    memcpy(n.xf, m.xf, sizeof n.xf);
    assert_true(model_gradients(&m) != model_gradients(&n));
    nn_net_set_params(&n.net, out);
    assert_true(model_gradients(&m) == model_gradients(&n));
    assert_int_equal(n.net.steps, 0);
    model_close(&m);
    model_close(&n);
}

/* A polynomial has no biases. */
static void test_parameters_of_a_polynomial_are_its_matrices(void **state)
{
    const struct nn_spec s = {
        1, {3, 2}, {NN_ACT_NONE}, 1.0F, ROWS, NN_SGD, .layer = {{NN_POLYNOMIAL, 3, 0}}};
    float in[18], out[19] = {0};
    uint64_t seed = 19;
    struct nn_net n;
    struct arena a;

    (void)state;
    assert_int_equal(nn_spec_params(&s), 18);
    assert_int_equal(arena_init(&a, nn_net_bytes(&s)), STATUS_OK);
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    sample_fill(in, 18, 1.0F, &seed);
    nn_net_set_params(&n, in);
    assert_memory_equal(n.layer[0].w, in, sizeof in);
    nn_net_copy_params(&n, out);
    assert_memory_equal(out, in, sizeof in);
    assert_true(out[18] == 0.0F);
    arena_deinit(&a);
}

/* --- the proximal term --- */

static void test_the_pull_is_mu_times_the_way_from_the_anchor(void **state)
{
    const float mu = 0.3F;
    float anchor[PARAMS_MAX], own[PARAMS_MAX];
    uint64_t seed = 20;
    struct model plain, pulled;

    (void)state;
    model_open(&plain, &STACK, NN_LOSS_SOFTMAX, 21);
    model_open(&pulled, &STACK, NN_LOSS_SOFTMAX, 21);
    sample_fill(anchor, plain.params, 1.0F, &seed);
    model_gradients(&plain);
    model_gradients(&pulled);
    nn_net_pull(&pulled.net, anchor, mu);
    nn_net_copy_params(&pulled.net, own);
    for (size_t i = 0; i < plain.params; i++) {
        const float way = own[i] - anchor[i], pull = mu * way;

        assert_true((double)own[i] == plain.p[i]); /* the weights are the step's business */
        assert_true(gradient(&pulled.net, i) == gradient(&plain.net, i) + pull);
    }
    model_close(&plain);
    model_close(&pulled);
}

/* (mu / 2) |theta - anchor|^2 added to the loss, as the paper defines it. */
static void test_the_pull_is_the_slope_of_the_proximal_term(void **state)
{
    const double mu = 0.75;
    float anchor[PARAMS_MAX];
    uint64_t seed = 22;
    struct model m;

    (void)state;
    model_open(&m, &STACK, NN_LOSS_SOFTMAX, 23);
    sample_fill(anchor, m.params, 1.0F, &seed);
    model_gradients(&m);
    nn_net_pull(&m.net, anchor, (float)mu);
    for (size_t i = 0; i < m.params; i++) {
        const double h = 1e-6, way = m.p[i] - (double)anchor[i];
        const double term = mu / 2 * ((way + h) * (way + h) - (way - h) * (way - h)) / (2 * h);

        assert_true(
            sample_close((double)gradient(&m.net, i), difference(&m, &m.p[i]) + term, 2e-5, 5e-6));
    }
    model_close(&m);
}

static void test_no_pull_changes_no_bit(void **state)
{
    const size_t first = ((size_t)4 * 6 + 6) * sizeof(float);
    float anchor[PARAMS_MAX], before[PARAMS_MAX];
    struct model m;

    (void)state;
    model_open(&m, &STACK, NN_LOSS_SOFTMAX, 24);
    for (size_t i = 0; i < m.params; i++)
        anchor[i] = i % 2 == 0 ? INFINITY : -1.0F;
    model_gradients(&m);
    m.net.layer[0].dw[0] = -0.0F;
    memcpy(before, m.net.layer[0].dw, first);
    nn_net_pull(&m.net, anchor, 0.0F);
    assert_memory_equal(m.net.layer[0].dw, before, first);
    nn_net_pull(&m.net, anchor, 0.01F);
    assert_memory_not_equal(m.net.layer[0].dw, before, first);
    model_close(&m);
}

/* At the anchor itself there is nothing to pull. */
static void test_a_pull_to_where_the_net_stands_changes_no_value(void **state)
{
    float anchor[PARAMS_MAX], before[PARAMS_MAX];
    struct model m;

    (void)state;
    model_open(&m, &STACK, NN_LOSS_SOFTMAX, 25);
    model_gradients(&m);
    for (size_t i = 0; i < m.params; i++)
        before[i] = gradient(&m.net, i);
    nn_net_copy_params(&m.net, anchor);
    nn_net_pull(&m.net, anchor, 100.0F);
    for (size_t i = 0; i < m.params; i++)
        assert_true(gradient(&m.net, i) == before[i]);
    model_close(&m);
}

/* --- the net without layers --- */

static void test_a_net_without_layers_passes_everything_on(void **state)
{
    const struct nn_spec s = {0, {3}, {NN_ACT_NONE}, 1.0F, 2, NN_ADAM, .layer = {{0}}};
    const float x[6] = {1, -2, 3, -0.0F, 5, INFINITY}, dy[6] = {6, 5, 4, 3, 2, 1};
    float dx[7] = {0};
    struct nn_net n;
    struct arena a;

    (void)state;
    assert_int_equal(arena_init(&a, nn_net_bytes(&s)), STATUS_OK);
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    assert_int_equal(nn_spec_params(&s), 0);
    assert_true(nn_net_flops(&s, 2) == 0.0);
    assert_true(nn_net_forward(&n, x, 2) == x);
    nn_net_backward(&n, NULL, dy);
    nn_net_backward(&n, dx, dy);
    assert_memory_equal(dx, dy, sizeof dy);
    assert_true(dx[6] == 0.0F);
    nn_net_step(&n, 0.1F);
    assert_true(nn_net_forward(&n, x, 1) == x);
    nn_net_backward(&n, dx, dy + 3);
    assert_true(dx[0] == 3 && dx[2] == 1 && dx[3] == 3);
    arena_deinit(&a);
}

static void test_flops_count_two_and_four_per_weight_and_row(void **state)
{
    const struct nn_spec s = {2,      {6, 64, 16},   {NN_ACT_RELU, NN_ACT_TANH}, 1.0F, 100,
                              NN_SGD, .layer = {{0}}};

    (void)state;
    assert_true(nn_net_flops(&s, 100) == 6.0 * (6 * 64 + 64 * 16) * 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backward_is_the_gradient_of_any_stack),
        cmocka_unit_test(test_a_wrong_gradient_would_be_seen),
        cmocka_unit_test(test_fewer_rows_than_rows_max),
        cmocka_unit_test(test_backward_repeats_without_another_forward),
        cmocka_unit_test(test_the_same_input_gives_the_same_bits),
        cmocka_unit_test(test_nothing_is_allocated_after_init),
        cmocka_unit_test(test_a_short_arena_is_out_of_memory_at_every_size),
        cmocka_unit_test(test_net_bytes_suffice_from_any_place_in_an_arena),
        cmocka_unit_test(test_a_net_beyond_any_memory_has_the_largest_size),
        cmocka_unit_test(test_a_reused_arena_leaves_no_trace),
        cmocka_unit_test(test_parameters_go_out_and_in_by_layer_weights_first),
        cmocka_unit_test(test_parameters_of_a_polynomial_are_its_matrices),
        cmocka_unit_test(test_the_pull_is_mu_times_the_way_from_the_anchor),
        cmocka_unit_test(test_the_pull_is_the_slope_of_the_proximal_term),
        cmocka_unit_test(test_no_pull_changes_no_bit),
        cmocka_unit_test(test_a_pull_to_where_the_net_stands_changes_no_value),
        cmocka_unit_test(test_a_net_without_layers_passes_everything_on),
        cmocka_unit_test(test_flops_count_two_and_four_per_weight_and_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
