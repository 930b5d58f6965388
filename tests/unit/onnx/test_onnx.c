/* test_onnx.c -- the graph says what the net computes: run here by a few lines of C, it gives the
 * net's own values.  tests/e2e/test_export.sh has the files read by others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/onnx/onnx.h"

#include "common/base/mem.h"

#include "proto/onnx.pb-c.h"

#include <math.h>
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROWS = 3, VALUES_MAX = 64, WIDTH_MAX = 16 };

/* A value of the graph: rows x columns; a number is 1 x 1, a bias 1 x columns. */
struct value {
    const char *name;
    size_t rows, columns;
    double x[WIDTH_MAX * WIDTH_MAX];
};

struct graph {
    Onnx__ModelProto *model;
    struct value value[VALUES_MAX];
    size_t n;
};

static struct value *add(struct graph *g, const char *name, size_t rows, size_t columns)
{
    struct value *v = &g->value[g->n++];

    assert_true(g->n <= VALUES_MAX && rows * columns <= sizeof v->x / sizeof v->x[0]);
    v->name = name;
    v->rows = rows;
    v->columns = columns;
    return v;
}

static const struct value *find(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->value[i].name, name) == 0)
            return &g->value[i];
    fail_msg("nobody has made %s", name);
    return NULL;
}

/* With a smaller one repeated. */
static double at(const struct value *v, size_t r, size_t c)
{
    return v->x[(v->rows == 1 ? 0 : r) * v->columns + (v->columns == 1 ? 0 : c)];
}

static double dot(const struct value *x, const struct value *w, size_t r, size_t c)
{
    double sum = 0;

    for (size_t i = 0; i < x->columns; i++)
        sum += at(x, r, i) * w->x[i * w->columns + c];
    return sum;
}

static double element(const char *op, const struct value *const *in, size_t n, size_t r, size_t c)
{
    const double x = at(in[0], r, c), y = n > 1 && op[0] != 'G' ? at(in[1], r, c) : 0;
    double sum = 0;

    if (strcmp(op, "Add") == 0 || strcmp(op, "Sum") == 0) {
        for (size_t i = 0; i < n; i++)
            sum += at(in[i], r, c);
        return sum;
    }
    if (strcmp(op, "Clip") == 0)
        return fmin(fmax(x, y), in[2]->x[0]);
    if (strcmp(op, "Mul") == 0)
        return x * y;
    if (strcmp(op, "Sub") == 0)
        return x - y;
    if (strcmp(op, "Relu") == 0)
        return fmax(x, 0);
    if (strcmp(op, "Tanh") == 0)
        return tanh(x);
    if (strcmp(op, "Sigmoid") == 0)
        return 1 / (1 + exp(-x));
    assert_string_equal(op, "Softmax");
    for (size_t i = 0; i < in[0]->columns; i++)
        sum += exp(at(in[0], r, i) - x);
    return 1 / sum;
}

static void concat(struct value *out, const struct value *const *in, size_t n)
{
    size_t begin = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < ROWS; r++)
            memcpy(out->x + r * out->columns + begin, in[i]->x + r * in[i]->columns,
                   in[i]->columns * sizeof *out->x);
        begin += in[i]->columns;
    }
}

/* Of x, columns or rows by number; a number is one place, a row of them several. */
static void gather(struct value *out, const struct value *x, const struct value *places,
                   int64_t axis)
{
    for (size_t r = 0; r < out->rows; r++)
        for (size_t c = 0; c < out->columns; c++)
            out->x[r * out->columns + c] = axis == 1 ? at(x, r, (size_t)places->x[c])
                                                     : x->x[(size_t)places->x[r] * x->columns + c];
}

