/* test_polynomial.c -- a polynomial layer against tests/golden/gen_nn.py, against differences in
 * double and against dense layers; its state and its file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/polynomial.h"

#include "common/base/mem.h"
#include "common/nn/safetensors.h"
#include "common/nn/state.h"
#include "tests/lib/scratch.h"
#include "tests/unit/nn/golden.h"
#include "tests/unit/nn/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 7, FEATURES = 4, DEGREE = 3, OUT = 5, STEPS = 3, MOST = 64 };
enum { PARAMS = FEATURES * DEGREE * OUT };

static const char *const RULES[] = {"sgd", "momentum",
                                    "adam"}; /* in the order of enum nn_optimizer */
static const uint8_t KEY[RNG_KEY_BYTES] = {5, 6, 7};

static const json_t *golden(const char *key)
{
    return json_object_get(json_object_get(golden_vectors, "polynomial"), key);
}

static struct nn_spec spec_of(uint32_t features, uint32_t degree, uint32_t out)
{
    return (struct nn_spec){.layers = 1,
                            .width = {features, out},
                            .out_scale = 1.0F,
                            .rows_max = ROWS,
                            .layer = {{degree > 0 ? NN_POLYNOMIAL : NN_DENSE, degree, 0}}};
}

static void open_net(struct nn_net *n, struct arena *a, const struct nn_spec *s)
{
    assert_int_equal(arena_init(a, nn_net_bytes(s)), STATUS_OK);
    assert_int_equal(nn_net_init(n, s, a), STATUS_OK);
}

static void randomize(struct nn_net *n, enum nn_init init)
{
    struct rng r;

    memset(&r, 0, sizeof r);
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    nn_net_randomize(n, init, &r);
    rng_deinit(&r);
}

/* --- golden --- */

struct trial {
    struct arena arena;
    struct nn_net net;
    float x[ROWS * FEATURES], target[ROWS * OUT], dy[ROWS * OUT];
};

static void trial_open(struct trial *t, enum nn_optimizer o)
{
    struct nn_spec spec = spec_of(FEATURES, DEGREE, OUT);

    spec.optimizer = o;
    open_net(&t->net, &t->arena, &spec);
    assert_int_equal(nn_layer_params(&t->net.layer[0]), PARAMS);
    assert_int_equal(sample_floats(t->net.layer[0].w, PARAMS, golden("params")), PARAMS);
    assert_int_equal(sample_floats(t->x, ROWS * FEATURES, golden("x")), ROWS * FEATURES);
    assert_int_equal(sample_floats(t->target, ROWS * OUT, golden("target")), ROWS * OUT);
}

static void run(struct trial *t)
{
    const float *y = nn_net_forward(&t->net, t->x, ROWS);

    for (size_t i = 0; i < (size_t)ROWS * OUT; i++)
        t->dy[i] = (y[i] - t->target[i]) / ROWS;
    nn_net_backward(&t->net, NULL, t->dy);
}

static void test_embeddings_and_gradients_are_the_golden_ones(void **state)
{
    struct trial t;
    double want[PARAMS];

    (void)state;
    trial_open(&t, NN_SGD);
    run(&t);
    assert_int_equal(sample_doubles(want, PARAMS, golden("y")), ROWS * OUT);
    assert_int_equal(sample_misses(t.net.layer[0].y, want, (size_t)ROWS * OUT, 1e-5, 1e-6), 0);
    assert_int_equal(sample_doubles(want, PARAMS, golden("dy")), ROWS * OUT);
    assert_int_equal(sample_misses(t.dy, want, (size_t)ROWS * OUT, 1e-5, 1e-6), 0);
    assert_int_equal(sample_doubles(want, PARAMS, golden("gradient")), PARAMS);
    assert_int_equal(sample_misses(t.net.layer[0].dw, want, PARAMS, 1e-5, 1e-6), 0);
    arena_deinit(&t.arena);
}

