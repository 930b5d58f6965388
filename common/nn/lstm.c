/* lstm.c -- the inputs of all steps in one product for each row, then step by step for all rows.
 *
 * What is kept of a row: the four gates of each step, side by side, which the way back turns into
 * their gradients; then each step's c; then each step's h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/lstm.h"

#include "common/nn/act.h"
#include "common/nn/clones.h"
#include "common/nn/gemm.h"
#include "common/nn/window.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { GATES = 4, UNITS_MAX = 1 << 14 };

/* Sizes, and where a row's parts are. */
struct memory {
    uint32_t steps, channels, units;
    size_t row, c, h; /* floats of a row; to its c and h */
};

static struct memory memory_of(const struct nn_layer_spec *of)
{
    const size_t values = (size_t)of->shape.width * of->units;

    return (struct memory){
        .steps = of->shape.width,
        .channels = of->shape.channels,
        .units = of->units,
        .row = (GATES + 2) * values,
        .c = GATES * values,
        .h = (GATES + 1) * values,
    };
}

static bool fits(const struct nn_spec *s, size_t i)
{
    const struct nn_layer_spec *of = &s->layer[i];
    const uint32_t out = s->width[i + 1];

    return s->act[i] == NN_ACT_NONE && of->shape.height == 1 && s->width[i] >= 1 &&
           shape_values(&of->shape) == s->width[i] && of->units >= 1 && of->units <= UNITS_MAX &&
           memory_of(of).row <= INT_MAX &&
           (out == of->units || out == (uint64_t)of->units * of->shape.width);
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    const struct memory m = memory_of(&s->layer[i]);
    const uint32_t in = m.channels + m.units, out = GATES * m.units;

    return (struct layer_sizes){
        .in = in,
        .out = out,
        .places = m.steps,
        .biases = 2 * (size_t)out,
        .keeps = m.row,
        /* Both weights transposed; of each row what comes back to h and c. */
        .scratch = (size_t)in * out + 2 * (size_t)s->rows_max * m.units,
    };
}

/* As PyTorch's, whatever model.init: all within 1 / sqrt(units). */
static void draw(struct nn_layer *l, enum nn_init init, struct rng *r)
{
    const double limit = 1.0 / sqrt((double)l->spec.units);

    (void)init;
    for (size_t i = 0; i < l->params; i++)
        l->w[i] = (float)((2.0 * rng_uniform(r) - 1.0) * limit);
}

static const float *recurrent(const struct nn_layer *l)
{
    return l->w + (size_t)l->spec.shape.channels * l->out;
}

/* One row at one step; c and h of the step before, or NULL. */
static void step_row(float *gate, float *c, float *h, const float *before, const float *bias,
                     size_t units)
{
    const float *more = bias + GATES * units;

    for (size_t k = 0; k < GATES * units; k++) {
        const float z = gate[k] + bias[k] + more[k];

        gate[k] = k / units == 2 ? act_tanh(z) : act_sigmoid(z);
    }
    for (size_t k = 0; k < units; k++) {
        const float kept = before != NULL ? gate[units + k] * before[k] : 0.0F;

        c[k] = kept + gate[k] * gate[2 * units + k];
        h[k] = gate[3 * units + k] * act_tanh(c[k]);
    }
}

static void show(struct nn_layer *l, const struct memory *m, uint32_t rows)
{
    const size_t skip = l->width == m->units ? (size_t)(m->steps - 1) * m->units : 0;

    for (size_t r = 0; r < rows; r++) {
        memcpy(l->y + r * l->width, l->made + r * m->row + m->h + skip, l->width * sizeof *l->y);
        for (size_t k = 0; k < l->width && l->scale != 1.0F; k++)
            l->y[r * l->width + k] *= l->scale;
    }
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec);
    const size_t series = (size_t)m.steps * m.channels;
    const uint32_t stride = (uint32_t)m.row;

    l->x = x;
    for (size_t r = 0; r < rows; r++)
        gemm_nn_part(l->made + r * m.row, l->out, x + r * series, m.channels, l->w, l->out, m.steps,
                     l->out, m.channels, 0);
    for (size_t t = 0; t < m.steps; t++) {
        if (t > 0)
            gemm_nn_part(l->made + t * l->out, stride, l->made + m.h + (t - 1) * m.units, stride,
                         recurrent(l), l->out, rows, l->out, m.units, 1);
        for (size_t r = 0; r < rows; r++) {
            float *of = l->made + r * m.row, *c = of + m.c + t * m.units;

            step_row(of + t * l->out, c, of + m.h + t * m.units, t > 0 ? c - m.units : NULL, l->b,
                     m.units);
        }
    }
    show(l, &m, rows);
}

/* dh is there, and dc of the step after; gates become their gradients, dc that of the step before.
 */
