/* layer.c -- the table of kinds, and what several of them do alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/layer.h"

#include "common/base/check.h"
#include "common/nn/dense.h"
#include "common/nn/embedding.h"
#include "common/nn/polynomial.h"

static const struct layer_kind *const kinds[NN_KINDS] = {
    [NN_DENSE] = &DENSE_LAYER,
    [NN_POLYNOMIAL] = &POLYNOMIAL_LAYER,
    [NN_EMBEDDING] = &EMBEDDING_LAYER,
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

static double square(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

double layer_product_norm2(const struct nn_layer *l, size_t r)
{
    const double bias = l->b != NULL ? 1 : 0;

    return square(l->dy + r * l->out, l->out) * (square(l->x + r * l->in, l->in) + bias);
}
