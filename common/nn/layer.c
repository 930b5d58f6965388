/* layer.c -- the table of kinds, and what several of them do alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/layer.h"

#include "common/base/check.h"
#include "common/nn/activation.h"
#include "common/nn/add.h"
#include "common/nn/batch_norm.h"
#include "common/nn/clones.h"
#include "common/nn/conv.h"
#include "common/nn/dense.h"
#include "common/nn/embedding.h"
#include "common/nn/group_norm.h"
#include "common/nn/gru.h"
#include "common/nn/lstm.h"
#include "common/nn/outside.h"
#include "common/nn/polynomial.h"
#include "common/nn/pool.h"
#include "common/nn/turn.h"

#include <stdio.h>
#include <string.h>

static const struct layer_kind *const kinds[NN_KINDS] = {
    [NN_DENSE] = &DENSE_LAYER,
    [NN_POLYNOMIAL] = &POLYNOMIAL_LAYER,
    [NN_CONV] = &CONV_LAYER,
    [NN_MAX_POOL] = &MAX_POOL_LAYER,
    [NN_AVG_POOL] = &AVG_POOL_LAYER,
    [NN_GROUP_NORM] = &GROUP_NORM_LAYER,
    [NN_ACTIVATION] = &ACTIVATION_LAYER,
    [NN_TURN] = &TURN_LAYER,
    [NN_LSTM] = &LSTM_LAYER,
    [NN_GRU] = &GRU_LAYER,
    [NN_ADD] = &ADD_LAYER,
    [NN_BATCH_NORM] = &BATCH_NORM_LAYER,
    [NN_EMBEDDING] = &EMBEDDING_LAYER,
    [NN_OUTSIDE] = &OUTSIDE_LAYER,
};

const struct layer_kind *layer_kind(enum nn_kind kind)
{
    CHECK((unsigned)kind < NN_KINDS);
    return kinds[kind];
}

const struct layer_kind *layer_kind_of(const struct nn_spec *s, size_t i)
{
    return layer_kind(s->layer[i].kind);
}

double layer_square(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

double layer_product_norm2(const struct nn_layer *l, size_t r)
{
    const double bias = l->b != NULL ? 1 : 0;

    return layer_square(l->dy + r * l->out, l->out) *
           (layer_square(l->x + r * l->in, l->in) + bias);
}

void layer_row_gradients(const struct nn_layer *l, float *out, size_t r)
{
    struct nn_layer one = *l;

    one.x += r * l->came;
    one.dy += r * l->width;
    if (l->made != NULL)
        one.made += r * l->keeps;
    one.dw = out;
    if (l->db != NULL)
        one.db = out + (l->db - l->dw);
    l->kind->gradients(&one, 1);
}

CLONES void layer_add_rows(float *restrict sum, const float *restrict x, size_t rows, size_t cols)
{
    memset(sum, 0, cols * sizeof *sum);
    for (size_t r = 0; r < rows; r++, x += cols)
        for (size_t c = 0; c < cols; c++)
            sum[c] += x[c];
}

struct layer_tensor layer_named(struct layer_tensor t, const struct nn_layer *l, size_t i,
                                const char *name)
{
    snprintf(t.name, sizeof t.name, "layer.%zu.%s", i, name);
    snprintf(t.torch, sizeof t.torch, "%s.%s", l->torch, name);
    return t;
}

size_t layer_modules(const struct nn_layer *l)
{
    return l->kind->modules != NULL ? l->kind->modules(l) : 1 + (size_t)(l->act != NN_ACT_NONE);
}

size_t layer_tensors(const struct nn_layer *l)
{
    if (l->kind->tensors != NULL)
        return l->kind->tensors(l);
    return l->kind->tensor != NULL ? 1 + (size_t)(l->b != NULL) : 0;
}

const struct layer_kind *layer_that_mixes(const struct nn_spec *s)
{
    for (size_t i = 0; i < s->layers; i++)
        if (layer_kind_of(s, i)->mixes)
            return layer_kind_of(s, i);
    return NULL;
}