static void back_row(float *gate, float *dc, const float *dh, const float *c, const float *before,
                     size_t units)
{
    for (size_t k = 0; k < units; k++) {
        const float i = gate[k], f = gate[units + k], g = gate[2 * units + k];
        const float o = gate[3 * units + k], most = act_tanh(c[k]);
        const float d = dc[k] + dh[k] * o * (1.0F - most * most);

        gate[k] = d * g * i * (1.0F - i);
        gate[units + k] = before != NULL ? d * before[k] * f * (1.0F - f) : 0.0F;
        gate[2 * units + k] = d * i * (1.0F - g * g);
        gate[3 * units + k] = dh[k] * most * o * (1.0F - o);
        dc[k] = d * f;
    }
}

/* What comes to h of step t from y, added. */
static void add_given(const struct nn_layer *l, const struct memory *m, float *dh, size_t t,
                      uint32_t rows)
{
    const bool whole = l->width != m->units || m->steps == 1;

    for (size_t r = 0; r < rows && (whole || t + 1 == m->steps); r++) {
        const float *dy = l->dy + r * l->width + (whole ? t * m->units : 0);

        for (size_t k = 0; k < m->units; k++)
            dh[r * m->units + k] += dy[k];
    }
}

static void back_in_time(struct nn_layer *l, const struct memory *m, uint32_t rows)
{
    float *turned = l->scratch + (size_t)l->out * m->channels;
    float *dh = l->scratch + (size_t)l->in * l->out, *dc = dh + (size_t)rows * m->units;

    gemm_transpose(turned, recurrent(l), m->units, l->out);
    memset(dh, 0, 2 * (size_t)rows * m->units * sizeof *dh);
    for (size_t t = m->steps; t-- > 0;) {
        if (t + 1 < m->steps)
            gemm_nn_part(dh, m->units, l->made + (t + 1) * l->out, (uint32_t)m->row, turned,
                         m->units, rows, m->units, l->out, 0);
        add_given(l, m, dh, t, rows);
        for (size_t r = 0; r < rows; r++) {
            float *of = l->made + r * m->row;
            const float *c = of + m->c + t * m->units;

            back_row(of + t * l->out, dc + r * m->units, dh + r * m->units, c,
                     t > 0 ? c - m->units : NULL, m->units);
        }
    }
}

static void delta(struct nn_layer *l, bool masked, float *dx, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec);
    const size_t series = (size_t)m.steps * m.channels;

    (void)masked;
    for (size_t k = 0; k < rows * l->width && l->scale != 1.0F; k++)
        l->dy[k] *= l->scale;
    back_in_time(l, &m, rows);
    if (dx == NULL)
        return;
    gemm_transpose(l->scratch, l->w, m.channels, l->out);
    for (size_t r = 0; r < rows; r++)
        gemm_nn_part(dx + r * series, m.channels, l->made + r * m.row, l->out, l->scratch,
                     m.channels, m.steps, m.channels, l->out, 0);
}

CLONES static void add_steps(float *restrict sum, const float *restrict gates, size_t steps,
                             size_t n)
{
    for (size_t t = 0; t < steps; t++, gates += n)
        for (size_t k = 0; k < n; k++)
            sum[k] += gates[k];
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec);
    const size_t series = (size_t)m.steps * m.channels;
    float *du = l->dw + (size_t)m.channels * l->out;

    memset(l->dw, 0, l->params * sizeof *l->dw);
    for (size_t r = 0; r < rows; r++) {
        const float *gates = l->made + r * m.row;

        gemm_tn_part(l->dw, l->out, l->x + r * series, m.channels, gates, l->out, m.channels,
                     l->out, m.steps, 1);
        if (m.steps > 1)
            gemm_tn_part(du, l->out, gates + m.h, m.units, gates + l->out, l->out, m.units, l->out,
                         m.steps - 1, 1);
        add_steps(l->db, gates, m.steps, l->out);
    }
    memcpy(l->db + l->out, l->db, l->out * sizeof *l->db);
}

static size_t tensors(const struct nn_layer *l)
{
    (void)l;
    return 4;
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    static const char *const names[] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
    const uint32_t in = index == 0 ? l->spec.shape.channels : l->spec.units;
    struct layer_tensor t = {.values = index == 0 ? l->w : l->w + (l->in - in) * (size_t)l->out,
                             .count = (size_t)in * l->out,
                             .rank = 2,
                             .shape = {in, l->out},
                             .torch_axis = {1, 0}};

    if (index >= 2)
        t = (struct layer_tensor){
            .values = l->b + (index - 2) * l->out, .count = l->out, .rank = 1, .shape = {l->out}};
    return layer_named(t, i, l->module, names[index]);
}

const struct layer_kind LSTM_LAYER = {
    .name = "lstm",
    .fits = fits,
    .sizes = sizes,
    .draw = draw,
    .forward = forward,
    .delta = delta,
    .back_in_made = true,
    .gradients = gradients,
    .tensors = tensors,
    .tensor = tensor,
};
