/* turn.c -- a transposition of each row.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/turn.h"

#include "common/nn/gemm.h"
#include "common/nn/window.h"

#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    return s->act[i] == NN_ACT_NONE && shape_values(&s->layer[i].shape) == layer_in(s, i) &&
           layer_in(s, i) == s->width[i + 1];
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    (void)s;
    (void)i;
    return (struct layer_sizes){0};
}

/* Each row, rows x columns of it, transposed. */
static void turn(float *out, const float *x, size_t n, size_t rows, size_t columns)
{
    if (rows == 1 || columns == 1) {
        memcpy(out, x, n * rows * columns * sizeof *out);
        return;
    }
    for (size_t r = 0; r < n; r++)
        gemm_transpose(out + r * rows * columns, x + r * rows * columns, (uint32_t)rows,
                       (uint32_t)columns);
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const size_t places = shape_places(&l->spec.shape), channels = l->spec.shape.channels;

    l->x = x;
    if (l->spec.flattens)
        turn(l->y, x, rows, places, channels);
    else
        turn(l->y, x, rows, channels, places);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const size_t places = shape_places(&l->spec.shape), channels = l->spec.shape.channels;

    if (dx == NULL)
        return;
    if (l->spec.flattens)
        turn(dx, l->dy, rows, channels, places);
    else
        turn(dx, l->dy, rows, places, channels);
}

/* PyTorch's images lie so from the start. */
static size_t modules(const struct nn_layer *l)
{
    return l->spec.flattens;
}

const struct layer_kind TURN_LAYER = {
    .name = "turn",
    .fits = fits,
    .sizes = sizes,
    .modules = modules,
    .forward = forward,
    .delta = delta,
};
