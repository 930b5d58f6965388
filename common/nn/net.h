/* net.h -- a stack of layers with gradients and optimiser, float32.
 *
 * Which kinds of layers there are, and what each computes, is a table (layer.h); no layers: y = x.
 * All memory is cut from an arena at init; forward, backward and step allocate nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_NET_H
#define COLONNADE_NN_NET_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/crypto/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_LAYERS_MAX = 64,
    NN_DEGREE_MAX = 8,
    NN_WIDTH_MAX = 1 << 24,         /* values of a row behind a layer */
    NN_SHAPED_PARAMS_MAX = 1 << 27, /* of one layer of windows, or with a memory */
};
/* Of columns that are levels, each with a table of vectors (embedding.h). */
enum {
    NN_EMBEDDED_MAX = 64,
    NN_EMBEDDED_LEVELS_MAX = 1 << 17,
    NN_EMBEDDED_WIDTH_MAX = 64,
    NN_EMBEDDED_PARAMS_MAX = 1 << 24 /* of all tables of a net */
};
enum nn_act { NN_ACT_NONE, NN_ACT_RELU, NN_ACT_TANH, NN_ACT_SIGMOID };
enum nn_init { NN_INIT_GLOROT, NN_INIT_HE, NN_INIT_TORCH };
enum nn_optimizer { NN_SGD, NN_MOMENTUM, NN_ADAM, NN_ADAMW };

/* A dense layer is what a zeroed one is. */
enum nn_kind {
    NN_DENSE,
    NN_POLYNOMIAL,
    NN_CONV,
    NN_MAX_POOL,
    NN_AVG_POOL,
    NN_GROUP_NORM,
    NN_ACTIVATION,
    NN_TURN,
    NN_LSTM,
    NN_GRU,
    NN_ADD,
    NN_BATCH_NORM,
    NN_EMBEDDING,
    NN_OUTSIDE,
    NN_KINDS
};

/* A row as an image: channels x height x width values.  Between layers they lie channels last,
 * [height][width][channels]; a series of T steps has height 1 and width T. */
struct nn_shape {
    uint32_t channels, height, width;
};

/* What a convolution or pooling looks at: height, then width. */
struct nn_window {
    uint32_t size[2], stride[2], padding[2];
};

struct nn_layer_spec {
    enum nn_kind kind;
    /* Of a polynomial, the only layer of its net: 1 .. NN_DEGREE_MAX powers, of inputs that are
     * cut off at [-x_max, x_max] (0: not at all). */
    uint32_t degree;
    float x_max;
    struct nn_shape shape;   /* of what comes in, where a kind looks at it as an image */
    struct nn_window window; /* of a convolution or pooling */
    uint32_t groups;         /* of channels, in a convolution or normalisation */
    uint32_t units; /* of a layer with a memory: of its h; y is the last step's h, or, where
                       its width is shape.width x units, every step's.  Of an NN_OUTSIDE: how many
                       floats its state takes (outside.h) */
    bool flattens;  /* of a transposition: channels last to [channels][height][width]; else
                       back */
    /* What comes in is what the layer so many before the one before gives; 0: that one. */
    uint32_t back;
    uint32_t beside; /* of a sum, and of no other: the same of its second summand */
    uint32_t bare;   /* 1: a convolution has no biases */
};

/* Tables of the first layer, where that is an NN_EMBEDDING: the columns rise. */
struct nn_embedded {
    uint32_t n;
    struct {
        uint32_t column, levels, width;
    } of[NN_EMBEDDED_MAX];
};

