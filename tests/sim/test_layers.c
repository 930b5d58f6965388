/* test_layers.c -- model.layers to a net: which layers come of it, and which lists are none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/layers.h"

#include "common/config/key_value.h"

#include "common/nn/layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { OUTPUTS = 5 };

static struct config_party config;
static struct nn_spec spec;

/* Items as texts ("conv2d out=4 kernel=3", "relu", "16"), NULL at the end. */
static void list(const struct plan_widths *shape, const char *const *items)
{
    char want[256];

    config_party_defaults(&config);
    config.shape = *shape;
    config.layers.n = 0;
    for (; *items != NULL; items++) {
        const struct key_value_item item = {.text = *items, .map = strchr(*items, ' ') != NULL};

        assert_true(layers_read(&config.layers.item[config.layers.n++], &item, want, sizeof want));
    }
}

static enum status build(const struct plan_widths *shape, const char *const *items,
                         uint32_t features, struct error *err)
{
    list(shape, items);
    spec = (struct nn_spec){.out_scale = 1, .rows_max = 2};
    *err = (struct error){0};
    spec.width[0] = features;
    return party_layers(&spec, &config, OUTPUTS, err);
}

#define BUILD(shape, features, err, ...)                                                           \
    build(&(const struct plan_widths)shape, (const char *const[]){__VA_ARGS__, NULL}, features, err)
#define IMAGE(c, h, w)                                                                             \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            c, h, w                                                                                \
        }                                                                                          \
    }
#define SERIES(t, c)                                                                               \
    {                                                                                              \
        2,                                                                                         \
        {                                                                                          \
            t, c                                                                                   \
        }                                                                                          \
    }
#define FLAT                                                                                       \
    {                                                                                              \
        0                                                                                          \
    }

static void assert_kinds(const char *names)
{
    char is[512] = "";

    assert_true(nn_spec_fits(&spec));
    for (size_t i = 0; i < spec.layers; i++) {
        const size_t n = strlen(is);

        snprintf(is + n, sizeof is - n, "%s%s %u", i > 0 ? ", " : "", layer_kind_of(&spec, i)->name,
                 spec.width[i + 1]);
    }
    assert_string_equal(is, names);
}

static void test_each_layer_takes_the_shape_of_the_one_before(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(3, 8, 6), 144, &err, "conv2d out=4 kernel=3 padding=1", "relu",
                           "maxpool 2", "groupnorm 2", "globalpool", "flatten", "16"),
                     STATUS_OK);
    assert_kinds("turn 144, conv 192, max_pool 48, group_norm 48, avg_pool 4, turn 4, dense 16, "
                 "dense 5");
    assert_true(spec.act[1] == NN_ACT_RELU && spec.act[6] == NN_ACT_RELU);
    assert_int_equal(BUILD(IMAGE(1, 8, 8), 64, &err, "conv2d out=2 kernel=5 stride=2", "maxpool 2",
                           "tanh", "flatten"),
                     STATUS_OK);
    assert_kinds("conv 8, max_pool 2, activation 2, turn 2, dense 5");
    assert_int_equal(
        BUILD(SERIES(10, 3), 30, &err, "conv1d out=4 kernel=3", "avgpool 2", "flatten"), STATUS_OK);
    assert_kinds("conv 32, avg_pool 16, turn 16, dense 5");
    assert_int_equal(BUILD(SERIES(10, 3), 30, &err, "lstm units=4 whole=1", "lstm 6"), STATUS_OK);
    assert_kinds("lstm 40, lstm 6, dense 5");
    assert_int_equal(BUILD(SERIES(10, 3), 30, &err, "gru units=4 whole=1", "gru 6"), STATUS_OK);
    assert_kinds("gru 40, gru 6, dense 5");
}

/* The shape by which layer i transposes. */
static void assert_transposes(size_t i, uint32_t channels, uint32_t height, uint32_t width)
{
    const struct nn_layer_spec *l = &spec.layer[i];

    assert_true(l->kind == NN_TURN && l->flattens);
    assert_true(l->shape.channels == channels && l->shape.height == height &&
                l->shape.width == width);
}

