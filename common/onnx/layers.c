/* layers.c -- what each kind of layer is in operators.
 *
 * Between layers there are rows x values, as in a net, images and series with their channels last.
 * ONNX wants them first: a layer that looks at them turns its own rows round and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/onnx/layers.h"

#include "common/base/mem.h"
#include "common/nn/embedding.h"
#include "common/nn/layer.h"
#include "common/nn/norm.h"
#include "common/nn/window.h"

#include <math.h>
#include <string.h>

static const char *named(struct draft *d, size_t i, const char *what)
{
    return draft_name(d, "layer.%zu.%s", i, what);
}

#define COUNT(of) (sizeof(of) / sizeof *(of))
#define SHAPE(...) (const int64_t[]){__VA_ARGS__}, COUNT(((const int64_t[]){__VA_ARGS__}))

/* A 0 stands for as many as there are, -1 for the rest. */
static void reshape(struct draft *d, size_t i, const char *what, const int64_t *shape, size_t n)
{
    const char *places = draft_places(d, draft_name(d, "layer.%zu.%s.shape", i, what), shape, n);

    draft_two(d, "Reshape", named(d, i, what), d->at, places);
}

static void transpose(struct draft *d, size_t i, const char *what, const int64_t *order, size_t n)
{
    const char *x = d->at;

    draft_ints(d, draft_node(d, "Transpose", named(d, i, what), 1, &x), "perm", order, n);
}

static void flat(struct draft *d, size_t i)
{
    reshape(d, i, "row", SHAPE(0, -1));
}

/* To channels x height x width, and back. */
static void channels_first(struct draft *d, const struct nn_layer *l, size_t i)
{
    const struct nn_shape *s = &l->spec.shape;

    reshape(d, i, "image", SHAPE(0, s->height, s->width, s->channels));
    transpose(d, i, "planes", SHAPE(0, 3, 1, 2));
}

static void channels_last(struct draft *d, size_t i)
{
    transpose(d, i, "last", SHAPE(0, 2, 3, 1));
    flat(d, i);
}

/* --- of values --- */

static void add_dense(struct draft *d, const struct nn_layer *l, size_t i)
{
    const char *w = draft_tensor(d, draft_name(d, "layer.%zu.weight", i), l->w, l->in, l->out);
    const char *b = draft_tensor(d, draft_name(d, "layer.%zu.bias", i), l->b, 0, l->out);

    draft_node(d, "Gemm", draft_name(d, "layer.%zu.sum", i), 3, (const char *const[]){d->at, w, b});
}

/* sum_i x^i W^i of x cut off, x^i = x^(i-1) x (common/nn/polynomial.h). */
static void add_polynomial(struct draft *d, const struct nn_layer *l, size_t layer)
{
    const size_t in = l->in / l->spec.degree, out = l->out;
    const char *x, *power, *sum = NULL;

    (void)layer;
    if (l->spec.x_max > 0.0F)
        draft_clip(d, "x", l->spec.x_max);
    x = power = d->at;
    for (size_t i = 0; i < l->spec.degree; i++) {
        const char *w = draft_tensor(d, draft_name(d, "w%zu", i + 1), l->w + i * in * out, in, out);

        if (i > 0) {
            draft_two(d, "Mul", draft_name(d, "x%zu", i + 1), power, x);
            power = d->at;
        }
        draft_two(d, "MatMul", draft_name(d, "term.%zu", i + 1), power, w);
        if (sum != NULL)
            draft_two(d, "Add", draft_name(d, "sum.%zu", i + 1), sum, d->at);
        sum = d->at;
    }
}

/* The columns that pass, by one Gather; "" when there are none. */
static const char *add_passed(struct draft *d, const struct nn_embedded *e, size_t columns,
                              const char *x)
{
    int64_t *place = draft_take(d, columns, sizeof *place);
    size_t n = 0, k = 0;

    for (size_t c = 0; c < columns; c++) {
        if (k < e->n && e->of[k].column == c)
            k++;
        else
            place[n++] = (int64_t)c;
    }
    if (n == 0)
        return "";
    draft_gather(d, "passed", x, draft_places(d, "passed.columns", place, n), 1);
    return d->at;
}

