/* conv.c -- patches, products, and patches added up again.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/conv.h"

#include "common/nn/act.h"
#include "common/nn/gemm.h"
#include "common/nn/taps.h"
#include "common/nn/window.h"

#include <string.h>

/* At least so many places are multiplied at a time, if the batch has them; a patch has at most so
 * many values, and the patches of one row. */
enum { PLACES = 512, PATCH_MAX = 1 << 20, PATCHES_MAX = 1 << 28 };

/* The sizes of one, in values. */
struct geometry {
    struct nn_shape out;
    size_t places;            /* of a row of y */
    uint32_t patch;           /* of a place, all groups */
    uint32_t part, part_out;  /* of a group: of its patch, of its channels in y */
    uint32_t groups, rows_at; /* rows whose patches are made at a time */
    bool plain;               /* a patch is the place itself */
    bool by_taps;             /* there are no patches (taps.h) */
    struct taps taps;
};

static struct geometry geometry_of(const struct nn_layer_spec *of, uint32_t out_values)
{
    const struct nn_window *w = &of->window;
    struct geometry g = {.groups = of->groups};

    (void)window_out(&g.out, &of->shape, w);
    g.places = shape_places(&g.out);
    g.out.channels = (uint32_t)(out_values / g.places);
    g.patch = w->size[0] * w->size[1] * of->shape.channels;
    g.part = g.patch / g.groups;
    g.part_out = g.out.channels / g.groups;
    g.rows_at = g.places < PLACES ? (uint32_t)(PLACES / g.places) : 1;
    g.plain = g.places == shape_places(&of->shape) && w->size[0] == 1 && w->size[1] == 1;
    g.taps = (struct taps){of->shape, g.out, *w};
    g.by_taps = g.groups == 1 && taps_gain(&g.taps);
    return g;
}

/* Of so many rows, beside the transposed weights. */
static size_t patches_scratch(const struct geometry *g)
{
    return g->by_taps ? taps_scratch(&g->taps, g->rows_at) : g->rows_at * g->places * g->patch;
}

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_layer_spec *of = &s->layer[i];
    const uint32_t values = s->width[i + 1];
    struct nn_shape out;
    uint64_t patch, places;

    if (of->bare > 1 || of->groups < 1 || shape_values(&of->shape) != layer_in(s, i) ||
        layer_in(s, i) < 1 || !window_out(&out, &of->shape, &of->window) ||
        of->shape.channels % of->groups != 0)
        return false;
    places = shape_places(&out);
    patch = (uint64_t)of->window.size[0] * of->window.size[1] * of->shape.channels;
    return values >= 1 && values % places == 0 && values / places % of->groups == 0 &&
           values / places <= WINDOW_SIDE_MAX && patch <= PATCH_MAX &&
           patch * places <= PATCHES_MAX;
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    const struct geometry g = geometry_of(&s->layer[i], s->width[i + 1]);
    const struct nn_window *w = &s->layer[i].window;

    return (struct layer_sizes){
        .in = g.part,
        .out = g.out.channels,
        .places = g.places,
        .biases = s->layer[i].bare ? 0 : g.out.channels,
        .fan_out = (size_t)w->size[0] * w->size[1] * g.part_out,
        /* Patches, and W transposed. */
        .scratch = patches_scratch(&g) + (size_t)g.part * g.out.channels,
    };
}

/* Between patches and the image, either way. */
struct copy {
    float *patch;
    const float *from; /* image to patches */
    float *to;         /* or patches added to the image */
};

static inline void run(const struct copy *c, size_t patch, size_t image, size_t n)
{
    if (c->to == NULL) {
        for (size_t i = 0; i < n; i++)
            c->patch[patch + i] = c->from[image + i];
    } else {
        for (size_t i = 0; i < n; i++)
            c->to[image + i] += c->patch[patch + i];
    }
}

