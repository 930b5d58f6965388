/* test_layers_golden.c -- nets of images and series by PyTorch's definitions
 * (tests/golden/gen_layers.py): its weights by their names and in its layout, and what comes out;
 * and trained as PyTorch itself has trained them (gen_torch.py).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"
#include "common/nn/layer.h"
#include "common/nn/safetensors.h"
#include "tests/unit/nn/sample.h"

#include <jansson.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 3, VALUES_MAX = ROWS * 112, WEIGHTS_MAX = 512, STEPS = 10 };
static const float RATE = 0.05F;
#define DEFINED "tests/golden/layers.json"
#define TORCH "tests/golden/torch.json"

#define WINDOW(size, stride, padding)                                                              \
    {                                                                                              \
        {size, size}, {stride, stride},                                                            \
        {                                                                                          \
            padding, padding                                                                       \
        }                                                                                          \
    }
#define LINE(size, stride, padding)                                                                \
    {                                                                                              \
        {1, size}, {1, stride},                                                                    \
        {                                                                                          \
            0, padding                                                                             \
        }                                                                                          \
    }

struct trial {
    json_t *golden, *of;
    struct arena arena;
    struct nn_net net, other;
    float x[VALUES_MAX], y[VALUES_MAX];
};

static struct nn_spec image(void)
{
    struct nn_spec s = {.layers = 8,
                        .width = {112, 112, 224, 48, 24, 24, 54, 54, 3},
                        .act = {0, NN_ACT_RELU, 0, 0, NN_ACT_TANH, 0, 0, NN_ACT_TANH},
                        .out_scale = 1,
                        .rows_max = ROWS};

    s.layer[0] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {2, 8, 7}};
    s.layer[1] = (struct nn_layer_spec){
        .kind = NN_CONV, .shape = {2, 8, 7}, .window = WINDOW(3, 1, 1), .groups = 1};
    s.layer[2] =
        (struct nn_layer_spec){.kind = NN_MAX_POOL, .shape = {4, 8, 7}, .window = WINDOW(2, 2, 0)};
    s.layer[3] = (struct nn_layer_spec){
        .kind = NN_CONV, .shape = {4, 4, 3}, .window = WINDOW(3, 2, 1), .groups = 2};
    s.layer[4] = (struct nn_layer_spec){.kind = NN_GROUP_NORM, .shape = {6, 2, 2}, .groups = 3};
    s.layer[5] =
        (struct nn_layer_spec){.kind = NN_AVG_POOL, .shape = {6, 2, 2}, .window = WINDOW(2, 1, 1)};
    s.layer[6] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {6, 3, 3}, .flattens = true};
    return s;
}

static struct nn_spec series(void)
{
    struct nn_spec s = {.layers = 5,
                        .width = {30, 20, 20, 12, 12, 2},
                        .act = {NN_ACT_SIGMOID, 0, 0, 0, NN_ACT_TANH},
                        .out_scale = 1,
                        .rows_max = ROWS};

    s.layer[0] = (struct nn_layer_spec){
        .kind = NN_CONV, .shape = {3, 1, 10}, .window = LINE(5, 2, 2), .groups = 1};
    s.layer[1] = (struct nn_layer_spec){.kind = NN_GROUP_NORM, .shape = {4, 1, 5}, .groups = 1};
    s.layer[2] =
        (struct nn_layer_spec){.kind = NN_MAX_POOL, .shape = {4, 1, 5}, .window = LINE(3, 2, 1)};
    s.layer[3] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {4, 1, 3}, .flattens = true};
    return s;
}

/* PyTorch's weights as a file of its own would have them. */
static void write_file(struct buf *out, const json_t *tensors, const char *values_at)
{
    struct buf data;
    uint64_t length;
    json_t *t;
    size_t i;

    buf_init(&data, 1 << 20);
    assert_int_equal(buf_append(out, &length, sizeof length), STATUS_OK);
    json_array_foreach(tensors, i, t)
    {
        const size_t begin = data.len;
        char *shape = json_dumps(json_object_get(t, "shape"), JSON_COMPACT);
        float values[WEIGHTS_MAX];
        const size_t n = (size_t)sample_floats(values, WEIGHTS_MAX, json_object_get(t, values_at));

        assert_int_equal(buf_append(&data, values, n * sizeof *values), STATUS_OK);
        assert_int_equal(
            buf_printf(out, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                       i == 0 ? "{" : ",", json_string_value(json_object_get(t, "name")), shape,
                       begin, data.len),
            STATUS_OK);
        free(shape);
    }
    assert_int_equal(buf_append(out, "}", 1), STATUS_OK);
    length = out->len - sizeof length;
    memcpy(out->data, &length, sizeof length);
    assert_int_equal(buf_append(out, data.data, data.len), STATUS_OK);
    buf_deinit(&data);
}

