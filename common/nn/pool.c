/* pool.c -- one walk over places and windows, and what is done in them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/pool.h"

#include "common/nn/clones.h"
#include "common/nn/window.h"

#include <math.h>
#include <string.h>

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_layer_spec *of = &s->layer[i];
    struct nn_shape out;

    return s->act[i] == NN_ACT_NONE && shape_values(&of->shape) == layer_in(s, i) &&
           window_out(&out, &of->shape, &of->window) && shape_values(&out) == s->width[i + 1];
}

/* Of each value of y, where it comes from: a small number, which as bits of a float is finite. */
static struct layer_sizes max_sizes(const struct nn_spec *s, size_t i)
{
    _Static_assert(sizeof(uint32_t) == sizeof(float), "one for the other");
    return (struct layer_sizes){.keeps = s->width[i + 1]};
}

static struct layer_sizes avg_sizes(const struct nn_spec *s, size_t i)
{
    (void)s;
    (void)i;
    return (struct layer_sizes){0};
}

/* One row, there or back. */
struct pass {
    void (*element)(const struct pass *p, size_t place, size_t at, size_t channels);
    const float *x, *dy;
    float *y, *dx;
    uint32_t *most; /* where in x the value of y comes from */
    float share;
};

/* Calls p->element for each element of each window of the row: the first channel of the place in y
 * is at `place`, that of the element in x is at `at`. */
static void walk(const struct pass *p, const struct nn_layer_spec *of)
{
    const struct nn_window *w = &of->window;
    const uint32_t side = of->shape.width;
    const size_t c = of->shape.channels;
    struct nn_shape out = {0};
    size_t place = 0;

    (void)window_out(&out, &of->shape, w);
    for (uint32_t i = 0; i < out.height; i++) {
        uint32_t top, bottom, from_y;

        window_inside(&top, &bottom, &from_y, w, 0, i, of->shape.height);
        for (uint32_t j = 0; j < out.width; j++, place += c) {
            uint32_t left, right, from_x;

            window_inside(&left, &right, &from_x, w, 1, j, side);
            for (uint32_t a = 0; a < bottom - top; a++)
                for (uint32_t b = 0; b < right - left; b++)
                    p->element(p, place, ((size_t)(from_y + a) * side + from_x + b) * c, c);
        }
    }
}

/* A NaN becomes the most, and stays it. */
CLONES static void take_most(const struct pass *p, size_t place, size_t at, size_t channels)
{
    float *restrict y = p->y + place;
    uint32_t *restrict most = p->most + place;
    const float *restrict x = p->x + at;

    for (size_t c = 0; c < channels; c++) {
        const bool more = !(x[c] <= y[c]) && y[c] == y[c];

        y[c] = more ? x[c] : y[c];
        most[c] = more ? (uint32_t)(at + c) : most[c];
    }
}

CLONES static void add_share(const struct pass *p, size_t place, size_t at, size_t channels)
{
    float *restrict y = p->y + place;
    const float *restrict x = p->x + at;

    for (size_t c = 0; c < channels; c++)
        y[c] += x[c] * p->share;
}

CLONES static void give_share(const struct pass *p, size_t place, size_t at, size_t channels)
{
    float *restrict dx = p->dx + at;
    const float *restrict dy = p->dy + place;

    for (size_t c = 0; c < channels; c++)
        dx[c] += dy[c] * p->share;
}

static void max_forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const size_t in = shape_values(&l->spec.shape);

    l->x = x;
    for (size_t i = 0; i < rows * l->width; i++)
        l->y[i] = -INFINITY;
    memset(l->made, 0, rows * l->width * sizeof *l->made);
    for (size_t r = 0; r < rows; r++) {
        const struct pass p = {.element = take_most,
                               .x = x + r * in,
                               .y = l->y + r * l->width,
                               .most = (uint32_t *)(void *)(l->made + r * l->width)};

        walk(&p, &l->spec);
    }
}

static void max_delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const size_t in = shape_values(&l->spec.shape);

    if (dx == NULL)
        return;
    memset(dx, 0, rows * in * sizeof *dx);
    for (size_t r = 0; r < rows; r++) {
        const uint32_t *most = (const uint32_t *)(const void *)(l->made + r * l->width);

        for (size_t i = 0; i < l->width; i++)
            dx[r * in + most[i]] += l->dy[r * l->width + i];
    }
}

static float share_of(const struct nn_layer *l)
{
    return 1.0F / (float)(l->spec.window.size[0] * l->spec.window.size[1]);
}

static void avg_forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const size_t in = shape_values(&l->spec.shape);

    l->x = x;
    memset(l->y, 0, rows * l->width * sizeof *l->y);
    for (size_t r = 0; r < rows; r++) {
        const struct pass p = {
            .element = add_share, .x = x + r * in, .y = l->y + r * l->width, .share = share_of(l)};

        walk(&p, &l->spec);
    }
}

static void avg_delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const size_t in = shape_values(&l->spec.shape);

    if (dx == NULL)
        return;
    memset(dx, 0, rows * in * sizeof *dx);
    for (size_t r = 0; r < rows; r++) {
        const struct pass p = {.element = give_share,
                               .dx = dx + r * in,
                               .dy = l->dy + r * l->width,
                               .share = share_of(l)};

        walk(&p, &l->spec);
    }
}

const struct layer_kind MAX_POOL_LAYER = {
    .name = "max_pool",
    .fits = fits,
    .sizes = max_sizes,
    .forward = max_forward,
    .delta = max_delta,
};

const struct layer_kind AVG_POOL_LAYER = {
    .name = "avg_pool",
    .fits = fits,
    .sizes = avg_sizes,
    .forward = avg_forward,
    .delta = avg_delta,
};
