/* activation.c -- no bias, and the loops of act.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/activation.h"

#include "common/nn/act.h"

#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    return s->width[i] >= 1 && s->width[i] == s->width[i + 1];
}

/* A bias of zeros, which is what the loops add. */
static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    return (struct layer_sizes){.scratch = s->width[i]};
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    l->x = x;
    memset(l->scratch, 0, l->width * sizeof *l->scratch);
    memcpy(l->y, x, rows * l->width * sizeof *l->y);
    act_forward(l->y, l->scratch, l->act, l->scale, rows, l->width);
}

static void delta(struct nn_layer *l, bool masked, float *dx, uint32_t rows)
{
    (void)masked;
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