/* Parameters that miss the golden ones of `rule` after any of three steps with optimiser o. */
static size_t trajectory_misses(enum nn_optimizer o, const char *rule)
{
    struct trial t;
    double want[PARAMS];
    size_t misses = 0;

    trial_open(&t, o);
    for (size_t step = 0; step < STEPS; step++) {
        run(&t);
        nn_net_step(&t.net, 0.05F);
        assert_int_equal(sample_doubles(want, PARAMS, json_array_get(golden(rule), step)), PARAMS);
        misses += sample_misses(t.net.layer[0].w, want, PARAMS, 1e-5, 1e-5);
    }
    arena_deinit(&t.arena);
    return misses;
}

static void test_three_steps_are_the_golden_ones(void **state)
{
    (void)state;
    for (int o = 0; o < 3; o++) {
        assert_int_equal(trajectory_misses((enum nn_optimizer)o, RULES[o]), 0);
        assert_true(trajectory_misses((enum nn_optimizer)o, RULES[(o + 1) % 3]) > PARAMS / 2);
    }
}

/* --- the definition, in double --- */

/* sum over rows of <dy, h(x)> with weight k of all moved by `by`. */
static double inner(const struct nn_net *n, const float *x, const float *dy, size_t k, double by)
{
    const size_t d = n->spec.width[0], out = n->spec.width[1];
    double sum = 0.0;

    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = 0; i < n->spec.layer[0].degree; i++)
            for (size_t c = 0; c < d; c++)
                for (size_t j = 0; j < out; j++) {
                    const size_t at = (i * d + c) * out + j;

                    sum += (double)dy[r * out + j] *
                           ((double)n->layer[0].w[at] + (at == k ? by : 0.0)) *
                           pow((double)x[r * d + c], (double)(i + 1));
                }
    return sum;
}

static void check_differences(uint32_t features, uint32_t degree, uint32_t out)
{
    const struct nn_spec s = spec_of(features, degree, out);
    const size_t params = (size_t)features * degree * out;
    float x[ROWS * MOST], dy[ROWS * MOST];
    struct nn_net n;
    struct arena a;
    uint64_t seed = degree;
    double forward = 0.0;

    open_net(&n, &a, &s);
    sample_fill(n.layer[0].w, params, 1.0F, &seed);
    sample_fill(x, (size_t)ROWS * features, 1.2F, &seed);
    sample_fill(dy, (size_t)ROWS * out, 1.0F, &seed);
    nn_net_forward(&n, x, ROWS);
    nn_net_backward(&n, NULL, dy);
    for (size_t i = 0; i < (size_t)ROWS * out; i++)
        forward += (double)dy[i] * (double)n.layer[0].y[i];
    assert_true(sample_close(forward, inner(&n, x, dy, params, 0.0), 1e-4, 1e-4));
    for (size_t k = 0; k < params; k++) {
        const double want = (inner(&n, x, dy, k, 1e-3) - inner(&n, x, dy, k, -1e-3)) / 2e-3;
        assert_true(sample_close((double)n.layer[0].dw[k], want, 1e-4, 1e-4));
    }
    arena_deinit(&a);
}

static void test_gradients_are_differences_of_the_definition_for_all_degrees(void **state)
{
    (void)state;
    for (uint32_t degree = 1; degree <= NN_DEGREE_MAX; degree++) {
        check_differences(1, degree, 1);
        check_differences(3, degree, 4);
        check_differences(19, degree, 2);
    }
}

static void test_powers_stand_side_by_side_row_by_row(void **state)
{
    const float x[4] = {2.0F, -3.0F, 0.5F, 0.0F};
    const float want[12] = {2.0F, -3.0F, 4.0F,  9.0F, 8.0F,   -27.0F,
                            0.5F, 0.0F,  0.25F, 0.0F, 0.125F, 0.0F};
    float got[12];

    (void)state;
    polynomial_powers(got, x, 2, 2, 3, INFINITY);
    assert_memory_equal(got, want, sizeof got);
}