/* Operators that may have an attribute. */
static void run_other(struct graph *g, const Onnx__NodeProto *node, const struct value *const *in)
{
    static const Onnx__AttributeProto by_default = {.name = (char *)(uintptr_t) "axis", .i = 0};
    const Onnx__AttributeProto *a = node->n_attribute > 0 ? node->attribute[0] : &by_default;
    size_t columns = 0;

    assert_true(node->n_attribute == 0 || (node->n_attribute == 1 && a->type == 2 && a->i != 0));
    if (strcmp(node->op_type, "Cast") == 0) {
        assert_true(strcmp(a->name, "to") == 0 && a->i == 7);
        memcpy(add(g, node->output[0], in[0]->rows, in[0]->columns)->x, in[0]->x, sizeof in[0]->x);
        return;
    }
    assert_string_equal(a->name, "axis");
    if (strcmp(node->op_type, "Gather") == 0) {
        columns = a->i == 1 ? in[1]->columns : in[0]->columns;
        gather(add(g, node->output[0], ROWS, columns), in[0], in[1], a->i);
        return;
    }
    assert_string_equal(node->op_type, "Concat");
    assert_int_equal(a->i, 1);
    for (size_t i = 0; i < node->n_input; i++)
        columns += in[i]->columns;
    concat(add(g, node->output[0], ROWS, columns), in, node->n_input);
}

static void run_node(struct graph *g, const Onnx__NodeProto *node)
{
    const bool product = strcmp(node->op_type, "Gemm") == 0 || strcmp(node->op_type, "MatMul") == 0;
    const struct value *in[8];
    struct value *out;

    assert_true(node->n_input <= 8 && node->n_output == 1);
    for (size_t i = 0; i < node->n_input; i++)
        in[i] = find(g, node->input[i]);
    if (node->n_attribute > 0 || strcmp(node->op_type, "Gather") == 0) {
        run_other(g, node, in);
        return;
    }
    out = add(g, node->output[0], ROWS, product ? in[1]->columns : in[0]->columns);
    if (node->n_input > 1 && !product && in[1]->columns > out->columns)
        out->columns = in[1]->columns;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < out->columns; c++)
            out->x[r * out->columns + c] =
                product ? dot(in[0], in[1], r, c) + (node->n_input > 2 ? at(in[2], 0, c) : 0)
                        : element(node->op_type, in, node->n_input, r, c);
}

static void open_graph(struct graph *g, const struct buf *file)
{
    memset(g, 0, sizeof *g);
    g->model = onnx__model_proto__unpack(NULL, file->len, file->data);
    assert_non_null(g->model);
    assert_int_equal(g->model->ir_version, ONNX_IR);
    assert_int_equal(g->model->n_opset_import, 1);
    assert_int_equal(g->model->opset_import[0]->version, ONNX_OPSET);
    for (size_t i = 0; i < g->model->graph->n_initializer; i++) {
        const Onnx__TensorProto *t = g->model->graph->initializer[i];
        const size_t columns = t->n_dims > 0 ? (size_t)t->dims[t->n_dims - 1] : 1;
        struct value *v = add(g, t->name, t->n_dims == 2 ? (size_t)t->dims[0] : 1, columns);

        assert_int_equal(t->raw_data.len, v->rows * columns * (t->data_type == 7 ? 8 : 4));
        for (size_t j = 0; j < v->rows * columns; j++) {
            int64_t place;
            float x;

            if (t->data_type == 7) {
                memcpy(&place, t->raw_data.data + j * sizeof place, sizeof place);
                v->x[j] = (double)place;
                continue;
            }
            memcpy(&x, t->raw_data.data + j * sizeof x, sizeof x);
            v->x[j] = (double)x;
        }
    }
}

static void give(struct graph *g, size_t input, const float *x, size_t columns)
{
    const Onnx__ValueInfoProto *info = g->model->graph->input[input];
    struct value *v = add(g, info->name, ROWS, columns);

    assert_string_equal(info->type->tensor_type->shape->dim[0]->dim_param, "rows");
    assert_int_equal(info->type->tensor_type->shape->dim[1]->dim_value, columns);
    for (size_t i = 0; i < ROWS * columns; i++)
        v->x[i] = (double)x[i];
}

static const struct value *run_graph(struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->model->graph->n_node; i++)
        run_node(g, g->model->graph->node[i]);
    assert_int_equal(g->model->graph->n_output, 1);
    assert_string_equal(g->model->graph->output[0]->name, name);
    return find(g, name);
}

