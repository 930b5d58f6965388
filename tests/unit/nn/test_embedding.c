/* test_embedding.c -- tables of vectors, against one-hot rows and a dense layer without a bias.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/embedding.h"

#include "common/nn/optim.h"
#include "common/nn/safetensors.h"
#include "common/nn/state.h"
#include "tests/unit/nn/sample.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum {
    ROWS = 6,
    COLUMNS = 4,
    LEVELS = 3,
    WIDTH = 2,
    OUT = 3,
    WIDE = 2 + 2 * WIDTH,
    HOT = 2 + 2 * LEVELS
};

/* Columns 1 and 2 are levels. */
static const struct nn_spec SPEC = {
    .layers = 2,
    .width = {COLUMNS, WIDE, OUT},
    .act = {NN_ACT_NONE, NN_ACT_TANH},
    .out_scale = 2,
    .rows_max = ROWS,
    .layer = {{NN_EMBEDDING, 0, 0}},
    .embedded = {2, {{1, LEVELS, WIDTH}, {2, LEVELS, WIDTH}}},
};

static const float X[ROWS][COLUMNS] = {
    {0.5F, 1, 3, -1}, {-2, 2, 0, 0.25F}, {1, 2, 2, 3}, {0, 0, 0, 0}, {4, 3, 1, 1}, {1, 2, 1, -0.5F},
};

struct trial {
    struct arena arena;
    struct nn_net net;
    float dy[ROWS * OUT];
};

static void open_trial(struct trial *t, const struct nn_spec *spec)
{
    static const uint8_t key[RNG_KEY_BYTES] = {9};
    struct rng r = {0};
    uint64_t seed = 3;

    memset(t, 0, sizeof *t);
    assert_int_equal(arena_init(&t->arena, nn_net_bytes(spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&t->net, spec, &t->arena), STATUS_OK);
    assert_int_equal(rng_init_key(&r, key), STATUS_OK);
    nn_net_randomize(&t->net, NN_INIT_GLOROT, &r);
    rng_deinit(&r);
    sample_fill(t->dy, ROWS * OUT, 1.0F, &seed);
}

static void close_trial(struct trial *t)
{
    arena_deinit(&t->arena);
}

/* The same function of wider rows: what passes, and a feature for each level. */
static void hot_row(double *out, const float *x)
{
    memset(out, 0, HOT * sizeof *out);
    out[0] = (double)x[0];
    out[1] = (double)x[3];
    for (size_t k = 0; k < 2; k++)
        if (x[1 + k] > 0)
            out[2 + k * LEVELS + (size_t)x[1 + k] - 1] = 1;
}

/* HOT x WIDE: passes, then each table in its own columns. */
static void hot_matrix(double m[HOT][WIDE], const float *w)
{
    memset(m, 0, HOT * sizeof *m);
    m[0][0] = m[1][1] = 1;
    for (size_t k = 0; k < 2; k++)
        for (size_t l = 0; l < LEVELS; l++)
            for (size_t i = 0; i < WIDTH; i++)
                m[2 + k * LEVELS + l][2 + k * WIDTH + i] = (double)w[(k * LEVELS + l) * WIDTH + i];
}

static void test_it_is_the_product_of_a_one_hot_row(void **state)
{
    double m[HOT][WIDE], hot[HOT];
    struct trial t;

    (void)state;
    open_trial(&t, &SPEC);
    nn_net_forward(&t.net, X[0], ROWS);
    hot_matrix(m, t.net.layer[0].w);
    for (size_t r = 0; r < ROWS; r++) {
        hot_row(hot, X[r]);
        for (size_t c = 0; c < WIDE; c++) {
            double want = 0;

            for (size_t i = 0; i < HOT; i++)
                want += hot[i] * m[i][c];
            assert_true((double)t.net.layer[0].y[r * WIDE + c] == (double)(float)want);
        }
    }
    close_trial(&t);
}

static void test_what_comes_back_is_that_of_its_levels_alone(void **state)
{
    double want[2 * LEVELS * WIDTH] = {0}, hot[HOT];
    struct trial t;

    (void)state;
    open_trial(&t, &SPEC);
    nn_net_forward(&t.net, X[0], ROWS);
    nn_net_backward(&t.net, NULL, t.dy);
    for (size_t r = 0; r < ROWS; r++) {
        hot_row(hot, X[r]);
        for (size_t k = 0; k < 2; k++)
            for (size_t l = 0; l < LEVELS; l++)
                for (size_t i = 0; i < WIDTH; i++)
                    want[(k * LEVELS + l) * WIDTH + i] +=
                        hot[2 + k * LEVELS + l] *
                        (double)t.net.layer[0].dy[r * WIDE + 2 + k * WIDTH + i];
    }
    assert_int_equal(sample_misses(t.net.layer[0].dw, want, 2 * LEVELS * WIDTH, 1e-6, 1e-7), 0);
    assert_true(fabs(want[0]) > 1e-4);
    close_trial(&t);
}

/* 0, and what no preparation makes: never another's memory, never anything learned. */
static void test_what_is_no_level_is_zeros_and_teaches_nothing(void **state)
{
    static const float none[] = {0, -1, 0.99F, -INFINITY, NAN, LEVELS + 1, 1e30F, INFINITY};
    float x[COLUMNS] = {1, 0, 0, 1}, dy[OUT] = {1, 1, 1};
    struct trial t;

    (void)state;
    open_trial(&t, &SPEC);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        x[1] = x[2] = none[i];
        nn_net_forward(&t.net, x, 1);
        nn_net_backward(&t.net, NULL, dy);
        for (size_t c = 2; c < WIDE; c++)
            assert_true(fabsf(t.net.layer[0].y[c]) <= 0);
        for (size_t k = 0; k < t.net.layer[0].params; k++)
            assert_true(fabsf(t.net.layer[0].dw[k]) <= 0);
        assert_true(t.net.layer[0].kind->norm2(&t.net.layer[0], 0) <= 0);
    }
    close_trial(&t);
}