static void test_powers_are_those_of_inputs_cut_off_at_x_max(void **state)
{
    const float x[4] = {2.0F, -3.0F, 0.5F, -1.5F};
    const float want[12] = {1.5F, -1.5F, 2.25F, 2.25F, 3.375F, -3.375F,
                            0.5F, -1.5F, 0.25F, 2.25F, 0.125F, -3.375F};
    float got[12];

    (void)state;
    polynomial_powers(got, x, 2, 2, 3, 1.5F);
    assert_memory_equal(got, want, sizeof got);
    polynomial_powers(got, x, 2, 2, 3, 3.0F); /* the largest of them: nothing is cut off */
    assert_true(got[0] == 2.0F && got[1] == -3.0F && got[5] == -27.0F);
}

static void test_an_input_that_is_no_number_is_not_taken_for_one(void **state)
{
    const float x[1] = {NAN};
    float got[2];

    (void)state;
    polynomial_powers(got, x, 1, 1, 2, 1.5F);
    assert_true(isnan(got[0]) && isnan(got[1]));
}

/* The whole layer, forward and gradient, is that of the inputs cut off by hand. */
static void test_a_net_with_x_max_is_the_net_on_inputs_cut_off_by_hand(void **state)
{
    struct nn_spec s = spec_of(FEATURES, DEGREE, OUT), cut = s;
    float x[ROWS * FEATURES], by_hand[ROWS * FEATURES], dy[ROWS * OUT];
    struct nn_net free_net, cut_net;
    struct arena a, b;
    uint64_t seed = 9;
    size_t beyond = 0;

    (void)state;
    cut.layer[0].x_max = 0.75F;
    sample_fill(x, (size_t)ROWS * FEATURES, 2.0F, &seed);
    sample_fill(dy, (size_t)ROWS * OUT, 1.0F, &seed);
    for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++) {
        by_hand[i] = fmaxf(-0.75F, fminf(0.75F, x[i]));
        beyond += by_hand[i] != x[i];
    }
    assert_true(beyond > 0 && beyond < (size_t)ROWS * FEATURES);
    open_net(&free_net, &a, &s);
    open_net(&cut_net, &b, &cut);
    randomize(&free_net, NN_INIT_GLOROT);
    randomize(&cut_net, NN_INIT_GLOROT);
    nn_net_forward(&free_net, by_hand, ROWS);
    nn_net_backward(&free_net, NULL, dy);
    nn_net_forward(&cut_net, x, ROWS);
    nn_net_backward(&cut_net, NULL, dy);
    assert_memory_equal(free_net.layer[0].y, cut_net.layer[0].y, sizeof(float) * ROWS * OUT);
    assert_memory_equal(free_net.layer[0].dw, cut_net.layer[0].dw, sizeof(float) * PARAMS);
    nn_net_forward(&free_net, x, ROWS); /* x_max 0: not at all */
    assert_memory_not_equal(free_net.layer[0].y, cut_net.layer[0].y, sizeof(float) * ROWS * OUT);
    arena_deinit(&a);
    arena_deinit(&b);
}

/* --- beside dense layers --- */

static void test_degree_1_is_a_linear_layer_without_bias(void **state)
{
    const struct nn_spec s = spec_of(FEATURES, 1, OUT);
    struct nn_spec linear = spec_of(FEATURES, 0, OUT);
    float x[ROWS * FEATURES], dy[ROWS * OUT];
    struct nn_net p, l;
    struct arena a, b;
    uint64_t seed = 3;

    (void)state;
    open_net(&p, &a, &s);
    open_net(&l, &b, &linear);
    sample_fill(x, (size_t)ROWS * FEATURES, 2.0F, &seed);
    sample_fill(dy, (size_t)ROWS * OUT, 1.0F, &seed);
    randomize(&p, NN_INIT_GLOROT);
    randomize(&l, NN_INIT_GLOROT); /* its biases are 0 */
    for (int step = 0; step < 2; step++) {
        const float *y = nn_net_forward(&p, x, ROWS);

        assert_memory_equal(y, nn_net_forward(&l, x, ROWS), sizeof dy);
        nn_net_backward(&p, NULL, dy);
        nn_net_backward(&l, NULL, dy);
        assert_memory_equal(p.layer[0].dw, l.layer[0].dw, sizeof(float) * FEATURES * OUT);
        assert_true(p.layer[0].b == NULL && l.layer[0].db[0] != 0.0F);
        nn_net_step(&p, 0.1F);
        nn_net_step(&l, 0.1F);
        memset(l.layer[0].b, 0, OUT * sizeof(float));
    }
    arena_deinit(&a);
    arena_deinit(&b);
}

