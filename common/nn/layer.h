/* layer.h -- the kinds of layers: one row of a table for each, whose operations a net calls.
 *
 * A layer takes rows x width[i] values to rows x width[i + 1], y = scale act(x W + b), where x is
 * what came in or what the layer makes of it.  A new kind is a file that fills struct layer_kind,
 * and a line in layer.c; nothing else asks what kind a layer is, but who names or prints them.
 *
 * Operations get memory that net.c has cut out, and allocate nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_LAYER_H
#define COLONNADE_NN_LAYER_H

#include "common/nn/net.h"

/* In floats; the product of a row is in x out. */
struct layer_sizes {
    uint32_t in, out;
    size_t biases;  /* behind the in x out weights */
    bool makes;     /* x of its own, rows_max x in, finite where its rows are sound */
    size_t scratch; /* that one call to it needs; the layers of a net share it */
};

enum { LAYER_NAME_BYTES = 40, LAYER_RANK_MAX = 4 };
/* Weights by the name that a file gives them. */
struct layer_tensor {
    float *values;
    size_t count, rank;
    uint64_t shape[LAYER_RANK_MAX];
    char name[LAYER_NAME_BYTES];
    /* What PyTorch calls it, with the last two of its sizes turned around; "": nothing. */
    char torch[LAYER_NAME_BYTES];
};

struct layer_kind {
    const char *name;
    /* May layer i of that net be one of these? */
    bool (*fits)(const struct nn_spec *s, size_t i);
    struct layer_sizes (*sizes)(const struct nn_spec *s, size_t i);
    /* First weights; NULL: as nn_net_randomize says. */
    void (*draw)(struct nn_layer *l, enum nn_init init, struct rng *r);
    /* l->y of x (rows x width[i]), without a mask; leaves l->x. */
    void (*forward)(struct nn_layer *l, const float *x, uint32_t rows);
    /* masked: the last forward had a mask on it.  l->dy holds the gradient for l->y and becomes the
     * one for x W + b; where dx (rows x width[i]) is not NULL, it gets the gradient for what came
     * in.  `scratch` is as large as sizes says. */
    void (*delta)(struct nn_layer *l, bool masked, float *dx, float *scratch, uint32_t rows);
    bool no_dx; /* dx has to be NULL */
    bool drops; /* units behind it are left out by spec.dropout */
    /* l->dw and l->db of l->dy, or of what it has become. */
    void (*gradients)(struct nn_layer *l, uint32_t rows);
    /* The squared l2 norm of row r's own gradient for w and b, which are one product of l->x and
     * l->dy unless there is an `add`. */
    double (*norm2)(const struct nn_layer *l, size_t r);
    /* sum += the sum over rows of factor[r] times row r's own gradient; NULL: of such products
     * (dpsum.c). */
    void (*add)(double *sum, const struct nn_layer *l, const double *factor, uint32_t rows);
    size_t (*tensors)(const struct nn_layer *l);
    struct layer_tensor (*tensor)(const struct nn_layer *l, size_t i, size_t index);
};

const struct layer_kind *layer_kind(enum nn_kind kind);
const struct layer_kind *layer_kind_of(const struct nn_spec *s, size_t i);

/* norm2 of a layer whose gradient of a row is one outer product: |d|^2 (|x|^2 + 1), without the 1
 * where there is no bias (Goodfellow 2015). */
double layer_product_norm2(const struct nn_layer *l, size_t r);

#endif
