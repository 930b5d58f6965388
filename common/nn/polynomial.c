/* polynomial.c -- the powers once per batch, then a product in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/polynomial.h"

#include "common/nn/clones.h"
#include "common/nn/gemm.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* A NaN stays one. */
static inline float cut_off(float x, float most)
{
    return x > most ? most : x < -most ? -most : x;
}

CLONES void polynomial_powers(float *powers, const float *x, uint32_t rows, uint32_t features,
                              uint32_t degree, float x_max)
{
    const size_t d = features;

    for (size_t r = 0; r < rows; r++) {
        const float *base = x + r * d;
        float *row = powers + r * d * degree;

        for (size_t c = 0; c < d; c++)
            row[c] = cut_off(base[c], x_max);
        for (size_t i = 1; i < degree; i++)
            for (size_t c = 0; c < d; c++)
                row[i * d + c] = row[(i - 1) * d + c] * row[c];
    }
}

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_layer_spec *of = &s->layer[i];

    return s->layers == 1 && s->act[i] == NN_ACT_NONE && s->out_scale == 1.0F &&
           s->dropout == 0.0F && of->x_max >= 0.0F && of->degree >= 1 &&
           of->degree <= NN_DEGREE_MAX && layer_in(s, i) <= INT_MAX / of->degree;
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    return (struct layer_sizes){
        .in = layer_in(s, i) * s->layer[i].degree,
        .out = s->width[i + 1],
        .keeps = (size_t)layer_in(s, i) * s->layer[i].degree,
    };
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct nn_layer_spec *of = &l->spec;

    polynomial_powers(l->made, x, rows, l->in / of->degree, of->degree,
                      of->x_max > 0.0F ? of->x_max : INFINITY);
    l->x = l->made;
    gemm_nn(l->y, l->x, l->w, rows, l->out, l->in);
}

/* There is no activation to go back through, and nobody asks what the inputs get. */
static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    (void)l;
    (void)dx;
    (void)rows;
}

/* dW^i = (x^i)' dy, all in one product */
static void gradients(struct nn_layer *l, uint32_t rows)
{
    gemm_tn(l->dw, l->x, l->dy, l->in, l->out, rows);
}

static size_t tensors(const struct nn_layer *l)
{
    return l->spec.degree;
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    const uint32_t features = l->in / l->spec.degree;
    const size_t count = (size_t)features * l->out;
    struct layer_tensor t = {
        .values = l->w + index * count, .count = count, .rank = 2, .shape = {features, l->out}};

    (void)i;
    snprintf(t.name, sizeof t.name, "w%zu", index + 1);
    return t;
}

const struct layer_kind POLYNOMIAL_LAYER = {
    .name = "polynomial",
    .fits = fits,
    .sizes = sizes,
    .forward = forward,
    .delta = delta,
    .no_dx = true,
    .gradients = gradients,
    .norm2 = layer_product_norm2,
    .tensors = tensors,
    .tensor = tensor,
};
