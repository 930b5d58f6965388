/* group_norm.c -- one row after the other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/group_norm.h"

#include "common/nn/act.h"
#include "common/nn/norm.h"
#include "common/nn/window.h"

#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    return norm_fits(s, i, s->layer[i].groups);
}

/* Of each row and channel: the factor and the summand that make (x - mean) / deviation of x. */
static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    const uint32_t channels = s->layer[i].shape.channels;

    return (struct layer_sizes){
        .in = 1,
        .out = channels,
        .biases = channels,
        .keeps = 2 * (size_t)channels,
        .scratch = 2 * (size_t)channels,
    };
}

static struct norm row_of(const struct nn_layer *l)
{
    return (struct norm){shape_places(&l->spec.shape), l->out, l->spec.groups};
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct norm n = row_of(l);
    float *mean = l->scratch, *variance = l->scratch + l->out;

    l->x = x;
    for (size_t r = 0; r < rows; r++) {
        float *factor = l->made + r * l->keeps;

        norm_moments(mean, variance, x + r * l->width, &n);
        norm_factors(factor, mean, variance, l->out);
        norm_apply(l->y + r * l->width, x + r * l->width, l->w, factor, l->scratch, &n);
    }
    act_forward(l->y, l->b, l->act, l->scale, rows * n.places, l->out);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const struct norm n = row_of(l);

    act_backward(l->dy, l->y, l->act, l->scale, rows * n.places, l->out);
    for (size_t r = 0; r < rows && dx != NULL; r++)
        norm_back(dx + r * l->width, l->dy + r * l->width, l->x + r * l->width, l->w,
                  l->made + r * l->keeps, l->scratch, &n);
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct norm n = row_of(l);

    memset(l->dw, 0, l->params * sizeof *l->dw);
    for (size_t r = 0; r < rows; r++)
        norm_gradients(l->dw, l->db, l->dy + r * l->width, l->x + r * l->width,
                       l->made + r * l->keeps, &n);
}

static size_t tensors(const struct nn_layer *l)
{
    (void)l;
    return 2;
}

const struct layer_kind GROUP_NORM_LAYER = {
    .name = "group_norm",
    .fits = fits,
    .sizes = sizes,
    .draw = norm_draw,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .gradients = gradients,
    .tensors = tensors,
    .tensor = norm_tensor,
};
