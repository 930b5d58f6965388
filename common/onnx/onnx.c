/* onnx.c -- the graph drawn up node by node, then packed by protobuf-c.
 *
 * All of it but the weights, which stay where they are, is cut from one arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/onnx/onnx.h"

#include "common/base/arena.h"
#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/nn/embedding.h"
#include "common/nn/layer.h"

#include "proto/onnx.pb-c.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw data are little-endian");

enum {
    FLOAT32 = 1, /* TensorProto.data_type and elem_type */
    INT64 = 7,
    ATTRIBUTE_INT = 2, /* AttributeProto.type */
    NODES_MAX = 4 * NN_LAYERS_MAX + 2 * NN_DEGREE_MAX + 3 * NN_EMBEDDED_MAX + 8,
    TENSORS_MAX = 2 * NN_LAYERS_MAX + NN_DEGREE_MAX + 2 * NN_EMBEDDED_MAX + 8,
    INPUTS_MAX = ONNX_PARTIES_MAX,
    NAME_MAX_BYTES = 32,
    /* Bytes of the arena: more than a node, a tensor or a value takes, with its names. */
    ENTRY = 1024,
};

/* A graph in the making.  `at` names the value that the next node goes on from. */
struct draft {
    struct arena arena;
    Onnx__NodeProto *node[NODES_MAX];
    Onnx__TensorProto *tensor[TENSORS_MAX];
    Onnx__ValueInfoProto *input[INPUTS_MAX], *output[1];
    size_t nodes, tensors, inputs;
    const char *at;
};

/* The arena was made large enough for whatever a net can be. */
static void *take(struct draft *d, size_t n, size_t size)
{
    void *p = arena_alloc(&d->arena, n, size);

    CHECK(p != NULL);
    return p;
}

__attribute__((format(printf, 2, 3))) static const char *name_of(struct draft *d, const char *form,
                                                                 ...)
{
    char name[NAME_MAX_BYTES];
    const char *kept;
    va_list arguments;
    int n;

    va_start(arguments, form);
    n = vsnprintf(name, sizeof name, form, arguments);
    va_end(arguments);
    CHECK(n > 0 && (size_t)n < sizeof name);
    kept = arena_text(&d->arena, name, (size_t)n);
    CHECK(kept != NULL);
    return kept;
}

/* protobuf-c has no const texts, and writes to none that it packs. */
static char *text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* --- pieces --- */

/* A matrix; rows 0: one row of columns; columns 0, too: one number. */
static const char *add_tensor(struct draft *d, const char *name, const float *values, size_t rows,
                              size_t columns)
{
    Onnx__TensorProto *t = take(d, 1, sizeof *t);
    const size_t rank = rows > 0 ? 2 : columns > 0 ? 1 : 0;

    onnx__tensor_proto__init(t);
    t->data_type = FLOAT32;
    t->name = text(name);
    t->n_dims = rank;
    t->dims = take(d, 2, sizeof *t->dims);
    t->dims[0] = (int64_t)(rank == 2 ? rows : columns);
    t->dims[1] = (int64_t)columns;
    t->raw_data.len = (rows > 0 ? rows : 1) * (columns > 0 ? columns : 1) * sizeof(float);
    t->raw_data.data = (uint8_t *)(uintptr_t)values;
    CHECK(d->tensors < TENSORS_MAX);
    d->tensor[d->tensors++] = t;
    return name;
}

/* Whole numbers: n of them in a row; 0: a single one. */
static const char *add_places(struct draft *d, const char *name, const int64_t *place, size_t n)
{
    const size_t count = n > 0 ? n : 1;
    int64_t *own = take(d, count, sizeof *own);
    Onnx__TensorProto *t;

    memcpy(own, place, count * sizeof *own);
    add_tensor(d, name, NULL, 0, n);
    t = d->tensor[d->tensors - 1];
    t->data_type = INT64;
    t->raw_data.len = count * sizeof *own;
    t->raw_data.data = (uint8_t *)own;
    return name;
}

static const char *add_number(struct draft *d, const char *name, float value)
{
    float *own = take(d, 1, sizeof *own);

    *own = value;
    return add_tensor(d, name, own, 0, 0);
}

/* out = op(the inputs), `n` of them, and out is where the next one goes on from. */
static Onnx__NodeProto *add_node(struct draft *d, const char *op, const char *out, size_t n,
                                 const char *const *input)
{
    Onnx__NodeProto *node = take(d, 1, sizeof *node);

    onnx__node_proto__init(node);
    node->op_type = text(op);
    node->name = text(out);
    node->n_input = n;
    node->input = take(d, n, sizeof *node->input);
    for (size_t i = 0; i < n; i++)
        node->input[i] = text(input[i]);
    node->n_output = 1;
    node->output = take(d, 1, sizeof *node->output);
    node->output[0] = text(out);
    CHECK(d->nodes < NODES_MAX);
    d->node[d->nodes++] = node;
    d->at = out;
    return node;
}

