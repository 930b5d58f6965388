/* group_norm.c -- sums over places by channel, then over the channels of each group.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/group_norm.h"

#include "common/nn/act.h"
#include "common/nn/clones.h"
#include "common/nn/window.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double EPSILON = 1e-5;

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_layer_spec *of = &s->layer[i];

    return shape_values(&of->shape) == layer_in(s, i) && layer_in(s, i) == s->width[i + 1] &&
           layer_in(s, i) >= 1 && of->groups >= 1 && of->shape.channels % of->groups == 0;
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
        .work = 24.0 * layer_in(s, i), /* seven passes over the row */
    };
}

static void draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    (void)init;
    (void)r;
    for (uint32_t c = 0; c < l->out; c++) {
        l->w[c] = 1.0F;
        l->b[c] = 0.0F;
    }
}

/* sum = the sum of x, square = that of x less `less`, squared: by channel, over places. */
CLONES static void add_up(float *restrict sum, const float *restrict x, size_t places,
                          size_t channels)
{
    memset(sum, 0, channels * sizeof *sum);
    for (size_t p = 0; p < places; p++, x += channels)
        for (size_t c = 0; c < channels; c++)
            sum[c] += x[c];
}

CLONES static void add_squares(float *restrict sum, const float *restrict x,
                               const float *restrict less, size_t places, size_t channels)
{
    memset(sum, 0, channels * sizeof *sum);
    for (size_t p = 0; p < places; p++, x += channels)
        for (size_t c = 0; c < channels; c++)
            sum[c] += (x[c] - less[c]) * (x[c] - less[c]);
}

/* Each group's channels get the sum of theirs, times `share`. */
static void share_out(float *sum, uint32_t channels, uint32_t groups, double share)
{
    const uint32_t each = channels / groups;

    for (uint32_t g = 0; g < groups; g++, sum += each) {
        double all = 0;

        for (uint32_t c = 0; c < each; c++)
            all += (double)sum[c];
        for (uint32_t c = 0; c < each; c++)
            sum[c] = (float)(all * share);
    }
}

/* y = x factor + summand, by channel. */
CLONES static void put(float *restrict y, const float *restrict x, const float *restrict factor,
                       const float *restrict summand, size_t places, size_t channels)
{
    for (size_t p = 0; p < places; p++, x += channels, y += channels)
        for (size_t c = 0; c < channels; c++)
            y[c] = x[c] * factor[c] + summand[c];
}

static double share_of(const struct nn_layer *l)
{
    const struct nn_shape *shape = &l->spec.shape;

    return (double)l->spec.groups / ((double)shape_places(shape) * shape->channels);
}

static void forward_row(struct nn_layer *l, const float *x, float *y, float *factor)
{
    const size_t places = shape_places(&l->spec.shape);
    const uint32_t channels = l->spec.shape.channels;
    float *summand = factor + channels, *mean = l->scratch, *gain = l->scratch + channels;

    add_up(mean, x, places, channels);
    share_out(mean, channels, l->spec.groups, share_of(l));
    add_squares(factor, x, mean, places, channels);
    share_out(factor, channels, l->spec.groups, share_of(l));
    for (uint32_t c = 0; c < channels; c++) {
        factor[c] = (float)(1.0 / sqrt((double)factor[c] + EPSILON));
        summand[c] = -mean[c] * factor[c];
        gain[c] = factor[c] * l->w[c];
        mean[c] = summand[c] * l->w[c];
    }
    put(y, x, gain, mean, places, channels);
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    l->x = x;
    for (size_t r = 0; r < rows; r++)
        forward_row(l, x + r * l->width, l->y + r * l->width, l->made + r * l->keeps);
    act_forward(l->y, l->b, l->act, l->scale, rows * shape_places(&l->spec.shape), l->out);
}

/* sum = sum of dy, product = sum of dy (x factor + summand): by channel, over places. */
CLONES static void add_products(float *restrict sum, float *restrict product,
                                const float *restrict dy, const float *restrict x,
                                const float *restrict factor, size_t places, size_t channels)
{
    const float *summand = factor + channels;

    for (size_t p = 0; p < places; p++, x += channels, dy += channels)
        for (size_t c = 0; c < channels; c++) {
            sum[c] += dy[c];
            product[c] += dy[c] * (x[c] * factor[c] + summand[c]);
        }
}

/* With z = (x - m) / d and g = w dy: dx = (g - mean(g) - z mean(g z)) / d, means over the group. */
CLONES static void back(float *restrict dx, const float *restrict dy, const float *restrict x,
                        const float *restrict w, const float *restrict factor,
                        const float *restrict means, size_t places, size_t channels)
{
    const float *summand = factor + channels, *products = means + channels;

    for (size_t p = 0; p < places; p++, x += channels, dy += channels, dx += channels)
        for (size_t c = 0; c < channels; c++)
            dx[c] = factor[c] *
                    (w[c] * dy[c] - means[c] - (x[c] * factor[c] + summand[c]) * products[c]);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const size_t places = shape_places(&l->spec.shape);
    const uint32_t channels = l->spec.shape.channels;
    float *sum = l->scratch, *product = l->scratch + channels;

    act_backward(l->dy, l->y, l->act, l->scale, rows * places, channels);
    for (size_t r = 0; r < rows && dx != NULL; r++) {
        const float *x = l->x + r * l->width, *dy = l->dy + r * l->width;
        const float *factor = l->made + r * l->keeps;

        memset(sum, 0, 2 * channels * sizeof *sum);
        add_products(sum, product, dy, x, factor, places, channels);
        for (uint32_t c = 0; c < channels; c++) {
            sum[c] *= l->w[c];
            product[c] *= l->w[c];
        }
        share_out(sum, channels, l->spec.groups, share_of(l));
        share_out(product, channels, l->spec.groups, share_of(l));
        back(dx + r * l->width, dy, x, l->w, factor, sum, places, channels);
    }
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    memset(l->dw, 0, l->params * sizeof *l->dw);
    for (size_t r = 0; r < rows; r++)
        add_products(l->db, l->dw, l->dy + r * l->width, l->x + r * l->width,
                     l->made + r * l->keeps, shape_places(&l->spec.shape), l->out);
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    return layer_named(
        (struct layer_tensor){
            .values = index == 0 ? l->w : l->b, .count = l->out, .rank = 1, .shape = {l->out}},
        l, i, index == 0 ? "weight" : "bias");
}

const struct layer_kind GROUP_NORM_LAYER = {
    .name = "group_norm",
    .fits = fits,
    .sizes = sizes,
    .draw = draw,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .gradients = gradients,
    .tensor = tensor,
};