static void test_tables_begin_small_whatever_init_says(void **state)
{
    struct nn_spec spec = SPEC;
    struct trial t;
    double sum = 0;

    (void)state;
    spec.embedded.of[0].levels = 1000;
    open_trial(&t, &spec);
    for (size_t i = 0; i < t.net.layer[0].params; i++) {
        assert_true(fabsf(t.net.layer[0].w[i]) <= 0.05F);
        sum += fabs((double)t.net.layer[0].w[i]);
    }
    assert_true(fabs(sum / (double)t.net.layer[0].params - 0.025) < 0.002);
    close_trial(&t);
}

/* What passes is an input, and no value of a hidden layer. */
static void test_dropout_leaves_it_whole(void **state)
{
    struct nn_spec spec = SPEC;
    struct rng r = {0};
    struct trial t;

    (void)state;
    spec.layers = 3;
    spec.width[2] = 8;
    spec.width[3] = OUT;
    spec.act[1] = NN_ACT_RELU;
    spec.act[2] = NN_ACT_TANH;
    spec.dropout = 0.9F;
    open_trial(&t, &spec);
    assert_null(t.net.layer[0].mask);
    assert_non_null(t.net.layer[1].mask);
    assert_int_equal(rng_init_key(&r, (const uint8_t[RNG_KEY_BYTES]){1}), STATUS_OK);
    nn_net_draw_masks(&t.net, ROWS, &r);
    nn_net_forward_masked(&t.net, X[0], ROWS);
    for (size_t row = 0; row < ROWS; row++)
        assert_true(t.net.layer[0].y[row * WIDE] == X[row][0]);
    rng_deinit(&r);
    close_trial(&t);
}