struct nn_spec {
    size_t layers;                     /* 0 (y = x, nothing to train) .. NN_LAYERS_MAX */
    uint32_t width[NN_LAYERS_MAX + 1]; /* values of a row: inputs, behind each layer */
    enum nn_act act[NN_LAYERS_MAX];    /* act[i] follows layer i */
    float out_scale;                   /* > 0; times the last activation (C for tanh) */
    uint32_t rows_max;
    enum nn_optimizer optimizer;
    /* lambda, of all parameters: under adamw they decay by it, under the others it is an L2 term of
     * the loss, as in PyTorch.  The rate times lambda is at most 1. */
    float weight_decay;
    struct nn_layer_spec layer[NN_LAYERS_MAX]; /* what each layer is */
    /* p in [0, 1): in a pass with masks each value behind a hidden layer is left out with this
     * probability (unit_dropout.h). */
    float dropout;
    /* Parameters beside the layers, zeros at first, that no pass of the net reads: its owner does,
     * and writes their gradients before a step (a head's stand-ins: head.h).  0 rows: none. */
    struct {
        uint32_t rows, width;
    } table;
    struct nn_embedded embedded;
    /* Who computes an NN_OUTSIDE (outside.h), and has to outlive the net; NULL: it has none, or is
     * looked at only. */
    const struct nn_outside *outside;
};

enum { NN_MODULE_BYTES = 32 };

struct nn_layer {
    const struct layer_kind *kind; /* NULL: of a table, which computes nothing */
    struct nn_layer_spec spec;
    size_t came;                 /* values of a row of what comes in */
    uint32_t in, out;            /* of its product: y = x W, x being rows x in */
    size_t params;               /* in x out weights, and what is behind them */
    size_t trained;              /* so many of them, the first, are the optimiser's */
    char torch[NN_MODULE_BYTES]; /* what PyTorch calls it (module.h) */
    size_t width;                /* values of a row of y */
    enum nn_act act;
    float scale;
    const struct nn_embedded *embedded; /* of an NN_EMBEDDING */
    const struct nn_outside *outside;   /* of an NN_OUTSIDE */
    float *w, *b;   /* in x out, row major; biases, or NULL where there are none */
    float *dw, *db; /* gradients of the last backward */
    float *m1, *m2; /* optimiser state of w then b; NULL where the optimiser has none */
    float *y;       /* rows_max x width: activations of the last forward */
    float *dy; /* the same: after backward, the gradient for what the activation was taken of */
    /* What the product of the last forward was taken of: what came in, or what the layer made of
     * that in its own memory (`made`: rows_max x keeps; NULL where it keeps nothing). */
    const float *x;
    const float *beside; /* of a sum: its second summand in the last forward */
    float *made;
    size_t keeps;
    float *scratch; /* for one call, of all layers */
    bool training;  /* the last forward was one of a step of training */
    /* Of a hidden layer under dropout, else NULL: rows_max x out: what y is multiplied by in a pass
     * with masks, and what it was before. */
    float *mask, *whole;
};

struct nn_net {
    struct nn_spec spec;
    struct nn_layer layer[NN_LAYERS_MAX + 1]; /* behind the last one the table: nn_net_table() */
    const float *x; /* input of the last forward; the caller's, must stay until backward */
    uint32_t rows;
    float *aside;   /* rows_max x the widest that two layers take; NULL: there is none such */
    uint64_t steps; /* optimiser steps taken (Adam's t) */
    /* rows_max each: all bits, or 0 for a row of which the last forward, or then the last backward,
     * had a value that is not finite. */
    uint32_t *sound, *sound_back;
};

/* Whether each layer can be what it is said to be behind those before it, and what each gives goes
 * somewhere: of numbers that a file may have made up. */
bool nn_spec_fits(const struct nn_spec *spec);
/* Bytes nn_net_init cuts from an arena for this spec (alignment included). */
size_t nn_net_bytes(const struct nn_spec *spec);
enum status nn_net_init(struct nn_net *n, const struct nn_spec *spec, struct arena *a) MUST_USE;

/* glorot: w ~ U(+-sqrt(6/(in+out))), b = 0 (Glorot & Bengio 2010).  he: w ~ N(0, 2/in), b = 0.
 * torch: w, b ~ U(+-1/sqrt(in)).  Draws in layer order, w row major then b: one rng_uniform or
 * rng_normal each, so that an independent program can reproduce them: (float)((2 u - 1) limit) or
 * (float)(z sqrt(2/in)), computed in double.  Tables: U(+-0.05) whatever init says.  The optimiser
 * starts anew. */
