/* window.c -- products and quotients of sizes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/window.h"

#include <limits.h>

uint32_t shape_values(const struct nn_shape *s)
{
    uint64_t values;

    if (s->height > WINDOW_SIDE_MAX || s->width > WINDOW_SIDE_MAX || s->channels > INT_MAX)
        return 0;
    values = (uint64_t)s->height * s->width;
    if (values > INT_MAX)
        return 0;
    values *= s->channels;
    return values <= INT_MAX ? (uint32_t)values : 0;
}

static bool side(uint32_t *out, uint32_t in, const struct nn_window *w, int d)
{
    const uint32_t size = w->size[d], stride = w->stride[d], padding = w->padding[d];

    if (size < 1 || size > WINDOW_SIZE_MAX || stride < 1 || stride > WINDOW_SIZE_MAX ||
        padding >= size || in + 2 * padding < size)
        return false;
    *out = (in + 2 * padding - size) / stride + 1;
    return true;
}

bool window_out(struct nn_shape *out, const struct nn_shape *in, const struct nn_window *w)
{
    if (shape_values(in) == 0)
        return false;
    *out = *in;
    return side(&out->height, in->height, w, 0) && side(&out->width, in->width, w, 1);
}

void window_inside(uint32_t *first, uint32_t *end, uint32_t *from, const struct nn_window *w,
                   int dimension, uint32_t p, uint32_t side_of)
{
    const uint32_t at = p * w->stride[dimension], padding = w->padding[dimension];
    const uint32_t size = w->size[dimension], left = side_of + padding - at;

    *first = at < padding ? padding - at : 0;
    *end = size < left ? size : left;
    *from = at + *first - padding;
}
