/* dense.c -- two products and one pass in each direction.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/dense.h"

#include "common/nn/act.h"
#include "common/nn/gemm.h"
#include "common/nn/unit_dropout.h"

static bool fits(const struct nn_spec *s, size_t i)
{
    return layer_in(s, i) >= 1 && s->width[i + 1] >= 1;
}

static struct layer_sizes sizes(const struct nn_spec *s, size_t i)
{
    const uint32_t in = layer_in(s, i), out = s->width[i + 1];

    return (struct layer_sizes){
        .in = in, .out = out, .biases = out, .scratch = (size_t)in * out /* W transposed */
    };
}

static void forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    l->x = x;
    gemm_nn(l->y, x, l->w, rows, l->out, l->in);
    act_forward(l->y, l->b, l->act, l->scale, rows, l->out);
}

static void delta(struct nn_layer *l, float *dx, uint32_t rows)
{
    const bool dropped = l->training && l->mask != NULL;

    if (dropped)
        unit_dropout_apply(l->dy, l->mask, (size_t)rows * l->out);
    act_backward(l->dy, dropped ? l->whole : l->y, l->act, l->scale, rows, l->out);
    if (dx == NULL)
        return;
    /* OpenBLAS's kernel for a transposed right side takes twice the time of the plain one at these
     * sizes; turning W first costs a tenth of it (tests/bench/bench_nn.c). */
    gemm_transpose(l->scratch, l->w, l->in, l->out);
    gemm_nn(dx, l->dy, l->scratch, rows, l->in, l->out);
}

static void gradients(struct nn_layer *l, uint32_t rows)
{
    layer_add_rows(l->db, l->dy, rows, l->out);
    gemm_tn(l->dw, l->x, l->dy, l->in, l->out, rows);
}

/* No activation is an Identity. */
static size_t modules(const struct nn_layer *l)
{
    (void)l;
    return 2;
}

static size_t tensors(const struct nn_layer *l)
{
    (void)l;
    return 2;
}

static struct layer_tensor tensor(const struct nn_layer *l, size_t i, size_t index)
{
    const struct layer_tensor w = {.values = l->w,
                                   .count = (size_t)l->in * l->out,
                                   .rank = 2,
                                   .shape = {l->in, l->out},
                                   .torch_axis = {1, 0}};
    const struct layer_tensor b = {.values = l->b, .count = l->out, .rank = 1, .shape = {l->out}};

    return index == 0 ? layer_named(w, l, i, "weight") : layer_named(b, l, i, "bias");
}

const struct layer_kind DENSE_LAYER = {
    .name = "dense",
    .fits = fits,
    .sizes = sizes,
    .forward = forward,
    .delta = delta,
    .activates = true,
    .drops = true,
    .modules = modules,
    .gradients = gradients,
    .norm2 = layer_product_norm2,
    .tensors = tensors,
    .tensor = tensor,
};