static void close_graph(struct graph *g)
{
    onnx__model_proto__free_unpacked(g->model, NULL);
}

/* --- nets --- */

struct fixture {
    struct arena arena;
    struct nn_net net;
    struct buf file;
    struct graph graph;
    float x[ROWS * WIDTH_MAX];
};

static void fixture_init(struct fixture *f, const struct nn_spec *spec)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(arena_init(&f->arena, nn_net_bytes(spec)), STATUS_OK);
    assert_int_equal(nn_net_init(&f->net, spec, &f->arena), STATUS_OK);
    for (size_t i = 0; i < spec->layers; i++)
        for (size_t j = 0; j < nn_layer_params(&f->net.layer[i]); j++)
            f->net.layer[i].w[j] = (float)sin((double)(7 * j + 3 * i + 1));
    for (size_t i = 0; i < sizeof f->x / sizeof f->x[0]; i++)
        f->x[i] = 2 * (float)cos((double)i);
    buf_init(&f->file, 1 << 20);
}

static void fixture_deinit(struct fixture *f)
{
    arena_deinit(&f->arena);
    buf_deinit(&f->file);
}

static void print(struct fixture *f, const struct onnx_model *m)
{
    struct error err = {0};

    assert_int_equal(onnx_print(m, &f->file, &err), STATUS_OK);
    open_graph(&f->graph, &f->file);
}

static void same(const struct value *got, const float *want, size_t columns)
{
    assert_int_equal(got->columns, columns);
    for (size_t i = 0; i < ROWS * columns; i++)
        assert_true(fabs(got->x[i] - (double)want[i]) < 1e-5);
}

static void test_a_bottom_of_layers_with_each_activation(void **state)
{
    const struct nn_spec spec = {
        4,
        {3, 5, 4, 6, 2},
        {NN_ACT_RELU, NN_ACT_SIGMOID, NN_ACT_NONE, NN_ACT_TANH},
        1.5F,
        ROWS,
        NN_SGD,
        .layer = {{0}},
    };
    struct onnx_model m = {.name = "bottom", .about = "a test"};
    struct fixture f;

    (void)state;
    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    assert_int_equal(f.graph.model->graph->n_input, 1);
    give(&f.graph, 0, f.x, 3);
    same(run_graph(&f.graph, "embedding"), nn_net_forward(&f.net, f.x, ROWS), 2);
    close_graph(&f.graph);
    fixture_deinit(&f);
}

static void test_a_polynomial_is_cut_off_before_and_behind(void **state)
{
    const struct nn_spec spec = {
        1, {3, 2}, {NN_ACT_NONE}, 1.0F, ROWS, NN_SGD, .layer = {{NN_POLYNOMIAL, 3, 1.25F}}};
    struct onnx_model m = {.name = "bottom", .about = "a test", .limit = 1.0F};
    float want[ROWS * 2];
    struct fixture f;
    size_t cut = 0;

    (void)state;
    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    give(&f.graph, 0, f.x, 3);
    memcpy(want, nn_net_forward(&f.net, f.x, ROWS), sizeof want);
    for (size_t i = 0; i < ROWS * 2; i++) {
        cut += fabsf(want[i]) > 1.0F;
        want[i] = fmaxf(-1.0F, fminf(1.0F, want[i]));
    }
    assert_true(cut > 0 && cut < ROWS * 2);
    same(run_graph(&f.graph, "embedding"), want, 2);
    close_graph(&f.graph);
    fixture_deinit(&f);
}