void nn_net_randomize(struct nn_net *n, enum nn_init init, struct rng *r);

/* Returns y (rows x outputs), owned by the net, valid until the next forward; without layers x,
 * which is finite.  A row of which any layer's values are not finite is zeros in all of them. */
const float *nn_net_forward(struct nn_net *n, const float *x, uint32_t rows);
/* Masks of spec.dropout for `rows` rows, layer by layer, which stand until the next ones are drawn;
 * nothing without dropout. */
void nn_net_draw_masks(struct nn_net *n, uint32_t rows, struct rng *r);
/* The forward pass of a step of training: with these masks; without dropout the same as the other.
 * A backward pass goes back through what the last forward was. */
const float *nn_net_forward_masked(struct nn_net *n, const float *x, uint32_t rows);
/* Gradients of sum over rows of <dy, y> for the last forward: once for each, since layers use up
 * what they have kept of it.  dx (rows x inputs) may be NULL, and
 * has to be where the first layer gives none (layer.h).  A row whose pass was not finite, forward
 * or now, adds nothing to any sum, and its row of dx is zeros. */
void nn_net_backward(struct nn_net *n, float *dx, const float *dy);
/* Rows of the last forward, and of the last backward, that were not finite. */
uint32_t nn_net_lost_forward(const struct nn_net *n);
uint32_t nn_net_lost_backward(const struct nn_net *n);
/* One step of the optimiser with the gradients of the last backward.  Whatever these are, weights
 * and state stay finite: optim.h. */
void nn_net_step(struct nn_net *n, float learning_rate);
/* Weights to the bounds of a step (optim.h). */
void nn_net_limit(struct nn_net *n);

/* w, then b where there is one, or tables, as floats in one run; so are dw, m1, m2. */
size_t nn_layer_params(const struct nn_layer *l);

/* What has parameters: the layers, and behind them the table if there is one. */
size_t nn_spec_blocks(const struct nn_spec *spec);
/* rows x width in w, their gradients in dw; NULL: there is none. */
struct nn_layer *nn_net_table(struct nn_net *n);

/* All blocks' parameters in order: of each its w (row major), then its b. */
size_t nn_spec_params(const struct nn_spec *spec);
size_t nn_spec_layer_params(const struct nn_spec *spec, size_t i); /* of block i */
void nn_net_copy_params(const struct nn_net *n, float *out);
void nn_net_set_params(struct nn_net *n, const float *params); /* the optimiser stays as it is */

/* The proximal term (mu / 2) |theta - anchor|^2: adds its gradient mu (theta - anchor) to those of
 * the last backward, before a step (FedBCD, equation (13)).  anchor: as nn_net_copy_params left it
 * at the beginning of the round; mu = 0 changes no bit. */
void nn_net_pull(struct nn_net *n, const float *anchor, float mu);

/* What an NN_OUTSIDE has in its parameters is what was last read of its state: before they are read
 * (nn_net_copy_params and what prints a net do so by themselves), and after they were written
 * (as nn_net_set_params and what parses a net do).  Nothing for all other nets. */
void nn_net_fetch(const struct nn_net *n);
void nn_net_give(const struct nn_net *n);

/* How many rows at a time a net should be made for that has `most` to compute: all of them, where
 * its layers are of units; of images some, for they are large. */
uint32_t nn_spec_rows(const struct nn_spec *spec, uint32_t most);
/* nn_net_forward of as many rows as there are, `rows_max` at a time: into out (rows x outputs).
 * Returns how many were not finite. */
uint32_t nn_net_forward_all(struct nn_net *n, float *out, const float *x, uint32_t rows);

/* Multiplications and additions of one forward + backward, for the decision loop or pool. */
double nn_net_flops(const struct nn_spec *spec, uint32_t rows);

/* The environment OpenBLAS wants (one thread; SkylakeX kernels where the CPU has AVX-512), to be
 * set before exec.  Returns 1 when it set something that was not set, so that main re-executes
 * itself once. */
int nn_blas_environment(void);

#endif
