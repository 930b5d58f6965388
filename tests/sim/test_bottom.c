/* test_bottom.c -- a party's bottom: which inputs it sees, what it counts, which plans it can run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/bottom.h"

#include "common/base/check.h"
#include "common/config/key_value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 6, COLS = 2, WIDTH = 3, BATCH = 4 };

static float values[ROWS * COLS] = {0.5F,  -0.25F, 9.0F, 1.0F,   -20.0F, 2.0F,
                                    -3.0F, 3.0F,   4.0F, -40.0F, 0.0F,   8.0F};
static const uint32_t batch[BATCH] = {0, 1, 2, 5};

static struct config_party config;
static struct plan plan;
static struct party_bottom bottom;

static int set_up(void **state)
{
    (void)state;
    config_party_defaults(&config);
    config.degree = 2;
    config.layers = (struct config_layers){0};
    plan_defaults(&plan);
    plan.model.embedding = WIDTH;
    plan.training.batch = BATCH;
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    return 0;
}

static void start(void)
{
    static const uint8_t key[RNG_KEY_BYTES] = {7};
    struct rng init = {0};

    CHECK(rng_init_key(&init, key) == STATUS_OK);
    assert_int_equal(party_bottom_init(&bottom, &config, &plan, COLS, NULL, &init), STATUS_OK);
    rng_deinit(&init);
}

static struct table table_of(float *x)
{
    return (struct table){.rows = ROWS, .cols = COLS, .x = x};
}

/* Embeddings of the batch and of all rows, one below the other. */
static void embed(float *x, float out[(BATCH + ROWS) * WIDTH])
{
    struct table t = table_of(x);

    memcpy(out, party_bottom_train(&bottom, &t, batch, BATCH, 0), sizeof(float) * BATCH * WIDTH);
    memcpy(out + BATCH * WIDTH, party_bottom_evaluate(&bottom, &t, 0, ROWS),
           sizeof(float) * ROWS * WIDTH);
}

/* What predictions have in the place of an unknown id: zeros, of layers and of a polynomial, in
 * training, at its second local step, and when rows are evaluated; and of no other row. */
static void test_a_row_that_is_not_there_is_zeros(void **state)
{
    static uint8_t lacks[ROWS] = {0, 1, 0, 1, 0, 0};
    static const bool zero[BATCH + ROWS] = {0, 1, 0, 0, 0, 1, 0, 1, 0, 0};
    struct table t = table_of(values);
    float h[(2 * BATCH + ROWS) * WIDTH];

    (void)state;
    t.lacks = lacks;
    for (config.degree = 0; config.degree < 3; config.degree += 2) {
        start();
        memcpy(h, party_bottom_train(&bottom, &t, batch, BATCH, 0), sizeof(float) * BATCH * WIDTH);
        memcpy(h + (BATCH + ROWS) * WIDTH, party_bottom_again(&bottom),
               sizeof(float) * BATCH * WIDTH);
        memcpy(h + BATCH * WIDTH, party_bottom_evaluate(&bottom, &t, 0, ROWS),
               sizeof(float) * ROWS * WIDTH);
        for (size_t i = 0; i < (2 * BATCH + ROWS) * WIDTH; i++)
            assert_int_equal(h[i] == 0, zero[i / WIDTH % (BATCH + ROWS)]);
        party_bottom_deinit(&bottom);
    }
}

/* Nor does what stands there, of a record that is left out, reach others through their batch. */
static void test_a_row_that_is_left_out_moves_no_other_of_its_batch(void **state)
{
    static uint8_t lacks[ROWS] = {0, 1, 0, 0, 0, 0};
    float h[2][BATCH * WIDTH];

    (void)state;
    config.degree = 0;
    config.shape = (struct plan_widths){3, {1, 1, COLS}};
    config.layers = (struct config_layers){3,
                                           {{.word = LAYERS_CONV2D, .argument = {2, 1, 1, 0, 1, 1}},
                                            {.word = LAYERS_BATCHNORM},
                                            {.word = LAYERS_FLATTEN}}};
    for (int k = 0; k < 2; k++) {
        float x[ROWS * COLS];
        struct table t = table_of(x);

        memcpy(x, values, sizeof x);
        x[COLS] += 100.0F * (float)k;
        t.lacks = lacks;
        start();
        memcpy(h[k], party_bottom_train(&bottom, &t, batch, BATCH, 0), sizeof h[k]);
        party_bottom_deinit(&bottom);
    }
    assert_memory_equal(h[0], h[1], sizeof h[0]);
    config.shape = (struct plan_widths){0};
}

