/* act.c -- one loop per activation and direction; the compiler makes them vector loops.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/act.h"

#include "common/base/check.h"
#include "common/nn/clones.h"

/* tanh(x) = x P(x^2) / Q(x^2) for |x| <= TANH_END, where float's tanh has become 1.  Minimax in
 * relative error (2.1e-8 before rounding) by tests/golden/fit_tanh.py.  All coefficients are
 * positive: no cancellation.  Comparisons are written so that a NaN passes through. */
#define TANH_END 9.02F

static inline float tanh_rational(float x)
{
    const float hi = x > TANH_END ? TANH_END : x;
    const float t = hi < -TANH_END ? -TANH_END : hi;
    const float u = t * t;
    const float p =
        t * (1.0F + u * (1.337970640e-1F +
                         u * (3.494020796e-3F + u * (2.058325610e-5F + u * 1.331876843e-8F))));
    const float q =
        1.0F +
        u * (4.671302165e-1F + u * (2.587102093e-2F + u * (3.283070345e-4F + u * 7.761893138e-7F)));
    const float y = p / q;
    const float top = y > 1.0F ? 1.0F : y;

    return top < -1.0F ? -1.0F : top;
}

static inline float sigmoid_rational(float x)
{
    return 0.5F + 0.5F * tanh_rational(0.5F * x);
}

float act_tanh(float x)
{
    return tanh_rational(x);
}

float act_sigmoid(float x)
{
    return sigmoid_rational(x);
}

CLONES static void none_forward(float *restrict y, const float *restrict b, float scale,
                                size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, y += cols)
        for (size_t c = 0; c < cols; c++)
            y[c] = (y[c] + b[c]) * scale;
}

CLONES static void relu_forward(float *restrict y, const float *restrict b, float scale,
                                size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, y += cols)
        for (size_t c = 0; c < cols; c++) {
            const float z = y[c] + b[c];
            y[c] = (z < 0.0F ? 0.0F : z) * scale;
        }
}

CLONES static void tanh_forward(float *restrict y, const float *restrict b, float scale,
                                size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, y += cols)
        for (size_t c = 0; c < cols; c++)
            y[c] = tanh_rational(y[c] + b[c]) * scale;
}

CLONES static void sigmoid_forward(float *restrict y, const float *restrict b, float scale,
                                   size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, y += cols)
        for (size_t c = 0; c < cols; c++)
            y[c] = sigmoid_rational(y[c] + b[c]) * scale;
}

static void forward(float *y, const float *b, enum nn_act act, float scale, size_t rows,
                    size_t cols)
{
    switch (act) {
    case NN_ACT_NONE: none_forward(y, b, scale, rows, cols); return;
    case NN_ACT_RELU: relu_forward(y, b, scale, rows, cols); return;
    case NN_ACT_TANH: tanh_forward(y, b, scale, rows, cols); return;
    case NN_ACT_SIGMOID: sigmoid_forward(y, b, scale, rows, cols); return;
    }
    CHECK(0 && "activation");
}

void act_forward(float *y, const float *b, enum nn_act act, float scale, size_t rows, size_t cols)
{
    static const float zeros[256];
    const size_t wide = sizeof zeros / sizeof *zeros, n = rows * cols;

    if (b != NULL) {
        forward(y, b, act, scale, rows, cols);
        return;
    }
    /* Without a bias the shape is nothing to the loops. */
    forward(y, zeros, act, scale, n / wide, wide);
    forward(y + n / wide * wide, zeros, act, scale, 1, n % wide);
}

/* With y = s act(z): the derivative by z is s, s [y > 0], s - y^2/s and y - y^2/s. */

CLONES static void none_backward(float *restrict dz, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dz[i] *= scale;
}

CLONES static void relu_backward(float *restrict dz, const float *restrict y, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float g = dz[i] * scale;
        dz[i] = y[i] > 0.0F ? g : 0.0F;
    }
}

CLONES static void tanh_backward(float *restrict dz, const float *restrict y, float scale, size_t n)
{
    const float inverse = 1.0F / scale;

    for (size_t i = 0; i < n; i++)
        dz[i] *= scale - y[i] * y[i] * inverse;
}

CLONES static void sigmoid_backward(float *restrict dz, const float *restrict y, float scale,
                                    size_t n)
{
    const float inverse = 1.0F / scale;

    for (size_t i = 0; i < n; i++)
        dz[i] *= y[i] - y[i] * y[i] * inverse;
}

void act_backward(float *dz, const float *y, enum nn_act act, float scale, size_t rows, size_t cols)
{
    const size_t n = rows * cols;

    switch (act) {
    case NN_ACT_NONE: none_backward(dz, scale, n); return;
    case NN_ACT_RELU: relu_backward(dz, y, scale, n); return;
    case NN_ACT_TANH: tanh_backward(dz, y, scale, n); return;
    case NN_ACT_SIGMOID: sigmoid_backward(dz, y, scale, n); return;
    }
    CHECK(0 && "activation");
}
