/* onnx.c -- the graph drawn up node by node, then packed by protobuf-c.
 *
 * All of it but the weights, most of which stay where they are, is cut from one arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/onnx/onnx.h"

#include "common/base/check.h"
#include "common/onnx/layers.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw data are little-endian");

enum {
    /* Bytes of the arena: more than a node, a tensor or a value takes, with its names. */
    ENTRY = 2048,
};

static Onnx__TensorShapeProto__Dimension *new_dimension(struct draft *d)
{
    Onnx__TensorShapeProto__Dimension *one = draft_take(d, 1, sizeof *one);

    onnx__tensor_shape_proto__dimension__init(one);
    return one;
}

/* What goes in or comes out: any number of rows, so many columns. */
static Onnx__ValueInfoProto *value_of(struct draft *d, const char *name, uint32_t columns)
{
    Onnx__ValueInfoProto *value = draft_take(d, 1, sizeof *value);
    Onnx__TypeProto *type = draft_take(d, 1, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = draft_take(d, 1, sizeof *tensor);
    Onnx__TensorShapeProto *shape = draft_take(d, 1, sizeof *shape);

    onnx__value_info_proto__init(value);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    value->name = draft_text(name);
    value->type = type;
    type->tensor_type = tensor;
    tensor->elem_type = DRAFT_FLOAT32;
    tensor->shape = shape;
    shape->n_dim = 2;
    shape->dim = draft_take(d, 2, sizeof(Onnx__TensorShapeProto__Dimension *));
    shape->dim[0] = new_dimension(d);
    shape->dim[0]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    shape->dim[0]->dim_param = draft_text("rows");
    shape->dim[1] = new_dimension(d);
    shape->dim[1]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    shape->dim[1]->dim_value = columns;
    return value;
}

static void add_input(struct draft *d, const char *name, uint32_t columns)
{
    CHECK(d->inputs < DRAFT_INPUTS_MAX);
    d->input[d->inputs++] = value_of(d, name, columns);
    d->at = name;
}

/* --- a head --- */

static void add_embeddings(struct draft *d, const struct onnx_model *m)
{
    const char *name[ONNX_PARTIES_MAX];

    for (uint32_t i = 0; i < m->parties; i++) {
        name[i] = draft_name(d, "embedding_%u", i + 1);
        add_input(d, name[i], m->width);
    }
    if (m->concat) {
        draft_concat(d, "fused", m->parties, name);
        return;
    }
    if (m->max) {
        draft_node(d, "Max", "fused", m->parties, name);
        return;
    }
    draft_node(d, "Sum", m->mean ? "sum" : "fused", m->parties, name);
    if (m->mean)
        draft_two(d, "Mul", "fused", d->at, draft_number(d, "part", 1.0F / (float)m->parties));
}

/* Logits to scores as predictions have them. */
static void add_scores(struct draft *d, const struct onnx_model *m)
{
    const char *yes, *no;

    if (m->loss != NN_LOSS_SQUARED && (m->temperature < 1.0F || m->temperature > 1.0F))
        draft_two(d, "Mul", "tempered", d->at, draft_number(d, "cooling", 1.0F / m->temperature));
    switch (m->loss) {
    case NN_LOSS_SQUARED:
        if (m->center == 0.0F && m->spread == 1.0F)
            return;
        draft_two(d, "Mul", "scaled", d->at, draft_number(d, "spread", m->spread));
        draft_two(d, "Add", "value", d->at, draft_number(d, "center", m->center));
        return;
    case NN_LOSS_SOFTMAX: draft_one(d, "Softmax", "probabilities", d->at); return;
    case NN_LOSS_SIGMOIDS: draft_one(d, "Sigmoid", "probabilities", d->at); return;
    case NN_LOSS_SIGMOID:
        draft_one(d, "Sigmoid", "yes", d->at);
        yes = d->at;
        draft_two(d, "Sub", "no", draft_number(d, "one", 1.0F), yes);
        no = d->at;
        draft_concat(d, "probabilities", 2, (const char *const[]){no, yes});
        return;
    }
    CHECK(0 && "loss");
}

/* --- the file --- */

/* The value that the last node has made is what comes out, under this name. */
static void add_output(struct draft *d, const char *name, uint32_t columns)
{
    CHECK(d->nodes > 0);
    d->node[d->nodes - 1]->output[0] = draft_text(name);
    d->output[0] = value_of(d, name, columns);
}

static void draw_up(struct draft *d, const struct onnx_model *m)
{
    const struct nn_spec *spec = &m->net->spec;

    if (m->parties == 0) {
        add_input(d, "columns", spec->width[0]);
        layers_draw(d, m->net);
        if (m->gain > 1.0F)
            draft_two(d, "Mul", "steeper", d->at, draft_number(d, "gain", m->gain));
        if (m->limit > 0.0F)
            draft_clip(d, "limited", m->limit);
        add_output(d, "embedding", spec->width[spec->layers]);
        return;
    }
    add_embeddings(d, m);
    layers_draw(d, m->net);
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
    graph.name = draft_text(m->name);
    graph.n_initializer = d->tensors, graph.initializer = d->tensor;
    graph.n_input = d->inputs, graph.input = d->input;
    graph.n_output = 1, graph.output = d->output;
    opset.version = ONNX_OPSET;
    for (size_t i = 0; i < m->notes; i++) {
        onnx__string_string_entry_proto__init(&note[i]);
        note[i].key = draft_text(m->note[i].key);
        note[i].value = draft_text(m->note[i].value);
        notes[i] = &note[i];
    }
    model.ir_version = ONNX_IR;
    model.producer_name = draft_text("colonnade");
    model.producer_version = draft_text(VFL_VERSION);
    model.model_version = 1;
    model.doc_string = draft_text(m->about);
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

enum status onnx_print(const struct onnx_model *m, struct buf *out, struct error *err)
{
    struct draft d = {0};
    enum status s;

    CHECK(m->parties <= ONNX_PARTIES_MAX && m->notes <= ONNX_NOTES_MAX);
    CHECK(m->parties > 0 || m->net->spec.layers > 0);
    s = arena_init(&d.arena, (size_t)ENTRY * (DRAFT_NODES_MAX + DRAFT_TENSORS_MAX +
                                              2 * (DRAFT_INPUTS_MAX + 2)) +
                                 layers_bytes(&m->net->spec));
    if (s == STATUS_OK) {
        draw_up(&d, m);
        s = pack(&d, m, out, err);
    } else {
        error_set(err, s, "%s", status_words(s));
    }
    arena_deinit(&d.arena);
    return s;
}