/* C tanh of what stands there without; and then it is counted how much of it is beyond C. */
static void test_without_an_output_activation_the_last_layer_is_the_embedding(void **state)
{
    float bare[(BATCH + ROWS) * WIDTH], bound[(BATCH + ROWS) * WIDTH];
    const float clip = 0.5F;
    size_t beyond = 0;

    (void)state;
    config.degree = 0;
    plan.protocol.clip = clip;
    start();
    embed(values, bound);
    assert_int_equal(bottom.cut.values, 0);
    party_bottom_deinit(&bottom);
    config.output_activation = OUTPUT_ACTIVATION_NONE;
    start();
    embed(values, bare);
    for (size_t i = 0; i < (BATCH + ROWS) * WIDTH; i++) {
        assert_true(fabsf(bound[i] - clip * tanhf(bare[i])) < 1e-6F);
        beyond += i < BATCH * WIDTH && fabsf(bare[i]) > clip;
    }
    assert_int_equal(bottom.cut.values, BATCH * WIDTH);
    assert_int_equal(bottom.cut.beyond, beyond);
    assert_true(beyond > 0);
    party_bottom_deinit(&bottom);
}

static void test_a_polynomial_sees_no_input_beyond_x_max(void **state)
{
    float cut[ROWS * COLS], a[(BATCH + ROWS) * WIDTH], b[(BATCH + ROWS) * WIDTH];
    static const enum plan_aggregation all[] = {AGGREGATION_MASKED, AGGREGATION_CODED,
                                                AGGREGATION_FEDVS, AGGREGATION_CLEAR};

    (void)state;
    for (size_t i = 0; i < ROWS * COLS; i++)
        cut[i] = fmaxf(-8.0F, fminf(8.0F, values[i]));
    for (size_t i = 0; i < 4; i++) {
        plan.protocol.aggregation = all[i];
        start();
        embed(values, a);
        embed(cut, b);
        assert_memory_equal(a, b, sizeof a);
        assert_int_equal(bottom.cut.inputs, 2 * BATCH * COLS);
        assert_int_equal(bottom.cut.inputs_beyond, 2); /* 9 and -20; 8 is not, -40 is in no batch */
        party_bottom_deinit(&bottom);
    }
}

static void test_x_max_is_the_plans(void **state)
{
    float a[(BATCH + ROWS) * WIDTH], b[(BATCH + ROWS) * WIDTH];

    (void)state;
    start();
    embed(values, a);
    party_bottom_deinit(&bottom);
    plan.protocol.fedvs.x_max = 32;
    start();
    embed(values, b);
    assert_int_equal(bottom.cut.inputs_beyond, 0);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_equal(a, b, sizeof(float) * WIDTH); /* row 0 is within either */
    party_bottom_deinit(&bottom);
}

static void test_layers_see_inputs_as_they_are(void **state)
{
    float cut[ROWS * COLS], a[(BATCH + ROWS) * WIDTH], b[(BATCH + ROWS) * WIDTH];

    (void)state;
    config.degree = 0;
    config.layers = (struct config_layers){0};
    for (size_t i = 0; i < ROWS * COLS; i++) {
        cut[i] = fmaxf(-8.0F, fminf(8.0F, values[i])) / 100;
        values[i] /= 100;
    }
    plan.protocol.fedvs.x_max = 0.08;
    start();
    embed(values, a);
    embed(cut, b);
    assert_memory_not_equal(a, b, sizeof a);
    assert_int_equal(bottom.cut.inputs, 0);
    assert_int_equal(bottom.cut.inputs_beyond, 0);
    party_bottom_deinit(&bottom);
    for (size_t i = 0; i < ROWS * COLS; i++)
        values[i] *= 100;
}

