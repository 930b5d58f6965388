/* dpsgd.c -- back through all layers, and norms on the way: by what each row is to be cut.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dpsgd.h"

#include "common/base/check.h"
#include "common/nn/dense.h"

#include <math.h>
#include <string.h>

/* Far more than rounding in double adds to a norm; the cut leaves room for it. */
static const double ROUNDING = 1e-9;

static double square(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

/* What went into layer i. */
static const float *input_of(const struct nn_net *n, size_t i)
{
    if (n->spec.degree > 0)
        return n->powers;
    return i > 0 ? n->layer[i - 1].y : n->x;
}

/* Every layer's dy, for x W + b. */
static void deltas(struct nn_net *n, const float *dy)
{
    struct nn_layer *last = &n->layer[n->spec.layers - 1];

    memcpy(last->dy, dy, (size_t)n->rows * last->out * sizeof *dy);
    for (size_t i = n->spec.layers; i-- > 0 && n->spec.degree == 0;)
        dense_delta(&n->layer[i], i > 0 ? n->layer[i - 1].dy : NULL, n->wt, n->rows);
}

/* |g_r|^2 of row r. */
static double norm2(const struct nn_net *n, size_t r)
{
    double sum = 0;

    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];
        const double bias = l->b != NULL ? 1 : 0;

        sum +=
            square(l->dy + r * l->out, l->out) * (square(input_of(n, i) + r * l->in, l->in) + bias);
    }
    return sum;
}

static double factor_of(double norm, double most)
{
    if (!isfinite(norm))
        return 0;
    return norm <= most ? 1 : most / norm * (1 - ROUNDING);
}

uint32_t dpsgd_backward(struct dpsum *s, struct nn_net *n, const float *dy, double most,
                        double *factor)
{
    uint32_t clipped = 0;

    CHECK(n->x != NULL && n->spec.layers > 0 && most > 0);
    deltas(n, dy);
    for (size_t r = 0; r < n->rows; r++) {
        factor[r] = factor_of(sqrt(norm2(n, r)), most);
        clipped += factor[r] < 1;
    }
    dpsum_add(s, n, factor);
    return clipped;
}