/* Level 3 of the first table is in no row of this batch. */
static void test_decay_and_moments_move_levels_that_a_batch_has_not(void **state)
{
    const size_t at = (LEVELS - 1) * WIDTH;
    struct nn_spec spec = SPEC;
    struct trial t;
    float was, then;

    (void)state;
    spec.optimizer = NN_ADAMW;
    spec.weight_decay = 0.5F;
    open_trial(&t, &spec);
    was = t.net.layer[0].w[at];
    nn_net_forward(&t.net, X[0], 4);
    nn_net_backward(&t.net, NULL, t.dy);
    assert_true(fabsf(t.net.layer[0].dw[at]) <= 0);
    nn_net_step(&t.net, 0.1F);
    assert_true(sample_close((double)t.net.layer[0].w[at], (double)was * 0.95, 1e-5, 0));
    nn_net_forward(&t.net, X[4], 1);
    nn_net_backward(&t.net, NULL, t.dy);
    nn_net_step(&t.net, 0.1F);
    then = t.net.layer[0].w[at];
    nn_net_forward(&t.net, X[0], 4);
    nn_net_backward(&t.net, NULL, t.dy);
    nn_net_step(&t.net, 0.1F);
    assert_false(sample_close((double)t.net.layer[0].w[at], (double)then * 0.95, 1e-3, 0));
    close_trial(&t);
}

/* Whatever comes back, by each rule and at a rate beyond any; and of tables from elsewhere. */
static void test_no_value_of_a_table_passes_the_bound_of_weights(void **state)
{
    static const enum nn_optimizer rules[] = {NN_SGD, NN_MOMENTUM, NN_ADAM, NN_ADAMW};
    static const float strange[] = {INFINITY, -INFINITY, NAN, 1e30F, -1e30F, 0.5F};
    static const float bound[] = {OPTIM_WEIGHT_MAX, -OPTIM_WEIGHT_MAX, 0,
                                  OPTIM_WEIGHT_MAX, -OPTIM_WEIGHT_MAX, 0.5F};
    struct trial t;

    (void)state;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        struct nn_spec spec = SPEC;
        const float near = OPTIM_WEIGHT_MAX * (1 - 1e-6F);
        size_t there = 0;

        spec.optimizer = rules[k];
        open_trial(&t, &spec);
        for (size_t i = 0; i < t.net.layer[0].params; i++)
            t.net.layer[0].w[i] = i % 2 == 0 ? near : -near;
        for (int step = 0; step < 5; step++) {
            for (size_t i = 0; i < t.net.layer[0].params; i++)
                t.net.layer[0].dw[i] = i % 2 == 0 ? -3e38F : 3e38F;
            nn_net_step(&t.net, 1e9F);
        }
        for (size_t i = 0; i < t.net.layer[0].params; i++) {
            assert_true(fabsf(t.net.layer[0].w[i]) <= OPTIM_WEIGHT_MAX);
            there += fabsf(t.net.layer[0].w[i]) >= OPTIM_WEIGHT_MAX;
        }
        assert_int_equal(there, t.net.layer[0].params);
        close_trial(&t);
    }
    open_trial(&t, &SPEC);
    for (size_t i = 0; i < t.net.layer[0].params; i++)
        t.net.layer[0].w[i] = strange[i % 6];
    nn_net_limit(&t.net);
    for (size_t i = 0; i < t.net.layer[0].params; i++)
        assert_true(t.net.layer[0].w[i] == bound[i % 6]);
    close_trial(&t);
}

static void train_a_little(struct trial *t)
{
    for (int i = 0; i < 5; i++) {
        nn_net_forward(&t->net, X[0], ROWS);
        nn_net_backward(&t->net, NULL, t->dy);
        nn_net_step(&t->net, 0.01F);
    }
}

