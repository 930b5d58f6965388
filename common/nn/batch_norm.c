/* batch_norm.c -- the whole batch at once, as if it were one row of norm.h with as many groups as
 * channels.
 *
 * The moments that the last forward has gone by stand where the gradients of running ones would.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/batch_norm.h"

#include "common/base/finite.h"
#include "common/nn/act.h"
#include "common/nn/norm.h"
#include "common/nn/optim.h"
#include "common/nn/window.h"

#include <string.h>

static const float MOMENTUM = 0.1F;

static bool fits(const struct nn_spec *s, size_t i)
{
    return norm_fits(s, i, s->layer[i].shape.channels);
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    const uint32_t channels = s->layer[i].shape.channels;

    return (struct layer_sizes){
        .in = 1,
        .out = channels,
        .biases = channels,
        .running = 2 * (size_t)channels,
        .scratch = 4 * (size_t)channels,
        .work = 24.0 * layer_in(s, i), /* as a group norm's */
    };
}

static void draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    norm_draw(l, init, r);
    for (uint32_t c = 0; c < l->out; c++) {
        l->w[l->trained + c] = 0.0F;
        l->w[l->trained + l->out + c] = 1.0F;
    }
}

static struct norm batch_of(const struct nn_layer *l, uint32_t rows)
{
    return (struct norm){rows * shape_places(&l->spec.shape), l->out, l->out};
}

/* Into scratch: factors and summands of the moments of the last forward. */
static const float *factors(const struct nn_layer *l)
{
    const float *moments = l->dw + l->trained;

    norm_factors(l->scratch, moments, moments + l->out, l->out);
    return l->scratch;
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct norm n = batch_of(l, rows);
    float *moments = l->dw + l->trained;

    l->x = x;
    if (l->training)
        norm_moments(moments, moments + l->out, x, &n);
    else
        memcpy(moments, l->w + l->trained, 2 * l->out * sizeof *moments);
    norm_apply(l->y, x, l->w, factors(l), l->scratch + 2 * (size_t)l->out, &n);
    act_forward(l->y, l->b, l->act, l->scale, n.places, l->out);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const struct norm n = batch_of(l, rows);
    const float *factor = factors(l);

    act_backward(l->dy, l->y, l->act, l->scale, n.places, l->out);
    if (dx == NULL)
        return;
    if (l->training) {
        norm_back(dx, l->dy, l->x, l->w, factor, l->scratch + 2 * (size_t)l->out, &n);
        return;
    }
    for (size_t i = 0; i < n.places * l->out; i++)
        dx[i] = l->dy[i] * l->w[i % l->out] * factor[i % l->out];
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct norm n = batch_of(l, rows);

    memset(l->dw, 0, l->trained * sizeof *l->dw);
    norm_gradients(l->dw, l->db, l->dy, l->x, factors(l), &n);
}

static void follow(float *running, float moment)
{
    *running = finite_within(*running + MOMENTUM * (moment - *running), OPTIM_WEIGHT_MAX);
}

/* Moments of a batch with a row that is not finite, or of one value, move nothing. */
static void settle(struct nn_layer *l, uint32_t rows, float learning_rate)
{
    const double n = (double)batch_of(l, rows).places;
    const float *moments = l->dw + l->trained;
    float *running = l->w + l->trained;
    uint32_t sound = UINT32_MAX;

    (void)learning_rate;
    for (uint32_t k = 0; k < 2 * l->out; k++)
        sound &= finite_mask(moments[k]);
    if (!l->training || sound == 0 || n < 2)
        return;
    for (uint32_t c = 0; c < l->out; c++) {
        const float variance = (float)((double)moments[l->out + c] * (n / (n - 1)));

        follow(&running[c], moments[c]);
        follow(&running[l->out + c], variance);
    }
}

static size_t tensors(const struct nn_layer *l)
{
    (void)l;
    return 4;
}

const struct layer_kind BATCH_NORM_LAYER = {
    .name = "batch_norm",
    .fits = fits,
    .sizes = sizes,
    .draw = draw,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .mixes = true,
    .gradients = gradients,
    .settle = settle,
    .tensors = tensors,
    .tensor = norm_tensor,
};
