/* onnx.h -- a net as an ONNX file, which other programs run: the own part of a model, exported.
 *
 * A bottom takes prepared columns (rows x inputs) and gives the embedding; a head takes the
 * embeddings of all parties, one input for each, and gives scores.  What an encoding makes of
 * embeddings on their way (noise, rounding) is in no file, nor is what makes columns of a table.
 *
 * Operators are those of opset ONNX_OPSET: Add, AveragePool, Cast, Clip, Concat, Conv, GRU, Gather,
 * Gemm, InstanceNormalization, LSTM, MatMul, MaxPool, Mul, Relu, Reshape, Sigmoid, Softmax, Sub,
 * Sum, Tanh, Transpose.  Nothing is read here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ONNX_ONNX_H
#define COLONNADE_ONNX_ONNX_H

#include "common/base/buf.h"
#include "common/nn/loss.h"
#include "common/nn/net.h"

#include <stdbool.h>

enum {
    ONNX_IR = 7, /* of the same release as the opset: older runtimes take both */
    ONNX_OPSET = 13,
    ONNX_PARTIES_MAX = 256,
    ONNX_NOTES_MAX = 16,
};
/* The most that readers of protobuf take. */
#define ONNX_FILE_MAX ((size_t)INT32_MAX)

/* An entry of the file's metadata_props: UTF-8. */
struct onnx_note {
    const char *key, *value;
};

struct onnx_model {
    const struct nn_net *net;
    const char *name, *about; /* of the graph; a sentence for people */
    struct onnx_note note[ONNX_NOTES_MAX];
    size_t notes;
    float gain;  /* > 1: of a bottom, outputs are so many times as large before the limit */
    float limit; /* > 0: of a bottom, outputs are cut off at [-limit, limit] */
    /* Of a head, else parties is 0: embeddings of `width` values become the net's input as their
     * sum, or its M-th part (mean), or side by side (concat), or the
     * largest of each (max); its outputs become scores: of
     * classes, as probabilities of each (of two where the loss is sigmoid), or a value. */
    uint32_t parties, width;
    bool mean, concat, max;
    enum nn_loss loss;
    float temperature;    /* of classes: logits are divided by it; 1: as they are */
    float center, spread; /* of a value z: spread z + center; 0, 1: as it is */
};

/* Replaces what is in out.  STATUS_LIMIT with the reason: larger than an ONNX file can be. */
enum status onnx_print(const struct onnx_model *m, struct buf *out, struct error *err) MUST_USE;

#endif