static void test_a_gain_comes_before_the_cut(void **state)
{
    const struct nn_spec spec = {1, {3, 2}, {NN_ACT_TANH}, 1.5F, ROWS, NN_SGD, .layer = {{0}}};
    struct onnx_model m = {.name = "bottom", .about = "a test", .gain = 2.0F, .limit = 1.5F};
    float want[ROWS * 2];
    struct fixture f;
    size_t cut = 0;

    (void)state;
    fixture_init(&f, &spec);
    for (size_t i = 0; i < sizeof f.x / sizeof f.x[0]; i++)
        f.x[i] *= 0.2F;
    m.net = &f.net;
    print(&f, &m);
    give(&f.graph, 0, f.x, 3);
    memcpy(want, nn_net_forward(&f.net, f.x, ROWS), sizeof want);
    for (size_t i = 0; i < ROWS * 2; i++) {
        want[i] *= 2.0F;
        cut += fabsf(want[i]) > 1.5F;
        want[i] = fmaxf(-1.5F, fminf(1.5F, want[i]));
    }
    assert_true(cut > 0 && cut < ROWS * 2);
    same(run_graph(&f.graph, "embedding"), want, 2);
    close_graph(&f.graph);
    fixture_deinit(&f);
}

/* passes: other columns beside those that are looked up. */
static void looked_up(bool passes)
{
    const struct nn_spec spec = {
        2,
        {passes ? 4 : 2, passes ? 7 : 5, 2},
        {NN_ACT_NONE, NN_ACT_TANH},
        1.5F,
        ROWS,
        NN_SGD,
        .layer = {{.kind = NN_EMBEDDING}},
        .embedded = {2, {{passes ? 1 : 0, 3, 2}, {passes ? 3 : 1, 2, 3}}},
    };
    static const float mixed[ROWS * 4] = {0.5F, 3, -1, 0, 2, 0, 0.25F, 2, -2, 1, 1, 1};
    static const float levels[ROWS * 2] = {3, 0, 0, 2, 1, 1};
    struct onnx_model m = {.name = "bottom", .about = "a test"};
    struct fixture f;

    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    give(&f.graph, 0, passes ? mixed : levels, spec.width[0]);
    same(run_graph(&f.graph, "embedding"), nn_net_forward(&f.net, passes ? mixed : levels, ROWS),
         2);
    close_graph(&f.graph);
    fixture_deinit(&f);
}

static void test_levels_are_looked_up_and_none_is_zeros(void **state)
{
    (void)state;
    looked_up(true);
    looked_up(false);
}

/* Two parties' embeddings of two values each through a head; its net takes `inputs`. */
static void head_scores(bool mean, bool concat_them, enum nn_loss loss, uint32_t outputs)
{
    const uint32_t inputs = concat_them ? 4 : 2;
    const struct nn_spec spec = {1,      {inputs, outputs}, {NN_ACT_NONE}, 1.0F, ROWS,
                                 NN_SGD, .layer = {{0}}};
    struct onnx_model m = {.name = "head",
                           .about = "a test",
                           .parties = 2,
                           .width = 2,
                           .mean = mean,
                           .concat = concat_them,
                           .loss = loss,
                           .center = loss == NN_LOSS_SQUARED ? 3 : 0,
                           .temperature = loss == NN_LOSS_SQUARED ? 1 : 1.75F,
                           .spread = loss == NN_LOSS_SQUARED ? 2.5F : 1};
    float fused[ROWS * 4], want[ROWS * 3];
    const float *logits;
    struct fixture f;
    const struct value *got;

    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    give(&f.graph, 0, f.x, 2);
    give(&f.graph, 1, f.x + 2 * ROWS, 2);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < inputs; c++) {
            const float *a = f.x + 2 * r, *b = f.x + 2 * (ROWS + r);

            fused[r * inputs + c] =
                concat_them ? (c < 2 ? a[c] : b[c - 2]) : (a[c] + b[c]) * (mean ? 0.5F : 1.0F);
        }
    logits = nn_net_forward(&f.net, fused, ROWS);
    for (size_t i = 0; i < ROWS * outputs; i++)
        want[i] = logits[i] / m.temperature;
    nn_predict(loss, want, want, ROWS, outputs);
    for (size_t i = 0; loss == NN_LOSS_SQUARED && i < ROWS; i++)
        want[i] = want[i] * m.spread + m.center;
    got = run_graph(&f.graph, "scores");
    if (loss == NN_LOSS_SIGMOID) {
        assert_int_equal(got->columns, 2);
        for (size_t r = 0; r < ROWS; r++) {
            assert_true(fabs(got->x[2 * r + 1] - (double)want[r]) < 1e-5);
            assert_true(fabs(got->x[2 * r] + (double)want[r] - 1) < 1e-5);
        }
    } else {
        same(got, want, outputs);
    }
    close_graph(&f.graph);
    fixture_deinit(&f);
}

