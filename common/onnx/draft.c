/* draft.c -- nodes, tensors and attributes, cut from one arena.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/onnx/draft.h"

#include "common/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ATTRIBUTE_FLOAT = 1, /* AttributeProto.type */
    ATTRIBUTE_INT = 2,
    ATTRIBUTE_INTS = 7,
    NAME_MAX_BYTES = 32,
};

/* The arena was made large enough for whatever a net can be. */
void *draft_take(struct draft *d, size_t n, size_t size)
{
    void *p = arena_alloc(&d->arena, n, size);

    CHECK(p != NULL);
    return p;
}

const char *draft_name(struct draft *d, const char *form, ...)
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
char *draft_text(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* A matrix; rows 0: one row of columns; columns 0, too: one number. */
const char *draft_tensor(struct draft *d, const char *name, const float *values, size_t rows,
                         size_t columns)
{
    Onnx__TensorProto *t = draft_take(d, 1, sizeof *t);
    const size_t rank = rows > 0 ? 2 : columns > 0 ? 1 : 0;

    onnx__tensor_proto__init(t);
    t->data_type = DRAFT_FLOAT32;
    t->name = draft_text(name);
    t->n_dims = rank;
    t->dims = draft_take(d, 2, sizeof *t->dims);
    t->dims[0] = (int64_t)(rank == 2 ? rows : columns);
    t->dims[1] = (int64_t)columns;
    t->raw_data.len = (rows > 0 ? rows : 1) * (columns > 0 ? columns : 1) * sizeof(float);
    t->raw_data.data = (uint8_t *)(uintptr_t)values;
    CHECK(d->tensors < DRAFT_TENSORS_MAX);
    d->tensor[d->tensors++] = t;
    return name;
}

/* Whole numbers: n of them in a row; 0: a single one. */
const char *draft_places(struct draft *d, const char *name, const int64_t *place, size_t n)
{
    const size_t count = n > 0 ? n : 1;
    int64_t *own = draft_take(d, count, sizeof *own);
    Onnx__TensorProto *t;

    memcpy(own, place, count * sizeof *own);
    draft_tensor(d, name, NULL, 0, n);
    t = d->tensor[d->tensors - 1];
    t->data_type = DRAFT_INT64;
    t->raw_data.len = count * sizeof *own;
    t->raw_data.data = (uint8_t *)own;
    return name;
}

const char *draft_shaped(struct draft *d, const char *name, const float *values,
                         const int64_t *shape, size_t rank)
{
    int64_t *own = draft_take(d, rank, sizeof *own);
    Onnx__TensorProto *t;
    size_t count = 1;

    for (size_t i = 0; i < rank; i++)
        count *= (size_t)(own[i] = shape[i]);
    draft_tensor(d, name, values, 0, count);
    t = d->tensor[d->tensors - 1];
    t->n_dims = rank;
    t->dims = own;
    return name;
}

const char *draft_number(struct draft *d, const char *name, float value)
{
    float *own = draft_take(d, 1, sizeof *own);

    *own = value;
    return draft_tensor(d, name, own, 0, 0);
}

/* out = op(the inputs), `n` of them, and out is where the next one goes on from. */
Onnx__NodeProto *draft_node(struct draft *d, const char *op, const char *out, size_t n,
                            const char *const *input)
{
    Onnx__NodeProto *node = draft_take(d, 1, sizeof *node);

    onnx__node_proto__init(node);
    node->op_type = draft_text(op);
    node->name = draft_text(out);
    node->n_input = n;
    node->input = draft_take(d, n, sizeof *node->input);
    for (size_t i = 0; i < n; i++)
        node->input[i] = draft_text(input[i]);
    node->n_output = 1;
    node->output = draft_take(d, 1, sizeof *node->output);
    node->output[0] = draft_text(out);
    CHECK(d->nodes < DRAFT_NODES_MAX);
    d->node[d->nodes++] = node;
    d->at = out;
    return node;
}

void draft_one(struct draft *d, const char *op, const char *out, const char *x)
{
    draft_node(d, op, out, 1, &x);
}

void draft_two(struct draft *d, const char *op, const char *out, const char *x, const char *y)
{
    draft_node(d, op, out, 2, (const char *const[]){x, y});
}

static Onnx__AttributeProto *new_attribute(struct draft *d, Onnx__NodeProto *node, const char *name,
                                           int type)
{
    Onnx__AttributeProto *one = draft_take(d, 1, sizeof *one);

    onnx__attribute_proto__init(one);
    one->name = draft_text(name);
    one->type = type;
    if (node->attribute == NULL)
        node->attribute = draft_take(d, DRAFT_ATTRIBUTES_MAX, sizeof *node->attribute);
    CHECK(node->n_attribute < DRAFT_ATTRIBUTES_MAX);
    node->attribute[node->n_attribute++] = one;
    return one;
}

void draft_int(struct draft *d, Onnx__NodeProto *node, const char *name, int64_t value)
{
    new_attribute(d, node, name, ATTRIBUTE_INT)->i = value;
}

void draft_float(struct draft *d, Onnx__NodeProto *node, const char *name, float value)
{
    new_attribute(d, node, name, ATTRIBUTE_FLOAT)->f = value;
}

void draft_ints(struct draft *d, Onnx__NodeProto *node, const char *name, const int64_t *value,
                size_t n)
{
    Onnx__AttributeProto *one = new_attribute(d, node, name, ATTRIBUTE_INTS);

    one->n_ints = n;
    one->ints = draft_take(d, n, sizeof *one->ints);
    memcpy(one->ints, value, n * sizeof *one->ints);
}

/* Columns side by side. */
void draft_concat(struct draft *d, const char *out, size_t n, const char *const *input)
{
    draft_int(d, draft_node(d, "Concat", out, n, input), "axis", 1);
}

/* Of x, along that axis, what stands at these places.  Axis 0 is what it is without a word: a
 * reader of protobuf 2 would miss the value of an attribute that is 0. */
void draft_gather(struct draft *d, const char *out, const char *x, const char *places, int64_t axis)
{
    Onnx__NodeProto *node = draft_node(d, "Gather", out, 2, (const char *const[]){x, places});

    if (axis != 0)
        draft_int(d, node, "axis", axis);
}

/* out = at, cut off at [-limit, limit] */
void draft_clip(struct draft *d, const char *out, float limit)
{
    const char *least = draft_number(d, draft_name(d, "%s.least", out), -limit);
    const char *most = draft_number(d, draft_name(d, "%s.most", out), limit);

    draft_node(d, "Clip", out, 3, (const char *const[]){d->at, least, most});
}