/* PyTorch flattens a series step by step where its layers have it so, and channel by channel where
 * they have channels first.  One place is nothing to transpose. */
static void test_a_series_is_flattened_as_pytorch_does(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(SERIES(6, 3), 18, &err, "flatten", "9"), STATUS_OK);
    assert_transposes(0, 18, 1, 1);
    assert_int_equal(BUILD(SERIES(6, 3), 18, &err, "lstm units=4 whole=1", "tanh", "flatten"),
                     STATUS_OK);
    assert_transposes(2, 24, 1, 1);
    assert_int_equal(BUILD(SERIES(6, 3), 18, &err, "conv1d out=4 kernel=1", "relu", "flatten"),
                     STATUS_OK);
    assert_transposes(1, 4, 1, 6);
    assert_int_equal(
        BUILD(SERIES(6, 3), 18, &err, "conv1d out=4 kernel=1", "gru units=2 whole=1", "flatten"),
        STATUS_OK);
    assert_transposes(2, 12, 1, 1);
    assert_int_equal(BUILD(SERIES(6, 3), 18, &err, "lstm units=4 whole=1", "maxpool 2", "flatten"),
                     STATUS_OK);
    assert_transposes(2, 4, 1, 3);
    /* One of the two ways has channels first. */
    assert_int_equal(BUILD(SERIES(6, 3), 18, &err, "residual", "conv1d out=3 kernel=1", "shortcut",
                           "lstm units=3 whole=1", "add", "flatten"),
                     STATUS_OK);
    assert_transposes(3, 3, 1, 6);
}

/* Of a row as the file has it, and of that alone. */
static void test_units_take_a_row_without_its_shape(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(2, 2, 2), 8, &err, "relu", "16"), STATUS_OK);
    assert_kinds("activation 8, dense 16, dense 5");
    assert_int_equal(BUILD(SERIES(4, 2), 8, &err, "relu", "16"), STATUS_OK);
    assert_kinds("activation 8, dense 16, dense 5");
    assert_int_equal(BUILD(SERIES(4, 2), 8, &err, "lstm units=2 whole=1", "16"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 2, 16: it takes values without an order (flatten)"));
}

static void test_flattening_twice_is_as_once(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(2, 32, 32), 2048, &err, "conv2d out=72 kernel=3",
                           "conv2d out=72 kernel=3 padding=2", "flatten", "flatten", "4"),
                     STATUS_OK);
    assert_transposes(3, 72, 32, 32);
    assert_transposes(4, 72 * 32 * 32, 1, 1);
    assert_true(nn_spec_fits(&spec));
}

/* As -n has it, before there are columns or a plan. */
static void test_a_list_is_checked_by_its_file_alone(void **state)
{
    const struct plan_widths image = IMAGE(1, 4, 4), flat = FLAT;
    struct error err = {0};

    (void)state;
    list(&image, (const char *const[]){"conv2d out=4 kernel=3", "flatten", NULL});
    assert_int_equal(party_layers_check(&config, 0, NULL, &err), STATUS_OK);
    assert_int_equal(party_layers_check(&config, 16, NULL, &err), STATUS_OK);
    assert_int_equal(party_layers_check(&config, 17, NULL, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "data.shape: a row is said to be [C, H, W] = [1, 4, 4]"));
    list(&flat, (const char *const[]){"conv2d out=4 kernel=3", "flatten", NULL});
    assert_int_equal(party_layers_check(&config, 0, NULL, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 1, conv2d: it takes an image or a series (data.shape)"));
    list(&flat, (const char *const[]){"64", "8", NULL});
    assert_int_equal(party_layers_check(&config, 0, NULL, &err), STATUS_OK);
    config.degree = 2;
    config.layers.n = 0;
    assert_int_equal(party_layers_check(&config, 3, NULL, &err), STATUS_OK);
}

static void test_a_block_goes_two_ways_to_its_sum(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(2, 4, 6), 48, &err, "residual", "relu",
                           "conv2d out=2 kernel=3 padding=1 bias=0", "add", "relu", "flatten"),
                     STATUS_OK);
    assert_kinds("turn 48, activation 48, conv 48, add 48, turn 48, dense 5");
    assert_true(spec.layer[3].beside == 2 && spec.act[3] == NN_ACT_RELU && spec.layer[2].bare);
    assert_int_equal(BUILD(IMAGE(2, 4, 6), 48, &err, "residual",
                           "conv2d out=4 kernel=3 stride=2 padding=1", "relu", "groupnorm 2",
                           "shortcut", "conv2d out=4 kernel=1 stride=2", "tanh", "add", "flatten"),
                     STATUS_OK);
    assert_kinds("turn 48, conv 24, group_norm 24, conv 24, add 24, turn 24, dense 5");
    assert_true(spec.layer[3].back == 2 && spec.layer[4].beside == 1);
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "9", "shortcut", "tanh", "9", "add"),
                     STATUS_OK);
    assert_kinds("dense 9, activation 7, dense 9, add 9, dense 5");
    assert_true(spec.layer[1].back == 1 && spec.layer[3].beside == 2);
}

