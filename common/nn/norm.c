/* norm.c -- sums over places by channel, then over the channels of each group.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/norm.h"

#include "common/nn/clones.h"
#include "common/nn/window.h"

#include <math.h>
#include <string.h>

/* A long sum of floats loses what is small beside it: RUN places at a time are added up by
 * themselves, LANES channels side by side. */
enum { RUN = 32, LANES = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

CLONES static void add_run(float *restrict sum, const float *restrict x, size_t places,
                           size_t stride, size_t lanes)
{
    float part[LANES] = {0};

    for (size_t p = 0; p < places; p++, x += stride)
        for (size_t c = 0; c < lanes; c++)
            part[c] += x[c];
    for (size_t c = 0; c < lanes; c++)
        sum[c] += part[c];
}

static void add_values(float *sum, const float *x, size_t places, size_t channels)
{
    memset(sum, 0, channels * sizeof *sum);
    for (size_t p = 0; p < places; p += RUN)
        for (size_t c = 0; c < channels; c += LANES)
            add_run(sum + c, x + p * channels + c, least(RUN, places - p), channels,
                    least(LANES, channels - c));
}

CLONES static void square_run(float *restrict sum, const float *restrict x,
                              const float *restrict less, size_t places, size_t stride,
                              size_t lanes)
{
    float part[LANES] = {0};

    for (size_t p = 0; p < places; p++, x += stride)
        for (size_t c = 0; c < lanes; c++)
            part[c] += (x[c] - less[c]) * (x[c] - less[c]);
    for (size_t c = 0; c < lanes; c++)
        sum[c] += part[c];
}

static void add_squares(float *sum, const float *x, const float *less, size_t places,
                        size_t channels)
{
    memset(sum, 0, channels * sizeof *sum);
    for (size_t p = 0; p < places; p += RUN)
        for (size_t c = 0; c < channels; c += LANES)
            square_run(sum + c, x + p * channels + c, less + c, least(RUN, places - p), channels,
                       least(LANES, channels - c));
}

/* Each group's channels get the mean of theirs, of which sum has the sums over places. */
static void share_out(float *sum, const struct norm *n)
{
    const uint32_t each = n->channels / n->groups;
    const double share = (double)n->groups / ((double)n->places * n->channels);

    for (uint32_t g = 0; g < n->groups; g++, sum += each) {
        double all = 0;

        for (uint32_t c = 0; c < each; c++)
            all += (double)sum[c];
        for (uint32_t c = 0; c < each; c++)
            sum[c] = (float)(all * share);
    }
}

void norm_moments(float *mean, float *variance, const float *x, const struct norm *n)
{
    add_values(mean, x, n->places, n->channels);
    share_out(mean, n);
    add_squares(variance, x, mean, n->places, n->channels);
    share_out(variance, n);
}

void norm_factors(float *factor, const float *mean, const float *variance, uint32_t channels)
{
    for (uint32_t c = 0; c < channels; c++) {
        factor[c] = (float)(1.0 / sqrt((double)variance[c] + NORM_EPSILON));
        factor[channels + c] = -mean[c] * factor[c];
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

void norm_apply(float *y, const float *x, const float *w, const float *factor, float *scratch,
                const struct norm *n)
{
    for (uint32_t c = 0; c < n->channels; c++) {
        scratch[c] = factor[c] * w[c];
        scratch[n->channels + c] = factor[n->channels + c] * w[c];
    }
    put(y, x, scratch, scratch + n->channels, n->places, n->channels);
}

struct products {
    float *sum, *product;
    const float *dy, *x, *factor, *summand;
};

CLONES static void product_run(const struct products *k, size_t places, size_t stride, size_t lanes)
{
    const float *restrict dy = k->dy, *restrict x = k->x;
    float sum[LANES] = {0}, product[LANES] = {0};

    for (size_t p = 0; p < places; p++, x += stride, dy += stride)
        for (size_t c = 0; c < lanes; c++) {
            sum[c] += dy[c];
            product[c] += dy[c] * (x[c] * k->factor[c] + k->summand[c]);
        }
    for (size_t c = 0; c < lanes; c++) {
        k->sum[c] += sum[c];
        k->product[c] += product[c];
    }
}

/* sum += that of dy, product += that of dy z: by channel, over places. */
static void add_products(float *sum, float *product, const float *dy, const float *x,
                         const float *factor, const struct norm *n)
{
    for (size_t p = 0; p < n->places; p += RUN)
        for (size_t c = 0; c < n->channels; c += LANES) {
            const size_t at = p * n->channels + c;

            product_run(&(struct products){sum + c, product + c, dy + at, x + at, factor + c,
                                           factor + n->channels + c},
                        least(RUN, n->places - p), n->channels, least(LANES, n->channels - c));
        }
}

void norm_gradients(float *dw, float *db, const float *dy, const float *x, const float *factor,
                    const struct norm *n)
{
    add_products(db, dw, dy, x, factor, n);
}

/* With g = w dy: dx = (g - mean(g) - z mean(g z)) factor, means over the group. */
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

void norm_back(float *dx, const float *dy, const float *x, const float *w, const float *factor,
               float *scratch, const struct norm *n)
{
    float *sum = scratch, *product = scratch + n->channels;

    memset(sum, 0, 2 * n->channels * sizeof *sum);
    add_products(sum, product, dy, x, factor, n);
    for (uint32_t c = 0; c < n->channels; c++) {
        sum[c] *= w[c];
        product[c] *= w[c];
    }
    share_out(sum, n);
    share_out(product, n);
    back(dx, dy, x, w, factor, sum, n->places, n->channels);
}

bool norm_fits(const struct nn_spec *s, size_t i, uint32_t groups)
{
    const struct nn_shape *shape = &s->layer[i].shape;
    const uint32_t values = shape_values(shape);

    return values >= 1 && values == layer_in(s, i) && values == s->width[i + 1] && groups >= 1 &&
           shape->channels % groups == 0;
}

void norm_draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    (void)init;
    (void)r;
    for (uint32_t c = 0; c < l->out; c++) {
        l->w[c] = 1.0F;
        l->b[c] = 0.0F;
    }
}

struct layer_tensor norm_tensor(const struct nn_layer *l, size_t i, size_t index)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};

    return layer_named((struct layer_tensor){.values = l->w + index * l->out,
                                             .count = l->out,
                                             .rank = 1,
                                             .shape = {l->out},
                                             .square = index == 3},
                       l, i, names[index]);
}