/* A forward of the same rows in another place, and of fewer rows: nothing of an earlier one stays.
 */
static void test_a_forward_knows_nothing_of_the_one_before(void **state)
{
    const struct nn_spec s = spec_of(FEATURES, DEGREE, OUT);
    float x[ROWS * FEATURES], other[ROWS * FEATURES], y[ROWS * OUT], dw[PARAMS], dy[ROWS * OUT];
    struct nn_net n;
    struct arena a;
    uint64_t seed = 4;

    (void)state;
    open_net(&n, &a, &s);
    randomize(&n, NN_INIT_HE);
    sample_fill(x, (size_t)ROWS * FEATURES, 2.0F, &seed);
    sample_fill(other, (size_t)ROWS * FEATURES, 2.0F, &seed);
    sample_fill(dy, (size_t)ROWS * OUT, 1.0F, &seed);
    memcpy(y, nn_net_forward(&n, x, 3), 3 * OUT * sizeof *y);
    nn_net_backward(&n, NULL, dy);
    memcpy(dw, n.layer[0].dw, sizeof dw);
    nn_net_forward(&n, other, ROWS);
    nn_net_backward(&n, NULL, dy);
    assert_memory_not_equal(n.layer[0].dw, dw, sizeof dw);
    assert_memory_equal(nn_net_forward(&n, x, 3), y, 3 * OUT * sizeof *y);
    nn_net_backward(&n, NULL, dy);
    assert_memory_equal(n.layer[0].dw, dw, sizeof dw);
    arena_deinit(&a);
}

/* --- initial weights, memory --- */

static float draw_again(struct rng *r, enum nn_init init)
{
    const double in = FEATURES * DEGREE;

    switch (init) {
    case NN_INIT_GLOROT: return (float)((2.0 * rng_uniform(r) - 1.0) * sqrt(6.0 / (in + OUT)));
    case NN_INIT_HE: return (float)(rng_normal(r) * sqrt(2.0 / in));
    case NN_INIT_TORCH: return (float)((2.0 * rng_uniform(r) - 1.0) * (1.0 / sqrt(in)));
    }
    return NAN;
}

/* And no draw more than there are weights. */
static void test_all_powers_share_one_fan_in(void **state)
{
    static const enum nn_init INITS[] = {NN_INIT_GLOROT, NN_INIT_HE, NN_INIT_TORCH};
    const struct nn_spec s = spec_of(FEATURES, DEGREE, OUT);
    struct nn_net n;
    struct arena a;

    (void)state;
    open_net(&n, &a, &s);
    for (size_t i = 0; i < 3; i++) {
        struct rng ours, again;
        double next;

        memset(&ours, 0, sizeof ours);
        memset(&again, 0, sizeof again);
        assert_int_equal(rng_init_key(&ours, KEY), STATUS_OK);
        assert_int_equal(rng_init_key(&again, KEY), STATUS_OK);
        nn_net_randomize(&n, INITS[i], &ours);
        for (size_t k = 0; k < PARAMS; k++)
            assert_true(n.layer[0].w[k] == draw_again(&again, INITS[i]));
        next = rng_uniform(&ours);
        assert_true(next == rng_uniform(&again));
        rng_deinit(&ours);
        rng_deinit(&again);
    }
    arena_deinit(&a);
}