static void test_two_ways_that_do_not_meet_are_refused(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(2, 4, 6), 48, &err, "residual", "conv2d out=4 kernel=1", "add"),
                     STATUS_CONFIG);
    assert_string_equal(err.text,
                        "model.layers: item 3, add: it takes twice the same, of which one "
                        "is [C, H, W] = [2, 4, 6], and [C, H, W] = [4, 4, 6] come to it");
    assert_int_equal(BUILD(IMAGE(2, 4, 6), 48, &err, "residual", "conv2d out=4 kernel=1",
                           "shortcut", "maxpool 2", "add"),
                     STATUS_CONFIG);
    assert_int_equal(BUILD(FLAT, 7, &err, "9", "add"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 2, add: no block has begun (residual)"));
    assert_int_equal(BUILD(FLAT, 7, &err, "shortcut", "7"), STATUS_CONFIG);
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "add"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "this way through the block has no layer"));
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "7", "shortcut", "add"), STATUS_CONFIG);
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "7", "shortcut", "7", "shortcut"),
                     STATUS_CONFIG);
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "7", "residual", "7"), STATUS_CONFIG);
    assert_int_equal(BUILD(FLAT, 7, &err, "residual", "7"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "the last layer: the block before it does not end (add)"));
}

/* 11.2 million weights, as its authors say of it. */
static void test_the_preset_of_blocks_is_resnet18(void **state)
{
    const struct plan_widths shape = IMAGE(3, 32, 32);
    struct error err = {0};

    (void)state;
    config_party_defaults(&config);
    config.shape = shape;
    layers_of_preset(&config.layers, PRESET_RESNET18);
    spec = (struct nn_spec){.out_scale = 1, .rows_max = 2, .width = {3072}};
    assert_int_equal(party_layers(&spec, &config, 10, &err), STATUS_OK);
    assert_true(nn_spec_fits(&spec));
    assert_int_equal(nn_spec_params(&spec), 11173962);
}

static void test_units_alone_are_what_they_were(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(FLAT, 7, &err, "16", "8"), STATUS_OK);
    assert_kinds("dense 16, dense 8, dense 5");
    assert_int_equal(BUILD(IMAGE(2, 2, 2), 8, &err, "16"), STATUS_OK);
    assert_kinds("dense 16, dense 5");
}

static void test_tables_stand_before_the_list_and_beside_no_shape(void **state)
{
    static const char *const items[] = {"tanh", "16", NULL};
    struct error err = {0};

    (void)state;
    /* 4 columns, the second of which is embedded in 3 values. */
    spec = (struct nn_spec){.out_scale = 1, .rows_max = 2, .embedded = {1, {{1, 9, 3}}}};
    list(&(const struct plan_widths)FLAT, items);
    spec.width[0] = 4;
    assert_int_equal(party_layers(&spec, &config, OUTPUTS, &err), STATUS_OK);
    assert_kinds("embedding 6, activation 6, dense 16, dense 5");
    list(&(const struct plan_widths)SERIES(4, 1), items);
    assert_int_equal(party_layers(&spec, &config, OUTPUTS, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "data.shape: a row has columns that are embedded"));
}

