/* dense.c -- two products and one pass in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dense.h"

#include "common/nn/act.h"
#include "common/nn/clones.h"
#include "common/nn/gemm.h"
#include "common/nn/unit_dropout.h"

#include <string.h>

void dense_forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    gemm_nn(l->y, x, l->w, rows, l->out, l->in);
    act_forward(l->y, l->b, l->act, l->scale, rows, l->out);
}

void dense_delta(struct nn_layer *l, bool masked, float *dx, float *wt, uint32_t rows)
{
    const bool dropped = masked && l->mask != NULL;

    if (dropped)
        unit_dropout_apply(l->dy, l->mask, (size_t)rows * l->out);
    act_backward(l->dy, dropped ? l->whole : l->y, l->act, l->scale, rows, l->out);
    if (dx == NULL)
        return;
    /* OpenBLAS's kernel for a transposed right side takes twice the time of the plain one at these
     * sizes; turning W first costs a tenth of it (tests/bench/bench_nn.c). */
    gemm_transpose(wt, l->w, l->in, l->out);
    gemm_nn(dx, l->dy, wt, rows, l->in, l->out);
}

CLONES static void add_rows(float *restrict sum, const float *restrict x, size_t rows, size_t cols)
{
    memset(sum, 0, cols * sizeof *sum);
    for (size_t r = 0; r < rows; r++, x += cols)
        for (size_t c = 0; c < cols; c++)
            sum[c] += x[c];
}

void dense_gradients(struct nn_layer *l, const float *x, uint32_t rows)
{
    add_rows(l->db, l->dy, rows, l->out);
    gemm_tn(l->dw, x, l->dy, l->in, l->out, rows);
}