static void add_one(struct draft *d, const char *op, const char *out, const char *x)
{
    add_node(d, op, out, 1, &x);
}

static void add_two(struct draft *d, const char *op, const char *out, const char *x, const char *y)
{
    add_node(d, op, out, 2, (const char *const[]){x, y});
}

static void add_attribute(struct draft *d, Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *one = take(d, 1, sizeof *one);

    onnx__attribute_proto__init(one);
    one->name = text(name);
    one->type = ATTRIBUTE_INT;
    one->i = value;
    node->n_attribute = 1;
    node->attribute = take(d, 1, sizeof *node->attribute);
    node->attribute[0] = one;
}

/* Columns side by side. */
static void add_concat(struct draft *d, const char *out, size_t n, const char *const *input)
{
    add_attribute(d, add_node(d, "Concat", out, n, input), "axis", 1);
}

/* Of x, along that axis, what stands at these places.  Axis 0 is what it is without a word: a
 * reader of protobuf 2 would miss the value of an attribute that is 0. */
static void add_gather(struct draft *d, const char *out, const char *x, const char *places,
                       int64_t axis)
{
    Onnx__NodeProto *node = add_node(d, "Gather", out, 2, (const char *const[]){x, places});

    if (axis != 0)
        add_attribute(d, node, "axis", axis);
}

static Onnx__TensorShapeProto__Dimension *new_dimension(struct draft *d)
{
    Onnx__TensorShapeProto__Dimension *one = take(d, 1, sizeof *one);

    onnx__tensor_shape_proto__dimension__init(one);
    return one;
}