static void test_what_does_not_follow_names_the_item_and_both_shapes(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(FLAT, 7, &err, "conv2d out=4 kernel=3"), STATUS_CONFIG);
    assert_string_equal(err.text, "model.layers: item 1, conv2d: it takes an image or a series "
                                  "(data.shape), and 7 values come to it");
    assert_int_equal(BUILD(IMAGE(1, 4, 4), 16, &err, "conv2d out=4 kernel=3", "maxpool 3"),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 2, maxpool: it takes what 3 x 3 fits in"));
    assert_non_null(strstr(err.text, "[C, H, W] = [4, 2, 2] come to it"));
    assert_int_equal(BUILD(IMAGE(1, 4, 4), 16, &err, "conv2d out=4 kernel=3"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "the last layer: it takes values without an order"));
    assert_int_equal(BUILD(IMAGE(3, 4, 4), 48, &err, "conv2d out=4 kernel=3 groups=2", "flatten"),
                     STATUS_CONFIG);
    assert_int_equal(BUILD(IMAGE(3, 4, 4), 48, &err, "groupnorm 2", "flatten"), STATUS_CONFIG);
    assert_int_equal(BUILD(SERIES(9, 2), 18, &err, "conv2d out=4 kernel=3", "flatten"),
                     STATUS_CONFIG);
    assert_int_equal(BUILD(IMAGE(1, 4, 4), 16, &err, "lstm 6"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 1, lstm: it takes a series, and [C, H, W] = [1, 4, 4]"));
    assert_int_equal(BUILD(IMAGE(1, 4, 4), 17, &err, "flatten"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "data.shape: a row is said to be [C, H, W] = [1, 4, 4], and"));
}

/* Sizes whose product is beyond any memory, or any integer. */
static void test_no_list_asks_for_more_than_there_may_be(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(BUILD(IMAGE(1, 65536, 65536), 0, &err, "flatten"), STATUS_CONFIG);
    assert_int_equal(BUILD(IMAGE(1, 200, 200), 40000, &err,
                           "conv2d out=65536 kernel=255 padding=254", "flatten"),
                     STATUS_CONFIG);
    assert_int_equal(BUILD(SERIES(65536, 1), 65536, &err, "lstm 16384"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 1, lstm: it takes fewer steps, or has fewer units"));
    /* Weights of one layer. */
    assert_int_equal(BUILD(SERIES(2, 1), 2, &err, "gru 16384"), STATUS_CONFIG);
    assert_int_equal(BUILD(SERIES(2, 1025), 2050, &err, "conv1d out=65536 kernel=2", "flatten"),
                     STATUS_CONFIG);
    /* Values of a row. */
    assert_int_equal(BUILD(SERIES(65536, 1), 65536, &err, "conv1d out=300 kernel=1", "flatten"),
                     STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 1, conv1d: it would give 19660800 values a row, and "
                                     "16777216 are the most"));
    assert_int_equal(BUILD(SERIES(1000, 2), 2000, &err, "globalpool", "flatten"), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "item 1, globalpool: it takes at most 256 a side, and [T, C] "
                                     "= [1000, 2] come to it"));
    assert_int_equal(BUILD(IMAGE(1, 200, 200), 40000, &err, "conv2d out=65536 kernel=1", "flatten"),
                     STATUS_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_layer_takes_the_shape_of_the_one_before),
        cmocka_unit_test(test_a_series_is_flattened_as_pytorch_does),
        cmocka_unit_test(test_units_take_a_row_without_its_shape),
        cmocka_unit_test(test_flattening_twice_is_as_once),
        cmocka_unit_test(test_a_list_is_checked_by_its_file_alone),
        cmocka_unit_test(test_a_block_goes_two_ways_to_its_sum),
        cmocka_unit_test(test_two_ways_that_do_not_meet_are_refused),
        cmocka_unit_test(test_the_preset_of_blocks_is_resnet18),
        cmocka_unit_test(test_units_alone_are_what_they_were),
        cmocka_unit_test(test_tables_stand_before_the_list_and_beside_no_shape),
        cmocka_unit_test(test_what_does_not_follow_names_the_item_and_both_shapes),
        cmocka_unit_test(test_no_list_asks_for_more_than_there_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
