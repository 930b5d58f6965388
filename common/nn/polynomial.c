/* polynomial.c -- the powers once per batch, then a product in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/polynomial.h"

#include "common/nn/clones.h"
#include "common/nn/gemm.h"

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

void polynomial_forward(struct nn_layer *l, const float *powers, uint32_t rows)
{
    gemm_nn(l->y, powers, l->w, rows, l->out, l->in);
}

void polynomial_backward(struct nn_layer *l, const float *powers, uint32_t rows)
{
    gemm_tn(l->dw, powers, l->dy, l->in, l->out, rows);
}
