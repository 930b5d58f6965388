/* lstm.c -- the inputs of all steps in one product for each row, then step by step for all rows.
 *
 * What is kept of a row (memory.h): the four gates of each step, its c, its h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/lstm.h"

#include "common/nn/act.h"
#include "common/nn/gemm.h"
#include "common/nn/memory.h"

#include <string.h>

enum { GATES = MEMORY_PARTS, KEPT = GATES + 2 };

static struct memory sizes_of(const struct nn_layer *l)
{
    return memory_of(&l->spec, KEPT);
}

/* To each step's c. */
static size_t cells(const struct memory *m)
{
    return m->h - (size_t)m->steps * m->units;
}

static bool fits(const struct nn_spec *s, size_t i)
{
    return memory_fits(s, i, KEPT);
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    return memory_sizes(s, i, KEPT, GATES);
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

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct memory m = sizes_of(l);
    const uint32_t stride = (uint32_t)m.row;

    memory_take(l, &m, x, rows);
    for (size_t t = 0; t < m.steps; t++) {
        if (t > 0)
            gemm_nn_part(l->made + t * m.wide, stride, l->made + m.h + (t - 1) * m.units, stride,
                         memory_recurrent(l), l->out, rows, l->out, m.units, 1);
        for (size_t r = 0; r < rows; r++) {
            float *of = l->made + r * m.row, *c = of + cells(&m) + t * m.units;

            step_row(of + t * m.wide, c, of + m.h + t * m.units, t > 0 ? c - m.units : NULL, l->b,
                     m.units);
        }
    }
    memory_show(l, &m, rows);
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

static void back_in_time(struct nn_layer *l, const struct memory *m, uint32_t rows)
{
    float *turned = l->scratch + (size_t)l->out * m->channels;
    float *dh = l->scratch + (size_t)l->in * l->out, *dc = dh + (size_t)rows * m->units;

    gemm_transpose(turned, memory_recurrent(l), m->units, l->out);
    memset(dh, 0, 2 * (size_t)rows * m->units * sizeof *dh);
    for (size_t t = m->steps; t-- > 0;) {
        if (t + 1 < m->steps)
            gemm_nn_part(dh, m->units, l->made + (t + 1) * m->wide, (uint32_t)m->row, turned,
                         m->units, rows, m->units, l->out, 0);
        memory_add_given(l, m, dh, t, rows);
        for (size_t r = 0; r < rows; r++) {
            float *of = l->made + r * m->row;
            const float *c = of + cells(m) + t * m->units;

            back_row(of + t * m->wide, dc + r * m->units, dh + r * m->units, c,
                     t > 0 ? c - m->units : NULL, m->units);
        }
    }
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const struct memory m = sizes_of(l);

    memory_scale_back(l, rows);
    back_in_time(l, &m, rows);
    if (dx != NULL)
        memory_give_back(l, &m, dx, rows);
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct memory m = sizes_of(l);
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
        memory_add_steps(l->db, gates, m.steps, l->out, m.wide);
    }
    memcpy(l->db + l->out, l->db, l->out * sizeof *l->db);
}

const struct layer_kind LSTM_LAYER = {
    .name = "lstm",
    .fits = fits,
    .sizes = sizes,
    .draw = memory_draw,
    .forward = forward,
    .delta = delta,
    .back_in_made = true,
    .gradients = gradients,
    .tensors = memory_tensors,
    .tensor = memory_tensor,
};
