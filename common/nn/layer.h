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

/* In floats. */
struct layer_sizes {
    uint32_t in, out; /* its weights are in x out, and each row, or each place of it, is multiplied
                         by them */
    size_t places;    /* of a row; 0: the row itself is the only one */
    size_t biases;    /* behind the weights */
    size_t running;   /* behind these, parameters that no optimiser steps: settle does */
    size_t fan_out;   /* of glorot; 0: out */
    size_t keeps;     /* of each row, from forward to backward, finite where its rows are sound */
    size_t scratch;   /* l->scratch: that one call needs; the layers of a net share it */
    double work;      /* operations of a row beside that product, there and back */
};

/* Operations of an activation of one value, there and back: tanh is a quotient of polynomials. */
enum { LAYER_ACTIVATION_WORK = 24 };

enum { LAYER_NAME_BYTES = NN_MODULE_BYTES + 16, LAYER_RANK_MAX = 4 };
/* Weights by the name that a file gives them. */
struct layer_tensor {
    float *values;
    size_t count, rank;
    uint64_t shape[LAYER_RANK_MAX];
    char name[LAYER_NAME_BYTES];
    /* What PyTorch calls it; "": nothing.  Its dimension d is ours number torch_axis[d]. */
    char torch[LAYER_NAME_BYTES];
    uint8_t torch_axis[LAYER_RANK_MAX];
    bool square; /* a square: none of its values is below 0 */
};

struct layer_kind {
    const char *name;
    /* May layer i of that net be one of these?  Asked of numbers that a file may have made up. */
    bool (*fits)(const struct nn_spec *s, size_t i);
    struct layer_sizes (*sizes)(const struct nn_spec *s, size_t i);
    /* First weights; NULL: as nn_net_randomize says. */
    void (*draw)(struct nn_layer *l, enum nn_init init, struct rng *r);
    /* How many modules of PyTorch's Sequential it is; NULL: one, and one for an activation. */
    size_t (*modules)(const struct nn_layer *l);
    /* l->y of x (rows x width in), without a mask; leaves l->x. */
    void (*forward)(struct nn_layer *l, const float *x, uint32_t rows);
    /* Of the last forward.  l->dy holds the gradient for l->y and becomes the one for what the
     * activation was taken of; where dx (rows x width in) is not NULL, it gets the gradient for
     * what came in. */
    void (*delta)(struct nn_layer *l, float *dx, uint32_t rows);
    bool no_dx;     /* dx has to be NULL */
    bool activates; /* applies spec.act; of the others it is NN_ACT_NONE */
    bool joins;     /* takes l->beside, too, which gets back what l->dy has become */
    /* delta leaves in l->made what gradients takes, and a row that is not finite has to be cleared
     * there, too. */
    bool back_in_made;
    /* In a pass of training a row's values hang on the others of its batch, too. */
    bool mixes;
    bool drops; /* units behind it are left out by spec.dropout */
    /* l->dw and l->db of l->dy, or of what it has become.  NULL: there are no weights, and no
     * norm2, tensors and tensor. */
    void (*gradients)(struct nn_layer *l, uint32_t rows);
    /* What a step moves besides, after the last backward; NULL: nothing. */
    void (*settle)(struct nn_layer *l, uint32_t rows, float learning_rate);
    /* Parameters that live elsewhere: into l->w before they are read, and out of it after they
     * were written; NULL: l->w is all there is. */
    void (*fetch)(const struct nn_layer *l);
    void (*give)(const struct nn_layer *l);
    /* The squared l2 norm of row r's own gradient for w and b, which are one product of l->x and
     * l->dy unless there is an `add`; NULL: dp makes each row's gradient (layer_row_gradients). */
    double (*norm2)(const struct nn_layer *l, size_t r);
    /* sum += the sum over rows of factor[r] times row r's own gradient; NULL: of such products
     * (dpsum.c). */
    void (*add)(double *sum, const struct nn_layer *l, const double *factor, uint32_t rows);
    /* How many its weights are; NULL: one, and biases where it has some. */
    size_t (*tensors)(const struct nn_layer *l);
    struct layer_tensor (*tensor)(const struct nn_layer *l, size_t i, size_t index);
};

const struct layer_kind *layer_kind(enum nn_kind kind);
const struct layer_kind *layer_kind_of(const struct nn_spec *s, size_t i);

/* Which value layer i takes: 0 is the net's input, k what layer k - 1 gives.  Only where back <= i.
 */
static inline size_t layer_takes(const struct nn_spec *s, size_t i)
{
    return i - s->layer[i].back;
}
/* How many values of a row come to it; 0: from nowhere. */
static inline uint32_t layer_in(const struct nn_spec *s, size_t i)
{
    return s->layer[i].back <= i ? s->width[layer_takes(s, i)] : 0;
}

/* norm2 of a layer whose gradient of a row is one outer product: |d|^2 (|x|^2 + 1), without the 1
 * where there is no bias (Goodfellow 2015). */
double layer_product_norm2(const struct nn_layer *l, size_t r);
/* The squared l2 norm of n values. */
double layer_square(const float *x, size_t n);
/* out (params) = row r's own gradients, as they are of a batch of that row alone. */
void layer_row_gradients(const struct nn_layer *l, float *out, size_t r);
/* sum (cols) = the sum of rows x cols */
void layer_add_rows(float *sum, const float *x, size_t rows, size_t cols);

/* The same with the names layer.I.NAME and, of PyTorch, MODULE.NAME. */
struct layer_tensor layer_named(struct layer_tensor t, const struct nn_layer *l, size_t i,
                                const char *name);
/* How many tensors, and modules of PyTorch's Sequential, a layer has. */
size_t layer_modules(const struct nn_layer *l);
size_t layer_tensors(const struct nn_layer *l);
/* The first kind of layer in a net that mixes rows; NULL: there is none. */
const struct layer_kind *layer_that_mixes(const struct nn_spec *s);

#endif