static void test_a_state_and_a_file_bring_every_bit_back(void **state)
{
    struct nn_spec spec = SPEC;
    struct trial a, b;
    struct error err = {0};
    struct buf kept, file;

    (void)state;
    spec.optimizer = NN_ADAM;
    buf_init(&kept, 1 << 20);
    buf_init(&file, 1 << 20);
    open_trial(&a, &spec);
    open_trial(&b, &spec);
    train_a_little(&a);
    assert_int_equal(nn_state_print(&a.net, &kept), STATUS_OK);
    assert_int_equal(safetensors_print(&a.net, &file), STATUS_OK);
    assert_non_null(memmem(file.data, file.len, "\"layer.0.table.1\"", 17));
    assert_int_equal(safetensors_parse(&b.net, file.data, file.len, &err), STATUS_OK);
    assert_memory_equal(a.net.layer[0].w, b.net.layer[0].w, a.net.layer[0].params * sizeof(float));
    assert_int_equal(nn_state_parse(&b.net, kept.data, kept.len), STATUS_OK);
    train_a_little(&a);
    train_a_little(&b);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(a.net.layer[i].w, b.net.layer[i].w,
                            a.net.layer[i].params * sizeof(float));
    close_trial(&a);
    close_trial(&b);
    buf_deinit(&kept);
    buf_deinit(&file);
}

static void test_tables_that_fit_no_row_or_no_bound_do_not_fit(void **state)
{
    struct nn_spec s = SPEC;

    (void)state;
    assert_true(EMBEDDING_LAYER.fits(&s, 0));
    assert_false(EMBEDDING_LAYER.fits(&s, 1));
#define WRONG(what)                                                                                \
    do {                                                                                           \
        s = SPEC;                                                                                  \
        what;                                                                                      \
        assert_false(EMBEDDING_LAYER.fits(&s, 0));                                                 \
    } while (0)
    WRONG(s.embedded.n = 0);
    WRONG(s.embedded.n = NN_EMBEDDED_MAX + 1);
    WRONG(s.embedded.of[1].column = 1);
    WRONG(s.embedded.of[1].column = COLUMNS);
    WRONG(s.embedded.of[0].levels = 0);
    WRONG(s.embedded.of[0].levels = NN_EMBEDDED_LEVELS_MAX + 1);
    WRONG(s.width[1]++);
    WRONG(s.act[0] = NN_ACT_RELU);
    WRONG((s.embedded.of[0].width = 0, s.width[1] -= WIDTH));
    WRONG((s.embedded.of[0].width = NN_EMBEDDED_WIDTH_MAX + 1,
           s.width[1] += NN_EMBEDDED_WIDTH_MAX + 1 - WIDTH));
    s = SPEC;
    s.embedded.of[0].width = s.embedded.of[1].width = NN_EMBEDDED_WIDTH_MAX;
    s.embedded.of[0].levels = s.embedded.of[1].levels = NN_EMBEDDED_LEVELS_MAX;
    s.width[1] = 2 + 2 * NN_EMBEDDED_WIDTH_MAX;
    assert_true(EMBEDDING_LAYER.fits(&s, 0));
    s.embedded.n = 3;
    s.embedded.of[2].column = 3;
    s.embedded.of[2].levels = s.embedded.of[2].width = 1;
    assert_false(EMBEDDING_LAYER.fits(&s, 0)); /* one value too many */
#undef WRONG
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_product_of_a_one_hot_row),
        cmocka_unit_test(test_what_comes_back_is_that_of_its_levels_alone),
        cmocka_unit_test(test_what_is_no_level_is_zeros_and_teaches_nothing),
        cmocka_unit_test(test_tables_begin_small_whatever_init_says),
        cmocka_unit_test(test_dropout_leaves_it_whole),
        cmocka_unit_test(test_decay_and_moments_move_levels_that_a_batch_has_not),
        cmocka_unit_test(test_no_value_of_a_table_passes_the_bound_of_weights),
        cmocka_unit_test(test_a_state_and_a_file_bring_every_bit_back),
        cmocka_unit_test(test_tables_that_fit_no_row_or_no_bound_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