/* A table behind a row of zeros, which is that of no level. */
static const char *add_table(struct draft *d, size_t k, const float *values, size_t levels,
                             size_t width)
{
    float *own = draft_take(d, (levels + 1) * width, sizeof *own);

    memcpy(own + width, values, levels * width * sizeof *own);
    return draft_tensor(d, draft_name(d, "table.%zu", k), own, levels + 1, width);
}

/* common/nn/embedding.h */
static void add_embedding(struct draft *d, const struct nn_layer *l, size_t layer)
{
    const struct nn_embedded *e = l->embedded;
    const size_t columns = l->width - embedding_width(e, e->n) + e->n;
    const char *x = d->at, *part[NN_EMBEDDED_MAX + 1];
    const float *values = l->w;
    size_t n = 0;

    (void)layer;
    part[0] = add_passed(d, e, columns, x);
    n += part[0][0] != 0;
    for (size_t k = 0; k < e->n; k++) {
        const int64_t column = e->of[k].column;
        const char *table = add_table(d, k, values, e->of[k].levels, e->of[k].width);

        draft_gather(d, draft_name(d, "number.%zu", k), x,
                     draft_places(d, draft_name(d, "column.%zu", k), &column, 0), 1);
        draft_int(
            d,
            draft_node(d, "Cast", draft_name(d, "level.%zu", k), 1, (const char *const[]){d->at}),
            "to", DRAFT_INT64);
        draft_gather(d, draft_name(d, "vector.%zu", k), table, d->at, 0);
        part[n++] = d->at;
        values += (size_t)e->of[k].levels * e->of[k].width;
    }
    draft_concat(d, "embedded", n, part);
}

/* --- of images --- */

static void look(struct draft *d, Onnx__NodeProto *node, const struct nn_window *w)
{
    draft_ints(d, node, "kernel_shape", SHAPE(w->size[0], w->size[1]));
    draft_ints(d, node, "strides", SHAPE(w->stride[0], w->stride[1]));
    draft_ints(d, node, "pads", SHAPE(w->padding[0], w->padding[1], w->padding[0], w->padding[1]));
}

/* [height][width][channels of a group][out], in the order of ONNX. */
static const char *add_kernel(struct draft *d, const struct nn_layer *l, size_t i)
{
    const uint32_t *size = l->spec.window.size;
    const size_t each = l->spec.shape.channels / l->spec.groups, at = (size_t)size[0] * size[1];
    float *own = draft_take(d, (size_t)l->in * l->out, sizeof *own);

    for (size_t p = 0; p < at; p++)
        for (size_t c = 0; c < each; c++)
            for (size_t o = 0; o < l->out; o++)
                own[(o * each + c) * at + p] = l->w[(p * each + c) * l->out + o];
    return draft_shaped(d, named(d, i, "weight"), own,
                        SHAPE(l->out, (int64_t)each, size[0], size[1]));
}

static void add_conv(struct draft *d, const struct nn_layer *l, size_t i)
{
    const char *in[3];
    Onnx__NodeProto *node;

    channels_first(d, l, i);
    in[0] = d->at;
    in[1] = add_kernel(d, l, i);
    if (l->b != NULL)
        in[2] = draft_tensor(d, named(d, i, "bias"), l->b, 0, l->out);
    node = draft_node(d, "Conv", named(d, i, "sum"), l->b != NULL ? 3 : 2, in);
    look(d, node, &l->spec.window);
    draft_int(d, node, "group", l->spec.groups);
    channels_last(d, i);
}

static void add_pool(struct draft *d, const struct nn_layer *l, size_t i)
{
    const bool most = l->spec.kind == NN_MAX_POOL;
    Onnx__NodeProto *node;
    const char *x;

    channels_first(d, l, i);
    x = d->at;
    node = draft_node(d, most ? "MaxPool" : "AveragePool", named(d, i, "pool"), 1, &x);
    look(d, node, &l->spec.window);
    if (!most)
        draft_int(d, node, "count_include_pad", 1);
    channels_last(d, i);
}

