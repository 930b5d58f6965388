/* activation.c -- no bias, and the loops of act.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/activation.h"

#include "common/nn/act.h"

#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    return layer_in(s, i) >= 1 && layer_in(s, i) == s->width[i + 1];
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    (void)s;
    (void)i;
    return (struct layer_sizes){0};
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    l->x = x;
    memcpy(l->y, x, rows * l->width * sizeof *l->y);
    act_forward(l->y, NULL, l->act, l->scale, rows, l->width);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    act_backward(l->dy, l->y, l->act, l->scale, rows, l->width);
    if (dx != NULL)
        memcpy(dx, l->dy, rows * l->width * sizeof *dx);
}

static size_t modules(const struct nn_layer *l)
{
    (void)l;
    return 1;
}

const struct layer_kind ACTIVATION_LAYER = {
    .name = "activation",
    .fits = fits,
    .sizes = sizes,
    .modules = modules,
    .forward = forward,
    .delta = delta,
    .activates = true,
};