static size_t block(size_t floats)
{
    return (floats * sizeof(float) + MEM_ALIGNMENT - 1) / MEM_ALIGNMENT * MEM_ALIGNMENT;
}

static void test_it_fits_the_bytes_it_asks_for_and_no_fewer(void **state)
{
    struct nn_spec s = spec_of(FEATURES, DEGREE, OUT);
    struct nn_net n;
    struct arena a;
    size_t need;

    (void)state;
    s.optimizer = NN_ADAM;
    need = nn_net_bytes(&s); /* w, dw, m1, m2; y, dy; powers; rows */
    assert_int_equal(need, MEM_ALIGNMENT + 4 * block(PARAMS) + 2 * block((size_t)ROWS * OUT) +
                               block((size_t)ROWS * FEATURES * DEGREE) + 2 * block(ROWS));
    assert_int_equal(arena_init(&a, need), STATUS_OK);
    assert_int_equal(nn_net_init(&n, &s, &a), STATUS_OK);
    for (size_t cut = 2; cut < need / 64; cut++) { /* the first is for an odd place */
        a.used = 0;
        assert_non_null(arena_alloc(&a, cut, 64));
        assert_int_equal(nn_net_init(&n, &s, &a), STATUS_MEMORY);
    }
    arena_deinit(&a);
    assert_true(nn_net_flops(&s, 10) == 4.0 * PARAMS * 10);
}

/* --- state and file --- */

static void train(struct nn_net *n, int steps)
{
    float x[ROWS * FEATURES], dy[ROWS * OUT];
    uint64_t seed = 8;

    sample_fill(x, (size_t)ROWS * FEATURES, 1.5F, &seed);
    for (int s = 0; s < steps; s++) {
        const float *y = nn_net_forward(n, x, ROWS);

        for (size_t i = 0; i < (size_t)ROWS * OUT; i++)
            dy[i] = y[i] - 0.25F;
        nn_net_backward(n, NULL, dy);
        nn_net_step(n, 0.002F);
    }
}

static void test_a_restored_net_trains_on_to_the_same_bytes(void **state)
{
    (void)state;
    for (int o = NN_SGD; o <= NN_ADAM; o++) {
        struct nn_spec s = spec_of(FEATURES, DEGREE, OUT);
        struct nn_net a, b;
        struct arena of_a, of_b;
        struct buf half, end_a, end_b;

        s.optimizer = (enum nn_optimizer)o;
        buf_init(&half, 1 << 16);
        buf_init(&end_a, 1 << 16);
        buf_init(&end_b, 1 << 16);
        open_net(&a, &of_a, &s);
        open_net(&b, &of_b, &s);
        randomize(&a, NN_INIT_TORCH);
        train(&a, 3);
        assert_int_equal(nn_state_print(&a, &half), STATUS_OK);
        assert_int_equal(half.len, 8 + PARAMS * sizeof(float) * (size_t)(o + 1));
        assert_int_equal(nn_state_parse(&b, half.data, half.len), STATUS_OK);
        assert_int_equal(nn_state_parse(&b, half.data, half.len - 4), STATUS_DATA);
        train(&a, 4);
        train(&b, 4);
        assert_int_equal(nn_state_print(&a, &end_a), STATUS_OK);
        assert_int_equal(nn_state_print(&b, &end_b), STATUS_OK);
        assert_int_equal(end_a.len, end_b.len);
        assert_memory_equal(end_a.data, end_b.data, end_a.len);
        assert_memory_not_equal(end_a.data, half.data, half.len);
        buf_deinit(&half);
        buf_deinit(&end_a);
        buf_deinit(&end_b);
        arena_deinit(&of_a);
        arena_deinit(&of_b);
    }
}