/* The patch of place (i, j) begins at `at`. */
static void one_patch(const struct copy *c, const struct nn_layer_spec *of,
                      const struct geometry *g, size_t at, uint32_t i, uint32_t j)
{
    const struct nn_window *w = &of->window;
    const size_t channels = of->shape.channels, each = channels / g->groups;
    uint32_t top, bottom, from_y, left, right, from_x;

    window_inside(&top, &bottom, &from_y, w, 0, i, of->shape.height);
    window_inside(&left, &right, &from_x, w, 1, j, of->shape.width);
    for (uint32_t a = top; a < bottom; a++) {
        const size_t image = ((size_t)(from_y + a - top) * of->shape.width + from_x) * channels;
        const size_t row = at + ((size_t)a * w->size[1] + left) * each;

        if (g->groups == 1) {
            run(c, row, image, (right - left) * channels);
            continue;
        }
        for (uint32_t b = 0; b < right - left; b++)
            for (uint32_t k = 0; k < g->groups; k++)
                run(c, row + k * (size_t)g->part + b * each, image + b * channels + k * each, each);
    }
}

static void patches(const struct copy *c, const struct nn_layer_spec *of, const struct geometry *g,
                    uint32_t rows)
{
    const size_t in = shape_values(&of->shape);
    size_t at = 0;

    for (uint32_t r = 0; r < rows; r++) {
        const struct copy one = {c->patch, c->from != NULL ? c->from + r * in : NULL,
                                 c->to != NULL ? c->to + r * in : NULL};

        for (uint32_t i = 0; i < g->out.height; i++)
            for (uint32_t j = 0; j < g->out.width; j++, at += g->patch)
                one_patch(&one, of, g, at, i, j);
    }
}

/* The patches of some rows: in scratch, or the rows themselves. */
static const float *patches_of(const struct nn_layer *l, const struct geometry *g, const float *x,
                               uint32_t rows)
{
    const struct copy c = {.patch = l->scratch, .from = x};

    if (g->plain && g->groups == 1)
        return x;
    memset(l->scratch, 0, rows * g->places * g->patch * sizeof *l->scratch);
    patches(&c, &l->spec, g, rows);
    return l->scratch;
}

static uint32_t some_of(const struct geometry *g, uint32_t left)
{
    return left < g->rows_at ? left : g->rows_at;
}

/* y, from the first of `some` rows on, of their x, without bias and activation. */
static void products(struct nn_layer *l, const struct geometry *g, float *y, const float *x,
                     uint32_t some)
{
    const uint32_t m = (uint32_t)(some * g->places);
    const float *patch;

    if (g->by_taps) {
        taps_forward(&g->taps, y, x, l->w, l->scratch, some);
        return;
    }
    patch = patches_of(l, g, x, some);
    for (uint32_t k = 0; k < g->groups; k++)
        gemm_nn_part(y + k * g->part_out, l->out, patch + (size_t)k * g->part, g->patch,
                     l->w + k * g->part_out, l->out, m, g->part_out, g->part, 0);
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct geometry g = geometry_of(&l->spec, (uint32_t)l->width);
    const size_t in = shape_values(&l->spec.shape);

    l->x = x;
    for (uint32_t r = 0; r < rows; r += some_of(&g, rows - r))
        products(l, &g, l->y + r * l->width, x + r * in, some_of(&g, rows - r));
    act_forward(l->y, l->b, l->act, l->scale, rows * g.places, l->out);
}

static void turn_weights(const struct nn_layer *l, const struct geometry *g, float *turned)
{
    if (g->by_taps) {
        taps_turn(&g->taps, turned, l->w);
        return;
    }
    for (uint32_t k = 0; k < g->groups; k++)
        gemm_transpose_part(turned + (size_t)k * g->part * g->part_out, l->w + k * g->part_out,
                            l->out, g->part, g->part_out);
}