/* A factor and a summand of each channel, of rows whose channels are last. */
static void add_affine(struct draft *d, const struct nn_layer *l, size_t i, const float *factor,
                       const float *summand)
{
    reshape(d, i, "places", SHAPE(0, -1, l->out));
    draft_two(d, "Mul", named(d, i, "times"), d->at,
              draft_tensor(d, named(d, i, "weight"), factor, 0, l->out));
    draft_two(d, "Add", named(d, i, "plus"), d->at,
              draft_tensor(d, named(d, i, "bias"), summand, 0, l->out));
    flat(d, i);
}

/* Each group is one channel of an InstanceNormalization. */
static void add_group_norm(struct draft *d, const struct nn_layer *l, size_t i)
{
    const struct nn_shape *s = &l->spec.shape;
    const uint32_t groups = l->spec.groups;
    float *one = draft_take(d, 2 * (size_t)groups, sizeof *one);
    const char *in[3];

    for (uint32_t g = 0; g < groups; g++) {
        one[g] = 1.0F;
        one[groups + g] = 0.0F;
    }
    channels_first(d, l, i);
    reshape(d, i, "groups", SHAPE(0, groups, -1));
    in[0] = d->at;
    in[1] = draft_tensor(d, named(d, i, "ones"), one, 0, groups);
    in[2] = draft_tensor(d, named(d, i, "zeros"), one + groups, 0, groups);
    draft_float(d, draft_node(d, "InstanceNormalization", named(d, i, "normal"), 3, in), "epsilon",
                (float)NORM_EPSILON);
    reshape(d, i, "again", SHAPE(0, s->channels, s->height, s->width));
    transpose(d, i, "last", SHAPE(0, 2, 3, 1));
    add_affine(d, l, i, l->w, l->b);
}

/* By running moments, as in any evaluation. */
static void add_batch_norm(struct draft *d, const struct nn_layer *l, size_t i)
{
    const float *mean = l->w + l->trained, *variance = mean + l->out;
    float *factor = draft_take(d, 2 * (size_t)l->out, sizeof *factor);

    for (uint32_t c = 0; c < l->out; c++) {
        factor[c] = (float)((double)l->w[c] / sqrt((double)variance[c] + NORM_EPSILON));
        factor[l->out + c] = l->b[c] - mean[c] * factor[c];
    }
    add_affine(d, l, i, factor, factor + l->out);
}

static void add_turn(struct draft *d, const struct nn_layer *l, size_t i)
{
    const struct nn_shape *s = &l->spec.shape;
    const int64_t places = (int64_t)shape_places(s);

    if (l->spec.flattens)
        reshape(d, i, "image", SHAPE(0, places, s->channels));
    else
        reshape(d, i, "image", SHAPE(0, s->channels, places));
    transpose(d, i, "turned", SHAPE(0, 2, 1));
    flat(d, i);
}

/* An activation alone. */
static void add_nothing(struct draft *d, const struct nn_layer *l, size_t i)
{
    (void)d;
    (void)l;
    (void)i;
}

/* --- of series --- */

/* Ours number k of a memory's gates, each of `units` rows, in the order of ONNX. */
static const size_t lstm_order[] = {0, 3, 1, 2}, gru_order[] = {1, 0, 2};

/* The weights of what comes in, or of h: in x gates, turned to 1 x gates x in. */
static const char *add_gates(struct draft *d, const struct nn_layer *l, size_t i,
                             const size_t *order, bool of_h)
{
    const size_t units = l->spec.units, channels = l->spec.shape.channels;
    const size_t in = of_h ? units : channels;
    const float *w = of_h ? l->w + channels * l->out : l->w;
    float *own = draft_take(d, in * l->out, sizeof *own);

    for (size_t o = 0; o < l->out; o++)
        for (size_t c = 0; c < in; c++)
            own[o * in + c] = w[c * l->out + order[o / units] * units + o % units];
    return draft_shaped(d, named(d, i, of_h ? "weight_hh" : "weight_ih"), own,
                        SHAPE(1, l->out, (int64_t)in));
}

