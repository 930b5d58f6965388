/* add.c -- a sum; both summands get back what comes back to it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/add.h"

#include "common/nn/act.h"
#include "common/nn/clones.h"

#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    const uint32_t beside = s->layer[i].beside, width = s->width[i + 1];

    return beside >= 1 && beside <= i && layer_in(s, i) == width && s->width[i - beside] == width;
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    (void)s;
    (void)i;
    return (struct layer_sizes){0};
}

CLONES static void sum(float *restrict y, const float *restrict a, const float *restrict b,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    l->x = x;
    sum(l->y, x, l->beside, rows * l->width);
    act_forward(l->y, NULL, l->act, l->scale, rows, l->width);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    act_backward(l->dy, l->y, l->act, l->scale, rows, l->width);
    if (dx != NULL)
        memcpy(dx, l->dy, rows * l->width * sizeof *dx);
}

const struct layer_kind ADD_LAYER = {
    .name = "add",
    .fits = fits,
    .sizes = sizes,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .joins = true,
};
