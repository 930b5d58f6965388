/* taps.c -- the places that a tap sees are packed, multiplied, and unpacked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/taps.h"

#include "common/nn/gemm.h"
#include "common/nn/window.h"

#include <string.h>

/* Packing, unpacking and sums in memory cost what products of so many channels cost (seen by
 * tests/bench/bench_layers). */
static const double OVERHEAD = 8;

/* Places along one side at which a tap lies inside, [begin, end), and where it lies for the first.
 */
struct span {
    uint32_t begin, end, from, stride;
};

static struct span span_of(const struct nn_window *w, int d, uint32_t tap, uint32_t in,
                           uint32_t out)
{
    const uint32_t stride = w->stride[d], padding = w->padding[d];
    struct span s = {.begin = tap < padding ? (padding - tap + stride - 1) / stride : 0,
                     .stride = stride};

    s.end = tap < in + padding ? (in + padding - tap - 1) / stride + 1 : 0;
    s.end = s.end < out ? s.end : out;
    s.begin = s.begin < s.end ? s.begin : s.end;
    s.from = s.begin * stride + tap - padding;
    return s;
}

static uint32_t span_length(struct span s)
{
    return s.end - s.begin;
}

/* Of all products of a place with its window, those inside of the image. */
static double inside(const struct nn_window *w, int d, uint32_t in, uint32_t out)
{
    uint64_t n = 0;

    for (uint32_t tap = 0; tap < w->size[d]; tap++)
        n += span_length(span_of(w, d, tap, in, out));
    return (double)n / ((double)w->size[d] * out);
}

bool taps_gain(const struct taps *t)
{
    const double share = inside(&t->window, 0, t->in.height, t->out.height) *
                         inside(&t->window, 1, t->in.width, t->out.width);

    return share * (1 + OVERHEAD / t->in.channels) < 1;
}

size_t taps_scratch(const struct taps *t, uint32_t some)
{
    return some * shape_places(&t->out) * ((size_t)t->in.channels + t->out.channels);
}

/* --- one tap --- */

struct tap {
    struct span y, x; /* down, and across */
};

/* The places of an image, channels together, that a tap meets: of x where it lies, of y whose it
 * is. */
struct grid {
    uint32_t row, col, row_step, col_step, rows, cols, width, channels;
    size_t image;
};

static struct grid grid_of_x(const struct taps *t, const struct tap *p)
{
    return (struct grid){p->y.from,   p->x.from,         p->y.stride,
                         p->x.stride, span_length(p->y), span_length(p->x),
                         t->in.width, t->in.channels,    shape_values(&t->in)};
}

static struct grid grid_of_y(const struct taps *t, const struct tap *p)
{
    return (struct grid){p->y.begin,
                         p->x.begin,
                         1,
                         1,
                         span_length(p->y),
                         span_length(p->x),
                         t->out.width,
                         t->out.channels,
                         shape_places(&t->out) * t->out.channels};
}

static size_t place(const struct grid *g, uint32_t r, uint32_t i, uint32_t j)
{
    return r * g->image +
           ((size_t)(g->row + i * g->row_step) * g->width + g->col + j * g->col_step) * g->channels;
}

static void pack(float *to, const float *from, const struct grid *g, uint32_t some)
{
    for (uint32_t r = 0; r < some; r++)
        for (uint32_t i = 0; i < g->rows; i++)
            for (uint32_t j = 0; j < g->cols; j++, to += g->channels)
                memcpy(to, from + place(g, r, i, j), g->channels * sizeof *to);
}

static void unpack_add(float *to, const float *from, const struct grid *g, uint32_t some)
{
    for (uint32_t r = 0; r < some; r++)
        for (uint32_t i = 0; i < g->rows; i++)
            for (uint32_t j = 0; j < g->cols; j++, from += g->channels) {
                float *at = to + place(g, r, i, j);

                for (uint32_t k = 0; k < g->channels; k++)
                    at[k] += from[k];
            }
}

/* --- all of them --- */

static size_t taps_of(const struct taps *t)
{
    return (size_t)t->window.size[0] * t->window.size[1];
}

/* False: it sees no place at all. */
static bool tap_at(struct tap *p, const struct taps *t, size_t at)
{
    const uint32_t width = t->window.size[1];

    p->y = span_of(&t->window, 0, (uint32_t)(at / width), t->in.height, t->out.height);
    p->x = span_of(&t->window, 1, (uint32_t)(at % width), t->in.width, t->out.width);
    return span_length(p->y) > 0 && span_length(p->x) > 0;
}

static uint32_t packed_rows(const struct tap *p, uint32_t some)
{
    return some * span_length(p->y) * span_length(p->x);
}

/* to += from by w, of which each tap has from's channels times to's: x to y, or dy back to dx. */
static void through(const struct taps *t, float *to, const float *from, const float *w, bool back,
                    float *packed, uint32_t some)
{
    const size_t each = (size_t)t->in.channels * t->out.channels;
    struct tap p;

    for (size_t at = 0; at < taps_of(t); at++)
        if (tap_at(&p, t, at)) {
            const struct grid gx = grid_of_x(t, &p), gy = grid_of_y(t, &p);
            const struct grid *of = back ? &gy : &gx, *into = back ? &gx : &gy;
            const uint32_t m = packed_rows(&p, some);
            float *product = packed + (size_t)m * of->channels;

            pack(packed, from, of, some);
            gemm_nn(product, packed, w + at * each, m, into->channels, of->channels);
            unpack_add(to, product, into, some);
        }
}

void taps_forward(const struct taps *t, float *y, const float *x, const float *w, float *packed,
                  uint32_t some)
{
    memset(y, 0, some * shape_places(&t->out) * t->out.channels * sizeof *y);
    through(t, y, x, w, false, packed, some);
}

void taps_turn(const struct taps *t, float *turned, const float *w)
{
    const size_t each = (size_t)t->in.channels * t->out.channels;

    for (size_t at = 0; at < taps_of(t); at++)
        gemm_transpose(turned + at * each, w + at * each, t->in.channels, t->out.channels);
}

void taps_delta(const struct taps *t, float *dx, const float *dy, const float *turned,
                float *packed, uint32_t some)
{
    through(t, dx, dy, turned, true, packed, some);
}

void taps_gradients(const struct taps *t, float *dw, const float *x, const float *dy, float *packed,
                    uint32_t some, bool more)
{
    const uint32_t in = t->in.channels, out = t->out.channels;
    struct tap p;

    for (size_t at = 0; at < taps_of(t); at++) {
        float *own = dw + at * in * out;

        if (tap_at(&p, t, at)) {
            const struct grid gx = grid_of_x(t, &p), gy = grid_of_y(t, &p);
            const uint32_t m = packed_rows(&p, some);
            float *packed_dy = packed + (size_t)m * in;

            pack(packed, x, &gx, some);
            pack(packed_dy, dy, &gy, some);
            gemm_tn_part(own, out, packed, in, packed_dy, out, in, out, m, more);
        } else if (!more) {
            memset(own, 0, (size_t)in * out * sizeof *own);
        }
    }
}