/* dx += what `some` rows' dy gives. */
static void products_back(struct nn_layer *l, const struct geometry *g, float *dx, const float *dy,
                          const float *turned, uint32_t some)
{
    const struct copy c = {.patch = l->scratch, .to = dx};
    const uint32_t m = (uint32_t)(some * g->places);

    if (g->by_taps) {
        taps_delta(&g->taps, dx, dy, turned, l->scratch, some);
        return;
    }
    for (uint32_t k = 0; k < g->groups; k++)
        gemm_nn_part(l->scratch + (size_t)k * g->part, g->patch, dy + k * g->part_out, l->out,
                     turned + (size_t)k * g->part * g->part_out, g->part, m, g->part, g->part_out,
                     0);
    patches(&c, &l->spec, g, some);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const struct geometry g = geometry_of(&l->spec, (uint32_t)l->width);
    const size_t in = shape_values(&l->spec.shape);
    float *turned = l->scratch + patches_scratch(&g);

    act_backward(l->dy, l->y, l->act, l->scale, rows * g.places, l->out);
    if (dx == NULL)
        return;
    memset(dx, 0, rows * in * sizeof *dx);
    turn_weights(l, &g, turned);
    for (uint32_t r = 0; r < rows; r += some_of(&g, rows - r))
        products_back(l, &g, dx + r * in, l->dy + r * l->width, turned, some_of(&g, rows - r));
}

/* dw, or what is to be added to it, of `some` rows. */
static void gradients_of(struct nn_layer *l, const struct geometry *g, const float *x,
                         const float *dy, uint32_t some, bool more)
{
    const uint32_t m = (uint32_t)(some * g->places);
    const float *patch;

    if (g->by_taps) {
        taps_gradients(&g->taps, l->dw, x, dy, l->scratch, some, more);
        return;
    }
    patch = patches_of(l, g, x, some);
    for (uint32_t k = 0; k < g->groups; k++)
        gemm_tn_part(l->dw + k * g->part_out, l->out, patch + (size_t)k * g->part, g->patch,
                     dy + k * g->part_out, l->out, g->part, g->part_out, m, more);
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct geometry g = geometry_of(&l->spec, (uint32_t)l->width);
    const size_t in = shape_values(&l->spec.shape);

    if (l->db != NULL)
        layer_add_rows(l->db, l->dy, rows * g.places, l->out);
    for (uint32_t r = 0; r < rows; r += some_of(&g, rows - r))
        gradients_of(l, &g, l->x + r * in, l->dy + r * l->width, some_of(&g, rows - r), r > 0);
}

static size_t tensors(const struct nn_layer *l)
{
    return 1 + (size_t)(l->b != NULL);
}

static struct layer_tensor bias_of(const struct nn_layer *l)
{
    return (struct layer_tensor){.values = l->b, .count = l->out, .rank = 1, .shape = {l->out}};
}

/* PyTorch has [out][channels of a group][height][width], of a series without a height. */
static struct layer_tensor weight_of(const struct nn_layer *l)
{
    const uint32_t *size = l->spec.window.size, each = l->spec.shape.channels / l->spec.groups;
    const size_t count = (size_t)l->in * l->out;

    if (l->spec.shape.height == 1 && size[0] == 1)
        return (struct layer_tensor){.values = l->w,
                                     .count = count,
                                     .rank = 3,
                                     .shape = {size[1], each, l->out},
                                     .torch_axis = {2, 1, 0}};
    return (struct layer_tensor){.values = l->w,
                                 .count = count,
                                 .rank = 4,
                                 .shape = {size[0], size[1], each, l->out},
                                 .torch_axis = {3, 2, 0, 1}};
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    return index == 0 ? layer_named(weight_of(l), l, i, "weight")
                      : layer_named(bias_of(l), l, i, "bias");
}

const struct layer_kind CONV_LAYER = {
    .name = "conv",
    .fits = fits,
    .sizes = sizes,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .gradients = gradients,
    .tensors = tensors,
    .tensor = tensor,
};
