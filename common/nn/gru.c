/* gru.c -- as lstm.c; what h gives to n goes a way of its own, since r is multiplied by it.
 *
 * What is kept of a row (memory.h): r, z, n and h_{t-1} U_n + b'_n of each step, and its h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/gru.h"

#include "common/nn/act.h"
#include "common/nn/gemm.h"
#include "common/nn/memory.h"

#include <string.h>

enum { GATES = 3, KEPT = MEMORY_PARTS + 1 };

static bool fits(const struct nn_spec *s, size_t i)
{
    return memory_fits(s, i, KEPT);
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    return memory_sizes(s, i, KEPT, GATES);
}

/* One row at one step; h of the step before, or NULL. */
static void step_row(float *part, float *h, const float *before, const float *bias, size_t units)
{
    const float *more = bias + GATES * units;

    for (size_t k = 0; k < 2 * units; k++)
        part[k] = act_sigmoid(part[k] + bias[k] + more[k]);
    for (size_t k = 0; k < units; k++) {
        const float z = part[units + k];
        const float given = (before != NULL ? part[3 * units + k] : 0.0F) + more[2 * units + k];
        const float n = act_tanh(part[2 * units + k] + bias[2 * units + k] + part[k] * given);

        part[2 * units + k] = n;
        part[3 * units + k] = given;
        h[k] = (1.0F - z) * n + (before != NULL ? z * before[k] : 0.0F);
    }
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec, KEPT);
    const uint32_t stride = (uint32_t)m.row, units = m.units;
    const float *u = memory_recurrent(l);

    memory_take(l, &m, x, rows);
    for (size_t t = 0; t < m.steps; t++) {
        float *part = l->made + t * m.wide, *h = l->made + m.h + t * units;

        if (t > 0) {
            gemm_nn_part(part, stride, h - units, stride, u, l->out, rows, 2 * units, units, 1);
            gemm_nn_part(part + 3 * (size_t)units, stride, h - units, stride, u + 2 * (size_t)units,
                         l->out, rows, units, units, 0);
        }
        for (size_t r = 0; r < rows; r++, part += m.row, h += m.row)
            step_row(part, h, t > 0 ? h - units : NULL, l->b, units);
    }
    memory_show(l, &m, rows);
}

/* dh is there; parts become their gradients, and dh what goes past the gates to the step before. */
static void back_row(float *part, float *dh, const float *before, size_t units)
{
    for (size_t k = 0; k < units; k++) {
        const float r = part[k], z = part[units + k], n = part[2 * units + k];
        const float into = dh[k] * (1.0F - z) * (1.0F - n * n);
        const float was = before != NULL ? before[k] : 0.0F;

        part[k] = into * part[3 * units + k] * r * (1.0F - r);
        part[units + k] = dh[k] * (was - n) * z * (1.0F - z);
        part[2 * units + k] = into;
        part[3 * units + k] = into * r;
        dh[k] *= z;
    }
}

static void back_in_time(struct nn_layer *l, const struct memory *m, uint32_t rows)
{
    const uint32_t stride = (uint32_t)m->row, units = m->units;
    float *turned = l->scratch + (size_t)l->out * m->channels;
    float *dh = l->scratch + (size_t)l->in * l->out;

    gemm_transpose(turned, memory_recurrent(l), units, l->out);
    memset(dh, 0, (size_t)rows * units * sizeof *dh);
    for (size_t t = m->steps; t-- > 0;) {
        float *part = l->made + t * m->wide;
        const float *h = l->made + m->h + t * units;

        memory_add_given(l, m, dh, t, rows);
        for (size_t r = 0; r < rows; r++)
            back_row(part + r * m->row, dh + r * units, t > 0 ? h + r * m->row - units : NULL,
                     units);
        gemm_nn_part(dh, units, part, stride, turned, units, rows, units, 2 * units, 1);
        gemm_nn_part(dh, units, part + 3 * (size_t)units, stride,
                     turned + 2 * (size_t)units * units, units, rows, units, units, 1);
    }
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec, KEPT);

    memory_scale_back(l, rows);
    back_in_time(l, &m, rows);
    if (dx != NULL)
        memory_give_back(l, &m, dx, rows);
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    const struct memory m = memory_of(&l->spec, KEPT);
    const size_t series = (size_t)m.steps * m.channels, units = m.units;
    const uint32_t wide = (uint32_t)m.wide;
    float *du = l->dw + m.channels * (size_t)l->out, *more = l->db + l->out;

    memset(l->dw, 0, l->params * sizeof *l->dw);
    for (size_t r = 0; r < rows; r++) {
        const float *part = l->made + r * m.row, *h = part + m.h, *next = part + m.wide;

        gemm_tn_part(l->dw, l->out, l->x + r * series, m.channels, part, wide, m.channels, l->out,
                     m.steps, 1);
        if (m.steps > 1) {
            gemm_tn_part(du, l->out, h, m.units, next, wide, m.units, 2 * m.units, m.steps - 1, 1);
            gemm_tn_part(du + 2 * units, l->out, h, m.units, next + 3 * units, wide, m.units,
                         m.units, m.steps - 1, 1);
        }
        memory_add_steps(l->db, part, m.steps, l->out, m.wide);
        memory_add_steps(more, part, m.steps, 2 * units, m.wide);
        memory_add_steps(more + 2 * units, part + 3 * units, m.steps, units, m.wide);
    }
}

const struct layer_kind GRU_LAYER = {
    .name = "gru",
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