static void take_weights(struct nn_net *net, const json_t *of, const char *values_at)
{
    struct error err = {0};
    struct buf file;

    buf_init(&file, 1 << 20);
    write_file(&file, json_object_get(of, "tensors"), values_at);
    if (safetensors_parse(net, file.data, file.len, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    buf_deinit(&file);
}

static void open_trial(struct trial *t, const char *path, const char *name,
                       const struct nn_spec *spec)
{
    t->golden = json_load_file(path, 0, NULL);
    assert_non_null(t->golden);
    t->of = json_object_get(t->golden, name);
    assert_int_equal(arena_init(&t->arena, 2 * nn_net_bytes(spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&t->net, spec, &t->arena), STATUS_OK);
    assert_int_equal(nn_net_init(&t->other, spec, &t->arena), STATUS_OK);
    take_weights(&t->net, t->of, "values");
    sample_floats(t->x, VALUES_MAX, json_object_get(t->of, "x"));
    sample_floats(t->y, VALUES_MAX, json_object_get(t->of, "y"));
}

static void close_trial(struct trial *t)
{
    arena_deinit(&t->arena);
    json_decref(t->golden);
}

static void assert_near(const float *is, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(sample_close((double)is[i], (double)want[i], 2e-5, 2e-6));
}

static void run(const char *name, const struct nn_spec *spec)
{
    const size_t out = spec->width[spec->layers];
    struct trial t;

    open_trial(&t, DEFINED, name, spec);
    assert_near(nn_net_forward(&t.net, t.x, ROWS), t.y, ROWS * out);
    close_trial(&t);
}

static void assert_weights(struct trial *t, const char *values_at)
{
    float is[WEIGHTS_MAX], want[WEIGHTS_MAX];
    const size_t n = nn_spec_params(&t->net.spec);

    assert_true(n <= WEIGHTS_MAX);
    take_weights(&t->other, t->of, values_at);
    nn_net_copy_params(&t->net, is);
    nn_net_copy_params(&t->other, want);
    assert_near(is, want, n);
}

/* Plain SGD on half the squared distance from the targets. */
static void train(const char *name, const struct nn_spec *spec)
{
    const size_t values = ROWS * spec->width[spec->layers];
    float target[VALUES_MAX], dy[VALUES_MAX], losses[STEPS];
    struct trial t;

    open_trial(&t, TORCH, name, spec);
    sample_floats(target, VALUES_MAX, json_object_get(t.of, "target"));
    assert_int_equal(sample_floats(losses, STEPS, json_object_get(t.of, "losses")), STEPS);
    assert_near(nn_net_forward(&t.net, t.x, ROWS), t.y, values);
    for (size_t step = 0; step < STEPS; step++) {
        const float *y = nn_net_forward_masked(&t.net, t.x, ROWS);
        double loss = 0;

        for (size_t i = 0; i < values; i++) {
            dy[i] = y[i] - target[i];
            loss += 0.5 * (double)dy[i] * (double)dy[i];
        }
        assert_true(sample_close(loss, (double)losses[step], 2e-5, 0));
        nn_net_backward(&t.net, NULL, dy);
        nn_net_step(&t.net, RATE);
        if (step == 0)
            assert_weights(&t, "one");
    }
    assert_weights(&t, "ten");
    sample_floats(t.y, VALUES_MAX, json_object_get(t.of, "shown"));
    assert_near(nn_net_forward(&t.net, t.x, ROWS), t.y, values);
    close_trial(&t);
}

static struct nn_spec memories(enum nn_kind kind)
{
    struct nn_spec s = {.layers = 3, .width = {18, 24, 5, 2}, .out_scale = 1, .rows_max = ROWS};

    s.layer[0] = (struct nn_layer_spec){.kind = kind, .shape = {3, 1, 6}, .units = 4};
    s.layer[1] = (struct nn_layer_spec){.kind = kind, .shape = {4, 1, 6}, .units = 5};
    return s;
}

/* Two blocks: around the first what came in, around the second a way of its own. */
static struct nn_spec blocks(void)
{
    struct nn_spec s = {.layers = 12,
                        .width = {24, 48, 48, 48, 48, 24, 24, 24, 24, 24, 24, 24, 2},
                        .act = {NN_ACT_RELU, 0, 0, NN_ACT_TANH, 0, NN_ACT_RELU},
                        .out_scale = 1,
                        .rows_max = ROWS};
    const struct nn_layer_spec conv = {
        .kind = NN_CONV, .shape = {2, 6, 4}, .window = WINDOW(3, 1, 1), .groups = 1, .bare = 1};

    s.layer[0] = s.layer[1] = s.layer[4] = s.layer[6] = s.layer[7] = conv;
    s.layer[0].shape.channels = 1;
    s.layer[0].bare = 0;
    s.layer[2] = (struct nn_layer_spec){.kind = NN_GROUP_NORM, .shape = {2, 6, 4}, .groups = 1};
    s.layer[3] = (struct nn_layer_spec){.kind = NN_ADD, .beside = 2};
    s.layer[4].window.stride[0] = s.layer[4].window.stride[1] = 2;
    s.layer[5] = (struct nn_layer_spec){.kind = NN_GROUP_NORM, .shape = {4, 3, 2}, .groups = 2};
    s.layer[6].shape = (struct nn_shape){4, 3, 2};
    s.layer[6].bare = 0;
    s.layer[7].window = (struct nn_window)WINDOW(1, 2, 0);
    s.layer[7].back = 3;
    s.layer[8] = (struct nn_layer_spec){.kind = NN_GROUP_NORM, .shape = {4, 3, 2}, .groups = 4};
    s.layer[9] = (struct nn_layer_spec){.kind = NN_ADD, .beside = 2};
    s.layer[10] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {4, 3, 2}, .flattens = true};
    s.act[11] = NN_ACT_TANH;
    return s;
}

static struct nn_spec batches(void)
{
    struct nn_spec s = {.layers = 7,
                        .width = {24, 24, 48, 48, 12, 12, 12, 2},
                        .act = {0, 0, NN_ACT_RELU, 0, NN_ACT_TANH, 0, NN_ACT_TANH},
                        .out_scale = 1,
                        .rows_max = ROWS};

    s.layer[0] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {2, 4, 3}};
    s.layer[1] = (struct nn_layer_spec){
        .kind = NN_CONV, .shape = {2, 4, 3}, .window = WINDOW(3, 1, 1), .groups = 1, .bare = 1};
    s.layer[2] = (struct nn_layer_spec){.kind = NN_BATCH_NORM, .shape = {4, 4, 3}};
    s.layer[3] = (struct nn_layer_spec){
        .kind = NN_CONV, .shape = {4, 4, 3}, .window = WINDOW(3, 2, 1), .groups = 1};
    s.layer[4] = (struct nn_layer_spec){.kind = NN_BATCH_NORM, .shape = {3, 2, 2}};
    s.layer[5] = (struct nn_layer_spec){.kind = NN_TURN, .shape = {3, 2, 2}, .flattens = true};
    return s;
}

/* In evaluation, too: before the steps and after them. */
static void test_a_net_of_batches_is_that_of_pytorch(void **state)
{
    const struct nn_spec spec = batches();

    (void)state;
    train("batch", &spec);
}

static void test_a_net_of_images_is_that_of_pytorch(void **state)
{
    const struct nn_spec spec = image();

    (void)state;
    run("image", &spec);
    train("image", &spec);
}

static void test_a_net_of_series_is_that_of_pytorch(void **state)
{
    const struct nn_spec spec = series();

    (void)state;
    run("series", &spec);
    train("series", &spec);
}

static void test_a_net_of_blocks_is_that_of_pytorch(void **state)
{
    const struct nn_spec spec = blocks();

    (void)state;
    train("blocks", &spec);
}

static void test_a_net_of_memories_is_that_of_pytorch(void **state)
{
    const struct nn_spec spec = memories(NN_LSTM), gated = memories(NN_GRU);

    (void)state;
    run("memory", &spec);
    train("memory", &spec);
    train("gated", &gated);
}

/* A file that PyTorch could not have written for it. */
static void test_weights_in_another_order_are_refused(void **state)
{
    const struct nn_spec spec = series();
    struct error err = {0};
    struct buf file;
    struct trial t;
    json_t *first;

    (void)state;
    open_trial(&t, DEFINED, "series", &spec);
    first = json_array_get(json_object_get(t.of, "tensors"), 0);
    json_object_set_new(first, "shape", json_pack("[iii]", 4, 5, 3));
    buf_init(&file, 1 << 20);
    write_file(&file, json_object_get(t.of, "tensors"), "values");
    assert_int_equal(safetensors_parse(&t.net, file.data, file.len, &err), STATUS_DATA);
    buf_deinit(&file);
    close_trial(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_net_of_images_is_that_of_pytorch),
        cmocka_unit_test(test_a_net_of_series_is_that_of_pytorch),
        cmocka_unit_test(test_a_net_of_batches_is_that_of_pytorch),
        cmocka_unit_test(test_a_net_of_blocks_is_that_of_pytorch),
        cmocka_unit_test(test_a_net_of_memories_is_that_of_pytorch),
        cmocka_unit_test(test_weights_in_another_order_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
