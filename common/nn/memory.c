/* memory.c -- where a row's steps are, the products with what comes in, and names.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/memory.h"

#include "common/nn/clones.h"
#include "common/nn/gemm.h"
#include "common/nn/window.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { UNITS_MAX = 1 << 14 };

struct memory memory_of(const struct nn_layer_spec *of, size_t kept)
{
    const size_t values = (size_t)of->shape.width * of->units;

    return (struct memory){
        .steps = of->shape.width,
        .channels = of->shape.channels,
        .units = of->units,
        .wide = MEMORY_PARTS * (size_t)of->units,
        .row = kept * values,
        .h = (kept - 1) * values,
    };
}

bool memory_fits(const struct nn_spec *s, size_t i, size_t kept)
{
    const struct nn_layer_spec *of = &s->layer[i];
    const uint32_t out = s->width[i + 1];

    return s->act[i] == NN_ACT_NONE && of->shape.height == 1 && layer_in(s, i) >= 1 &&
           shape_values(&of->shape) == layer_in(s, i) && of->units >= 1 && of->units <= UNITS_MAX &&
           memory_of(of, kept).row <= INT_MAX &&
           (out == of->units || out == (uint64_t)of->units * of->shape.width);
}

struct layer_sizes memory_sizes(const struct nn_spec *s, size_t i, size_t kept, uint32_t gates)
{
    const struct memory m = memory_of(&s->layer[i], kept);
    const uint32_t in = m.channels + m.units, out = gates * m.units;

    return (struct layer_sizes){
        .in = in,
        .out = out,
        .places = m.steps,
        .biases = 2 * (size_t)out,
        .keeps = m.row,
        /* Both weights transposed; of each row what comes back from the step behind. */
        .scratch = (size_t)in * out + 2 * (size_t)s->rows_max * m.units,
    };
}

void memory_draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    const double limit = 1.0 / sqrt((double)l->spec.units);

    (void)init;
    for (size_t i = 0; i < l->params; i++)
        l->w[i] = (float)((2.0 * rng_uniform(r) - 1.0) * limit);
}

float *memory_recurrent(const struct nn_layer *l)
{
    return l->w + (size_t)l->spec.shape.channels * l->out;
}

void memory_take(struct nn_layer *l, const struct memory *m, const float *x, uint32_t rows)
{
    const size_t series = (size_t)m->steps * m->channels;

    l->x = x;
    for (size_t r = 0; r < rows; r++)
        gemm_nn_part(l->made + r * m->row, (uint32_t)m->wide, x + r * series, m->channels, l->w,
                     l->out, m->steps, l->out, m->channels, 0);
}

void memory_show(struct nn_layer *l, const struct memory *m, uint32_t rows)
{
    const size_t skip = l->width == m->units ? (size_t)(m->steps - 1) * m->units : 0;

    for (size_t r = 0; r < rows; r++) {
        memcpy(l->y + r * l->width, l->made + r * m->row + m->h + skip, l->width * sizeof *l->y);
        for (size_t k = 0; k < l->width && l->scale != 1.0F; k++)
            l->y[r * l->width + k] *= l->scale;
    }
}

void memory_scale_back(struct nn_layer *l, uint32_t rows)
{
    for (size_t k = 0; k < rows * l->width && l->scale != 1.0F; k++)
        l->dy[k] *= l->scale;
}

void memory_add_given(const struct nn_layer *l, const struct memory *m, float *dh, size_t t,
                      uint32_t rows)
{
    const bool whole = l->width != m->units || m->steps == 1;

    for (size_t r = 0; r < rows && (whole || t + 1 == m->steps); r++) {
        const float *dy = l->dy + r * l->width + (whole ? t * m->units : 0);

        for (size_t k = 0; k < m->units; k++)
            dh[r * m->units + k] += dy[k];
    }
}

void memory_give_back(struct nn_layer *l, const struct memory *m, float *dx, uint32_t rows)
{
    const size_t series = (size_t)m->steps * m->channels;

    gemm_transpose(l->scratch, l->w, m->channels, l->out);
    for (size_t r = 0; r < rows; r++)
        gemm_nn_part(dx + r * series, m->channels, l->made + r * m->row, (uint32_t)m->wide,
                     l->scratch, m->channels, m->steps, m->channels, l->out, 0);
}

CLONES void memory_add_steps(float *restrict sum, const float *restrict parts, size_t steps,
                             size_t n, size_t wide)
{
    for (size_t t = 0; t < steps; t++, parts += wide)
        for (size_t k = 0; k < n; k++)
            sum[k] += parts[k];
}

size_t memory_tensors(const struct nn_layer *l)
{
    (void)l;
    return 4;
}

struct layer_tensor memory_tensor(const struct nn_layer *l, size_t i, size_t index)
{
    static const char *const names[] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    const uint32_t in = index == 0 ? l->spec.shape.channels : l->spec.units;
    struct layer_tensor t = {.values = index == 0 ? l->w : memory_recurrent(l),
                             .count = (size_t)in * l->out,
                             .rank = 2,
                             .shape = {in, l->out},
                             .torch_axis = {1, 0}};

    if (index >= 2)
        t = (struct layer_tensor){
            .values = l->b + (index - 2) * l->out, .count = l->out, .rank = 1, .shape = {l->out}};
    return layer_named(t, l, i, names[index]);
}