/* fedvs adds embeddings of any size; every encoding cuts them off at C, which is worth counting. */
static void test_embeddings_beyond_the_clip_are_counted_where_they_are_cut_off(void **state)
{
    float out[(BATCH + ROWS) * WIDTH];

    (void)state;
    plan.protocol.clip = 1e-6;
    start();
    embed(values, out);
    assert_int_equal(bottom.cut.values, BATCH * WIDTH);
    assert_int_equal(bottom.cut.beyond, BATCH * WIDTH);
    party_bottom_deinit(&bottom);
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    start();
    embed(values, out);
    assert_int_equal(bottom.cut.values, BATCH * WIDTH);
    assert_int_equal(bottom.cut.beyond, 0);
    party_bottom_deinit(&bottom);
}

static void test_fedvs_takes_polynomials_only(void **state)
{
    struct error err = {0};

    (void)state;
    plan.protocol.aggregation = AGGREGATION_FEDVS;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_OK);
    config.degree = 0;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_CONFIG);
    assert_int_equal(err.status, STATUS_CONFIG);
    assert_int_equal(status_exit_code(err.status), 2);
    assert_non_null(strstr(err.text, "model.polynomial.degree: the plan's aggregation is fedvs"));
    plan.protocol.aggregation = AGGREGATION_CLEAR;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_OK);
    plan.protocol.aggregation = AGGREGATION_CODED;
    assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), STATUS_OK);
}

/* A bottom of 16 features in this shape. */
static void list(const struct plan_widths *shape, const char *const *items)
{
    char want[256];

    config.degree = 0;
    config.shape = *shape;
    config.layers.n = 0;
    for (; *items != NULL; items++) {
        const struct key_value_item item = {.text = *items, .map = strchr(*items, ' ') != NULL};

        assert_true(layers_read(&config.layers.item[config.layers.n++], &item, want, sizeof want));
    }
}

/* How many features there are the rows may decide: no refusal hangs on it that others see. */
static void test_a_shape_or_a_size_that_is_none_is_said_here_alone(void **state)
{
    const struct plan_widths series = {2, {4, 4}}, none = {0}, image = {3, {1, 4, 4}};
    struct error err = {0};

    (void)state;
    list(&series, (const char *const[]){"lstm 4", NULL});
    assert_int_equal(party_bottom_check(&config, &plan, 16, NULL, &err), STATUS_OK);
    assert_int_equal(party_bottom_check(&config, &plan, 17, NULL, &err), STATUS_IO);
    assert_int_equal(status_kind(err.status), STATUS_KIND_LOCAL);
    list(&image, (const char *const[]){"65536", "65536", "65536", NULL});
    assert_int_equal(party_bottom_check(&config, &plan, 16, NULL, &err), STATUS_MEMORY);
    assert_int_equal(status_kind(err.status), STATUS_KIND_LOCAL);
    /* Without a shape one record may decide how large that is: no limit in bytes is met there. */
    list(&none, (const char *const[]){"65536", "65536", "65536", NULL});
    assert_int_equal(party_bottom_check(&config, &plan, 16, NULL, &err), STATUS_OK);
}

