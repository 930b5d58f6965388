/* dense.c -- two products and one fused pass in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dense.h"

#include "common/nn/act.h"
#include "common/nn/gemm.h"

#include <string.h>

void dense_forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    gemm_nn(l->y, x, l->w, rows, l->out, l->in);
    act_forward(l->y, l->b, l->act, l->scale, rows, l->out);
}

void dense_delta(struct nn_layer *l, float *dx, float *wt, uint32_t rows)
{
    act_backward(l->dy, l->db, l->y, l->act, l->scale, rows, l->out);
    if (dx == NULL)
        return;
    /* OpenBLAS's kernel for a transposed right side takes twice the time of the plain one at these
     * sizes; turning W first costs a tenth of it (tests/bench/bench_nn.c). */
    gemm_transpose(wt, l->w, l->in, l->out);
    gemm_nn(dx, l->dy, wt, rows, l->in, l->out);
}

void dense_backward(struct nn_layer *l, float *dx, float *wt, const float *x, uint32_t rows)
{
    dense_delta(l, dx, wt, rows);
    gemm_tn(l->dw, x, l->dy, l->in, l->out, rows);
}

void dense_gradients(struct nn_layer *l, const float *x, uint32_t rows)
{
    memset(l->db, 0, l->out * sizeof *l->db);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < l->out; i++)
            l->db[i] += l->dy[r * l->out + i];
    }
    gemm_tn(l->dw, x, l->dy, l->in, l->out, rows);
}