static void add_memory(struct draft *d, const struct nn_layer *l, size_t i)
{
    const bool gru = l->spec.kind == NN_GRU;
    const size_t *order = gru ? gru_order : lstm_order, units = l->spec.units;
    float *bias = draft_take(d, 2 * (size_t)l->out, sizeof *bias);
    const char *in[4];
    const int64_t last = (int64_t)l->spec.shape.width - 1;
    Onnx__NodeProto *node;

    for (size_t o = 0; o < 2 * (size_t)l->out; o++)
        bias[o] = l->b[o / l->out * l->out + order[o % l->out / units] * units + o % units];
    reshape(d, i, "series", SHAPE(0, l->spec.shape.width, l->spec.shape.channels));
    transpose(d, i, "steps", SHAPE(1, 0, 2));
    in[0] = d->at;
    in[1] = add_gates(d, l, i, order, false);
    in[2] = add_gates(d, l, i, order, true);
    in[3] = draft_shaped(d, named(d, i, "bias"), bias, SHAPE(1, 2 * (int64_t)l->out));
    node = draft_node(d, gru ? "GRU" : "LSTM", named(d, i, "memory"), 4, in);
    draft_int(d, node, "hidden_size", l->spec.units);
    if (gru)
        draft_int(d, node, "linear_before_reset", 1);
    /* steps x 1 x rows x units */
    if (l->width == units) {
        draft_gather(d, named(d, i, "end"), d->at,
                     draft_places(d, named(d, i, "end.place"), &last, 0), 0);
        transpose(d, i, "rows", SHAPE(1, 0, 2));
    } else {
        transpose(d, i, "rows", SHAPE(2, 0, 1, 3));
    }
    flat(d, i);
}

/* --- all of them --- */

static const struct {
    void (*add)(struct draft *, const struct nn_layer *, size_t);
    bool copies; /* its weights, in another order, at most as many values */
} kinds[NN_KINDS] = {
    [NN_DENSE] = {add_dense, false},
    [NN_POLYNOMIAL] = {add_polynomial, false},
    [NN_CONV] = {add_conv, true},
    [NN_MAX_POOL] = {add_pool, false},
    [NN_AVG_POOL] = {add_pool, false},
    [NN_GROUP_NORM] = {add_group_norm, true},
    [NN_ACTIVATION] = {add_nothing, false},
    [NN_TURN] = {add_turn, false},
    [NN_LSTM] = {add_memory, true},
    [NN_EMBEDDING] = {add_embedding, false},
    [NN_GRU] = {add_memory, true},
    [NN_ADD] = {add_nothing, false},
    [NN_BATCH_NORM] = {add_batch_norm, true},
};

static void add_activation(struct draft *d, enum nn_act act, size_t layer)
{
    static const char *const operators[] = {[NN_ACT_NONE] = NULL,
                                            [NN_ACT_RELU] = "Relu",
                                            [NN_ACT_TANH] = "Tanh",
                                            [NN_ACT_SIGMOID] = "Sigmoid"};

    if (operators[act] != NULL)
        draft_one(d, operators[act], named(d, layer, "activation"), d->at);
}

void layers_draw(struct draft *d, const struct nn_net *net)
{
    const char *value[NN_LAYERS_MAX + 1];

    value[0] = d->at;
    for (size_t i = 0; i < net->spec.layers; i++) {
        const struct nn_layer *l = &net->layer[i];

        d->at = value[layer_takes(&net->spec, i)];
        if (layer_kind_of(&net->spec, i)->joins)
            draft_two(d, "Add", named(d, i, "sum"), d->at, value[i - l->spec.beside]);
        kinds[l->spec.kind].add(d, l, i);
        add_activation(d, l->act, i);
        if (l->scale != 1.0F)
            draft_two(d, "Mul", named(d, i, "scaled"), d->at,
                      draft_number(d, named(d, i, "scale"), l->scale));
        value[i + 1] = d->at;
    }
}

size_t layers_bytes(const struct nn_spec *spec)
{
    const struct nn_embedded *e = &spec->embedded;
    /* Tables with a row more, and places of columns, twice. */
    size_t bytes = e->n == 0 ? 0 : 2 * ((size_t)spec->width[0] * sizeof(int64_t) + MEM_ALIGNMENT);

    for (size_t k = 0; k < e->n; k++)
        bytes += (e->of[k].levels + (size_t)1) * e->of[k].width * sizeof(float) + MEM_ALIGNMENT;
    for (size_t i = 0; i < spec->layers; i++)
        if (kinds[spec->layer[i].kind].copies)
            bytes += nn_spec_layer_params(spec, i) * sizeof(float) + 4 * MEM_ALIGNMENT;
    return bytes;
}