static void test_heads_of_each_fusion_and_loss(void **state)
{
    (void)state;
    head_scores(false, false, NN_LOSS_SOFTMAX, 3);
    head_scores(true, false, NN_LOSS_SIGMOID, 1);
    head_scores(false, true, NN_LOSS_SQUARED, 1);
    head_scores(true, false, NN_LOSS_SOFTMAX, 2);
}

/* The fused embeddings are the scores. */
static void test_a_head_without_layers(void **state)
{
    const struct nn_spec spec = {.layers = 0, .width = {2}, .out_scale = 1, .rows_max = ROWS};
    struct onnx_model m = {.name = "head",
                           .about = "a test",
                           .parties = 1,
                           .width = 2,
                           .loss = NN_LOSS_SQUARED,
                           .center = 0,
                           .temperature = 1,
                           .spread = 1};
    struct fixture f;

    (void)state;
    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    give(&f.graph, 0, f.x, 2);
    same(run_graph(&f.graph, "scores"), f.x, 2);
    close_graph(&f.graph);
    fixture_deinit(&f);
}

static void test_notes_are_metadata(void **state)
{
    const struct nn_spec spec = {1, {3, 2}, {NN_ACT_TANH}, 1.0F, ROWS, NN_SGD, .layer = {{0}}};
    struct onnx_model m = {.name = "bottom",
                           .about = "a test",
                           .notes = 2,
                           .note = {{"run", "abc"}, {"columns", "a\nb\nc"}}};
    struct fixture f;

    (void)state;
    fixture_init(&f, &spec);
    m.net = &f.net;
    print(&f, &m);
    assert_int_equal(f.graph.model->n_metadata_props, 2);
    assert_string_equal(f.graph.model->metadata_props[1]->key, "columns");
    assert_string_equal(f.graph.model->metadata_props[1]->value, "a\nb\nc");
    assert_string_equal(f.graph.model->doc_string, "a test");
    close_graph(&f.graph);
    fixture_deinit(&f);
}

/* What no reader would take is not written: sizes are looked at before a weight is. */
static void test_a_model_that_is_too_large_is_refused(void **state)
{
    struct nn_net net = {
        .spec = {1, {1 << 15, 1 << 15}, {NN_ACT_TANH}, 1.0F, 1, NN_SGD, .layer = {{0}}}};
    struct onnx_model m = {.net = &net, .name = "bottom", .about = "a test"};
    struct error err = {0};
    float weight = 0;
    struct buf out;

    (void)state;
    net.layer[0] = (struct nn_layer){.in = 1 << 15,
                                     .out = 1 << 15,
                                     .act = NN_ACT_TANH,
                                     .scale = 1.0F,
                                     .w = &weight,
                                     .b = &weight};
    buf_init(&out, ONNX_FILE_MAX);
    assert_int_equal(onnx_print(&m, &out, &err), STATUS_LIMIT);
    assert_non_null(strstr(err.text, "an ONNX file has"));
    assert_int_equal(out.len, 0);
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_are_looked_up_and_none_is_zeros),
        cmocka_unit_test(test_a_bottom_of_layers_with_each_activation),
        cmocka_unit_test(test_a_polynomial_is_cut_off_before_and_behind),
        cmocka_unit_test(test_a_gain_comes_before_the_cut),
        cmocka_unit_test(test_heads_of_each_fusion_and_loss),
        cmocka_unit_test(test_a_head_without_layers),
        cmocka_unit_test(test_notes_are_metadata),
        cmocka_unit_test(test_a_model_that_is_too_large_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