/* The lines that tests/golden/read_safetensors.py prints for a polynomial of these weights. */
static void expected_lines(char *text, size_t size, const float *w, uint32_t degree)
{
    size_t at = 0;

    for (uint32_t i = 0; i < degree; i++) {
        at += (size_t)snprintf(text + at, size - at, "w%u %dx%d", i + 1, FEATURES, OUT);
        for (size_t k = 0; k < (size_t)FEATURES * OUT; k++) {
            uint32_t bits;

            memcpy(&bits, w++, sizeof bits);
            at += (size_t)snprintf(text + at, size - at, " %08x", bits);
        }
        at += (size_t)snprintf(text + at, size - at, "\n");
    }
}

static void test_python_reads_one_matrix_for_each_power(void **state)
{
    struct nn_net n;
    struct arena a;
    struct buf file;

    (void)state;
    for (uint32_t degree = 1; degree <= NN_DEGREE_MAX; degree++) {
        const struct nn_spec s = spec_of(FEATURES, degree, OUT);
        char want[4096] = "", got[4096] = "", command[1024];
        FILE *out;

        open_net(&n, &a, &s);
        randomize(&n, NN_INIT_HE);
        buf_init(&file, 65536);
        assert_int_equal(safetensors_print(&n, &file), STATUS_OK);
        expected_lines(want, sizeof want, n.layer[0].w, degree);
        snprintf(command, sizeof command, "python3 tests/golden/read_safetensors.py '%s'",
                 scratch_write("model.safetensors", file.data, file.len));
        out = popen(command, "r");
        assert_non_null(out);
        got[fread(got, 1, sizeof got - 1, out)] = '\0';
        assert_int_equal(pclose(out), 0);
        assert_string_equal(got, want);
        buf_deinit(&file);
        arena_deinit(&a);
    }
}

static void test_a_file_comes_back_into_its_degree_and_no_other(void **state)
{
    struct buf file;
    struct nn_net n, other;
    struct arena a, b;
    struct nn_spec s = spec_of(FEATURES, DEGREE, OUT);

    (void)state;
    open_net(&n, &a, &s);
    randomize(&n, NN_INIT_HE);
    buf_init(&file, 65536);
    assert_int_equal(safetensors_print(&n, &file), STATUS_OK);
    for (uint32_t degree = 0; degree <= DEGREE + 1; degree++) {
        struct error err = {0};

        s.layer[0].kind = degree > 0 ? NN_POLYNOMIAL : NN_DENSE;
        s.layer[0].degree = degree;
        open_net(&other, &b, &s);
        assert_int_equal(safetensors_parse(&other, file.data, file.len, &err),
                         degree == DEGREE ? STATUS_OK : STATUS_DATA);
        if (degree == DEGREE)
            assert_memory_equal(n.layer[0].w, other.layer[0].w, PARAMS * sizeof(float));
        arena_deinit(&b);
    }
    buf_deinit(&file);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embeddings_and_gradients_are_the_golden_ones),
        cmocka_unit_test(test_three_steps_are_the_golden_ones),
        cmocka_unit_test(test_gradients_are_differences_of_the_definition_for_all_degrees),
        cmocka_unit_test(test_powers_stand_side_by_side_row_by_row),
        cmocka_unit_test(test_powers_are_those_of_inputs_cut_off_at_x_max),
        cmocka_unit_test(test_an_input_that_is_no_number_is_not_taken_for_one),
        cmocka_unit_test(test_a_net_with_x_max_is_the_net_on_inputs_cut_off_by_hand),
        cmocka_unit_test(test_degree_1_is_a_linear_layer_without_bias),
        cmocka_unit_test(test_a_forward_knows_nothing_of_the_one_before),
        cmocka_unit_test(test_all_powers_share_one_fan_in),
        cmocka_unit_test(test_it_fits_the_bytes_it_asks_for_and_no_fewer),
        cmocka_unit_test(test_a_restored_net_trains_on_to_the_same_bytes),
        cmocka_unit_test(test_python_reads_one_matrix_for_each_power),
        cmocka_unit_test(test_a_file_comes_back_into_its_degree_and_no_other),
    };
    return cmocka_run_group_tests(tests, golden_load, golden_unload);
}
