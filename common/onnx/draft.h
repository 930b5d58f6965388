/* draft.h -- a graph in the making: onnx.c's.
 *
 * Its arena was made large enough for whatever a net can be (onnx.c): no call here fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ONNX_DRAFT_H
#define COLONNADE_ONNX_DRAFT_H

#include "common/base/arena.h"
#include "common/nn/net.h"
#include "common/onnx/onnx.h"

#include "proto/onnx.pb-c.h"

enum {
    DRAFT_FLOAT32 = 1, /* TensorProto.data_type */
    DRAFT_INT64 = 7,
    DRAFT_NODES_MAX = 12 * NN_LAYERS_MAX + 2 * NN_DEGREE_MAX + 3 * NN_EMBEDDED_MAX + 8,
    DRAFT_TENSORS_MAX = 10 * NN_LAYERS_MAX + NN_DEGREE_MAX + 2 * NN_EMBEDDED_MAX + 8,
    DRAFT_INPUTS_MAX = ONNX_PARTIES_MAX,
    DRAFT_ATTRIBUTES_MAX = 4, /* of a node */
};

/* `at` names the value that the next node goes on from. */
struct draft {
    struct arena arena;
    Onnx__NodeProto *node[DRAFT_NODES_MAX];
    Onnx__TensorProto *tensor[DRAFT_TENSORS_MAX];
    Onnx__ValueInfoProto *input[DRAFT_INPUTS_MAX], *output[1];
    size_t nodes, tensors, inputs;
    const char *at;
};

void *draft_take(struct draft *d, size_t n, size_t size);
const char *draft_name(struct draft *d, const char *form, ...) PRINTF_LIKE(2, 3);
/* protobuf-c has no const texts, and writes to none that it packs. */
char *draft_text(const char *s);

/* Each gives the name back.  Values stay where they are. */
/* A matrix; rows 0: one row of columns; columns 0, too: one number. */
const char *draft_tensor(struct draft *d, const char *name, const float *values, size_t rows,
                         size_t columns);
const char *draft_shaped(struct draft *d, const char *name, const float *values,
                         const int64_t *shape, size_t rank);
/* Whole numbers, which are copied: n of them in a row; 0: a single one. */
const char *draft_places(struct draft *d, const char *name, const int64_t *place, size_t n);
const char *draft_number(struct draft *d, const char *name, float value);

/* out = op(the inputs), `n` of them, and out is where the next one goes on from. */
Onnx__NodeProto *draft_node(struct draft *d, const char *op, const char *out, size_t n,
                            const char *const *input);
void draft_one(struct draft *d, const char *op, const char *out, const char *x);
void draft_two(struct draft *d, const char *op, const char *out, const char *x, const char *y);
/* Columns side by side. */
void draft_concat(struct draft *d, const char *out, size_t n, const char *const *input);
/* Of x, along that axis, what stands at these places. */
void draft_gather(struct draft *d, const char *out, const char *x, const char *places,
                  int64_t axis);
/* out = at, cut off at [-limit, limit] */
void draft_clip(struct draft *d, const char *out, float limit);

/* Attributes; an integer that is not 0, which a reader of protobuf 2 would miss. */
void draft_int(struct draft *d, Onnx__NodeProto *node, const char *name, int64_t value);
void draft_float(struct draft *d, Onnx__NodeProto *node, const char *name, float value);
void draft_ints(struct draft *d, Onnx__NodeProto *node, const char *name, const int64_t *value,
                size_t n);

#endif