static void test_dp_takes_every_layer_but_those_that_mix_rows(void **state)
{
    static const struct plan_widths image = {3, {1, 4, 4}}, series = {2, {4, 4}};
    static const struct {
        const struct plan_widths *shape;
        const char *item[6];
        bool takes;
    } lists[] = {
        {&image, {"16", NULL}, true},
        {&image, {"relu", "16", NULL}, true},
        {&image, {"maxpool 2", "flatten", NULL}, true},
        {&image, {"avgpool 2", "flatten", "8", NULL}, true},
        {&image, {"flatten", "residual", "16", "add", NULL}, true},
        {&image, {"conv2d out=2 kernel=1", "flatten", NULL}, true},
        {&image, {"groupnorm 1", "flatten", NULL}, true},
        {&series, {"conv1d out=2 kernel=1", "flatten", NULL}, true},
        {&series, {"lstm 3", NULL}, true},
        {&series, {"gru 3", NULL}, true},
        {&image, {"batchnorm", "flatten", NULL}, false},
    };
    bool seen[NN_KINDS] = {
        [NN_POLYNOMIAL] = true, [NN_EMBEDDING] = true, [NN_OUTSIDE] = true}; /* of no list */

    (void)state;
    config.noise = 1;
    plan.protocol.encoding = ENCODING_FIXED;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct error err = {0};
        struct nn_spec spec;

        list(lists[i].shape, lists[i].item);
        config.train = TRAIN_RAW;
        assert_int_equal(party_bottom_check(&config, &plan, 16, NULL, &err), STATUS_OK);
        spec = party_bottom_spec(&config, &plan, 16, NULL);
        for (size_t k = 0; k < spec.layers; k++)
            seen[spec.layer[k].kind] = true;
        config.train = TRAIN_DP;
        assert_int_equal(party_bottom_check(&config, &plan, 16, NULL, &err),
                         lists[i].takes ? STATUS_OK : STATUS_CONFIG);
        if (!lists[i].takes)
            assert_string_equal(err.text, "model.train: not with the layers of this bottom");
    }
    for (size_t k = 0; k < NN_KINDS; k++)
        assert_true(seen[k]);
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

/* A layer that mixes rows: only where no claim is made for one of them, or by what it has. */
static void test_batches_are_not_mixed_where_records_are_hidden(void **state)
{
    static const struct {
        enum config_train train;
        enum plan_encoding encoding;
        enum status status;
    } of[] = {
        {TRAIN_RAW, ENCODING_FIXED, STATUS_OK},    {TRAIN_RAW, ENCODING_FLOAT32, STATUS_OK},
        {TRAIN_RAW, ENCODING_PBM, STATUS_CONFIG},  {TRAIN_RAW, ENCODING_GAUSSIAN, STATUS_CONFIG},
        {TRAIN_DP, ENCODING_FIXED, STATUS_CONFIG}, {TRAIN_DP, ENCODING_PBM, STATUS_CONFIG},
        {TRAIN_FROZEN, ENCODING_PBM, STATUS_OK},   {TRAIN_FROZEN, ENCODING_FIXED, STATUS_OK},
    };
    float h[(BATCH + ROWS) * WIDTH], x[ROWS * COLS];

    (void)state;
    config.degree = 0;
    config.noise = config.clip = 1;
    config.shape = (struct plan_widths){3, {1, 1, COLS}};
    config.layers = (struct config_layers){2, {{LAYERS_BATCHNORM, {0}}, {LAYERS_FLATTEN, {0}}}};
    memcpy(x, values, sizeof x);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct error err = {0};

        config.train = of[i].train;
        plan.protocol.encoding = of[i].encoding;
        assert_int_equal(party_bottom_check(&config, &plan, COLS, NULL, &err), of[i].status);
        if (of[i].status != STATUS_OK)
            continue;
        start();
        embed(x, h);
        /* Row 0 is the first of the batch and of all. */
        assert_int_equal(memcmp(h, h + BATCH * WIDTH, WIDTH * sizeof *h) == 0,
                         config.train == TRAIN_FROZEN);
        party_bottom_deinit(&bottom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_row_that_is_not_there_is_zeros),
        TEST(test_a_row_that_is_left_out_moves_no_other_of_its_batch),
        TEST(test_without_an_output_activation_the_last_layer_is_the_embedding),
        TEST(test_a_polynomial_sees_no_input_beyond_x_max),
        TEST(test_x_max_is_the_plans),
        TEST(test_layers_see_inputs_as_they_are),
        TEST(test_embeddings_beyond_the_clip_are_counted_where_they_are_cut_off),
        TEST(test_fedvs_takes_polynomials_only),
        TEST(test_a_shape_or_a_size_that_is_none_is_said_here_alone),
        TEST(test_dp_takes_every_layer_but_those_that_mix_rows),
        TEST(test_batches_are_not_mixed_where_records_are_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