/* What goes in or comes out: any number of rows, so many columns. */
static Onnx__ValueInfoProto *value_of(struct draft *d, const char *name, uint32_t columns)
{
    Onnx__ValueInfoProto *value = take(d, 1, sizeof *value);
    Onnx__TypeProto *type = take(d, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = take(d, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = take(d, 1, sizeof *shape);

    onnx__value_info_proto__init(value);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    value->name = text(name);
    value->type = type;
    type->tensor_type = tensor;
    tensor->elem_type = FLOAT32;
    tensor->shape = shape;
    shape->n_dim = 2;
    shape->dim = take(d, 2, sizeof(Onnx__TensorShapeProto__Dimension *));
    shape->dim[0] = new_dimension(d);
    shape->dim[0]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[0]->dim_param = text("rows");
    shape->dim[1] = new_dimension(d);
    shape->dim[1]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    shape->dim[1]->dim_value = columns;
    return value;
}

static void add_input(struct draft *d, const char *name, uint32_t columns)
{
    CHECK(d->inputs < INPUTS_MAX);
    d->input[d->inputs++] = value_of(d, name, columns);
    d->at = name;
}

/* out = at, cut off at [-limit, limit] */
static void add_clip(struct draft *d, const char *out, float limit)
{
    const char *least = add_number(d, name_of(d, "%s.least", out), -limit);
    const char *most = add_number(d, name_of(d, "%s.most", out), limit);

    add_node(d, "Clip", out, 3, (const char *const[]){d->at, least, most});
}

/* --- the net --- */

static void add_activation(struct draft *d, enum nn_act act, size_t layer)
{
    static const char *const operators[] = {[NN_ACT_NONE] = NULL,
                                            [NN_ACT_RELU] = "Relu",
                                            [NN_ACT_TANH] = "Tanh",
                                            [NN_ACT_SIGMOID] = "Sigmoid"};

    if (operators[act] != NULL)
        add_one(d, operators[act], name_of(d, "layer.%zu.activation", layer), d->at);
}

static void add_dense(struct draft *d, const struct nn_layer *l, size_t i)
{
    const char *w = add_tensor(d, name_of(d, "layer.%zu.weight", i), l->w, l->in, l->out);
    const char *b = add_tensor(d, name_of(d, "layer.%zu.bias", i), l->b, 0, l->out);

    add_node(d, "Gemm", name_of(d, "layer.%zu.sum", i), 3, (const char *const[]){d->at, w, b});
    add_activation(d, l->act, i);
    if (l->scale != 1.0F)
        add_two(d, "Mul", name_of(d, "layer.%zu.scaled", i), d->at,
                add_number(d, name_of(d, "layer.%zu.scale", i), l->scale));
}

/* sum_i x^i W^i of x cut off, x^i = x^(i-1) x (common/nn/polynomial.h). */
static void add_polynomial(struct draft *d, const struct nn_layer *l, size_t layer)
{
    const size_t in = l->in / l->spec.degree, out = l->out;
    const char *x, *power, *sum = NULL;

    (void)layer;
    if (l->spec.x_max > 0.0F)
        add_clip(d, "x", l->spec.x_max);
    x = power = d->at;
    for (size_t i = 0; i < l->spec.degree; i++) {
        const char *w = add_tensor(d, name_of(d, "w%zu", i + 1), l->w + i * in * out, in, out);

        if (i > 0) {
            add_two(d, "Mul", name_of(d, "x%zu", i + 1), power, x);
            power = d->at;
        }
        add_two(d, "MatMul", name_of(d, "term.%zu", i + 1), power, w);
        if (sum != NULL)
            add_two(d, "Add", name_of(d, "sum.%zu", i + 1), sum, d->at);
        sum = d->at;
    }
}

/* The columns that pass, by one Gather; "" when there are none. */
static const char *add_passed(struct draft *d, const struct nn_embedded *e, size_t columns,
                              const char *x)
{
    int64_t *place = take(d, columns, sizeof *place);
    size_t n = 0, k = 0;

    for (size_t c = 0; c < columns; c++) {
        if (k < e->n && e->of[k].column == c)
            k++;
        else
            place[n++] = (int64_t)c;
    }
    if (n == 0)
        return "";
    add_gather(d, "passed", x, add_places(d, "passed.columns", place, n), 1);
    return d->at;
}

/* A table behind a row of zeros, which is that of no level. */
static const char *add_table(struct draft *d, size_t k, const float *values, size_t levels,
                             size_t width)
{
    float *own = take(d, (levels + 1) * width, sizeof *own);

    memcpy(own + width, values, levels * width * sizeof *own);
    return add_tensor(d, name_of(d, "table.%zu", k), own, levels + 1, width);
}

/* common/nn/embedding.h */
static void add_embedding(struct draft *d, const struct nn_layer *l, size_t layer)
{
    const struct nn_embedded *e = l->embedded;
    const size_t columns = l->width - embedding_width(e, e->n) + e->n;
    const char *x = d->at, *part[NN_EMBEDDED_MAX + 1];
    const float *values = l->w;
    size_t n = 0;

    (void)layer;
    part[0] = add_passed(d, e, columns, x);
    n += part[0][0] != 0;
    for (size_t k = 0; k < e->n; k++) {
        const int64_t column = e->of[k].column;
        const char *table = add_table(d, k, values, e->of[k].levels, e->of[k].width);

        add_gather(d, name_of(d, "number.%zu", k), x,
                   add_places(d, name_of(d, "column.%zu", k), &column, 0), 1);
        add_attribute(
            d, add_node(d, "Cast", name_of(d, "level.%zu", k), 1, (const char *const[]){d->at}),
            "to", INT64);
        add_gather(d, name_of(d, "vector.%zu", k), table, d->at, 0);
        part[n++] = d->at;
        values += (size_t)e->of[k].levels * e->of[k].width;
    }
    add_concat(d, "embedded", n, part);
}

/* Of the others there is no graph. */
static void (*const add_layer[NN_KINDS])(struct draft *, const struct nn_layer *, size_t) = {
    [NN_DENSE] = add_dense,
    [NN_POLYNOMIAL] = add_polynomial,
    [NN_EMBEDDING] = add_embedding,
};

static void add_net(struct draft *d, const struct nn_net *net)
{
    for (size_t i = 0; i < net->spec.layers; i++)
        add_layer[net->layer[i].spec.kind](d, &net->layer[i], i);
}

/* --- a head --- */

static void add_embeddings(struct draft *d, const struct onnx_model *m)
{
    const char *name[ONNX_PARTIES_MAX];

    for (uint32_t i = 0; i < m->parties; i++) {
        name[i] = name_of(d, "embedding_%u", i + 1);
        add_input(d, name[i], m->width);
    }
    if (m->concat) {
        add_concat(d, "fused", m->parties, name);
        return;
    }
    add_node(d, "Sum", m->mean ? "sum" : "fused", m->parties, name);
    if (m->mean)
        add_two(d, "Mul", "fused", d->at, add_number(d, "part", 1.0F / (float)m->parties));
}

/* Logits to scores as predictions have them. */
static void add_scores(struct draft *d, const struct onnx_model *m)
{
    const char *yes, *no;

    if (m->loss != NN_LOSS_SQUARED && (m->temperature < 1.0F || m->temperature > 1.0F))
        add_two(d, "Mul", "tempered", d->at, add_number(d, "cooling", 1.0F / m->temperature));
    switch (m->loss) {
    case NN_LOSS_SQUARED:
        if (m->center == 0.0F && m->spread == 1.0F)
            return;
        add_two(d, "Mul", "scaled", d->at, add_number(d, "spread", m->spread));
        add_two(d, "Add", "value", d->at, add_number(d, "center", m->center));
        return;
    case NN_LOSS_SOFTMAX: add_one(d, "Softmax", "probabilities", d->at); return;
    case NN_LOSS_SIGMOIDS: add_one(d, "Sigmoid", "probabilities", d->at); return;
    case NN_LOSS_SIGMOID:
        add_one(d, "Sigmoid", "yes", d->at);
        yes = d->at;
        add_two(d, "Sub", "no", add_number(d, "one", 1.0F), yes);
        no = d->at;
        add_concat(d, "probabilities", 2, (const char *const[]){no, yes});
        return;
    }
    CHECK(0 && "loss");
}

/* --- the file --- */

/* The value that the last node has made is what comes out, under this name. */
static void add_output(struct draft *d, const char *name, uint32_t columns)
{
    CHECK(d->nodes > 0);
    d->node[d->nodes - 1]->output[0] = text(name);
    d->output[0] = value_of(d, name, columns);
}

static void draw_up(struct draft *d, const struct onnx_model *m)
{
    const struct nn_spec *spec = &m->net->spec;

    if (m->parties == 0) {
        add_input(d, "columns", spec->width[0]);
        add_net(d, m->net);
        if (m->limit > 0.0F)
            add_clip(d, "limited", m->limit);
        add_output(d, "embedding", spec->width[spec->layers]);
        return;
    }
    add_embeddings(d, m);
    add_net(d, m->net);
    add_scores(d, m);
    add_output(d, "scores", m->loss == NN_LOSS_SIGMOID ? 2 : spec->width[spec->layers]);
}

static enum status pack(struct draft *d, const struct onnx_model *m, struct buf *out,
                        struct error *err)
{
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[1] = {&opset};
    Onnx__StringStringEntryProto note[ONNX_NOTES_MAX], *notes[ONNX_NOTES_MAX];
    Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    size_t bytes;
    enum status s;

    graph.n_node = d->nodes, graph.node = d->node;
    graph.name = text(m->name);
    graph.n_initializer = d->tensors, graph.initializer = d->tensor;
    graph.n_input = d->inputs, graph.input = d->input;
    graph.n_output = 1, graph.output = d->output;
    opset.version = ONNX_OPSET;
    for (size_t i = 0; i < m->notes; i++) {
        onnx__string_string_entry_proto__init(&note[i]);
        note[i].key = text(m->note[i].key);
        note[i].value = text(m->note[i].value);
        notes[i] = &note[i];
    }
    model.ir_version = ONNX_IR;
    model.producer_name = text("colonnade");
    model.producer_version = text(VFL_VERSION);
    model.model_version = 1;
    model.doc_string = text(m->about);
    model.graph = &graph;
    model.n_opset_import = 1, model.opset_import = opsets;
    model.n_metadata_props = m->notes, model.metadata_props = notes;
    bytes = onnx__model_proto__get_packed_size(&model);
    if (bytes > ONNX_FILE_MAX)
        return error_set(err, STATUS_LIMIT,
                         "the model is of %zu bytes, and an ONNX file has %zu at most", bytes,
                         ONNX_FILE_MAX);
    out->len = 0;
    s = buf_reserve(out, bytes);
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    out->len = onnx__model_proto__pack(&model, out->data);
    CHECK(out->len == bytes);
    return STATUS_OK;
}

/* Bytes of the arena for tables with a row more, and for places of columns, twice. */
static size_t table_bytes(const struct nn_spec *spec)
{
    const struct nn_embedded *e = &spec->embedded;
    size_t bytes = 2 * ((size_t)spec->width[0] * sizeof(int64_t) + MEM_ALIGNMENT);

    for (size_t k = 0; k < e->n; k++)
        bytes += (e->of[k].levels + (size_t)1) * e->of[k].width * sizeof(float) + MEM_ALIGNMENT;
    return e->n > 0 ? bytes : 0;
}

enum status onnx_print(const struct onnx_model *m, struct buf *out, struct error *err)
{
    struct draft d = {0};
    enum status s;

    CHECK(m->parties <= ONNX_PARTIES_MAX && m->notes <= ONNX_NOTES_MAX);
    CHECK(m->parties > 0 || m->net->spec.layers > 0);
    for (size_t i = 0; i < m->net->spec.layers; i++)
        if (add_layer[m->net->layer[i].spec.kind] == NULL)
            return error_set(err, STATUS_CONFIG,
                             "layer %zu is of the kind %s, which an ONNX file of this program does "
                             "not have: the package itself is what PyTorch can read",
                             i, m->net->layer[i].kind->name);
    s = arena_init(&d.arena, (size_t)ENTRY * (NODES_MAX + TENSORS_MAX + 2 * (INPUTS_MAX + 2)) +
                                 table_bytes(&m->net->spec));
    if (s == STATUS_OK) {
        draw_up(&d, m);
        s = pack(&d, m, out, err);
    } else {
        error_set(err, s, "%s", status_words(s));
    }
    arena_deinit(&d.arena);
    return s;
}
