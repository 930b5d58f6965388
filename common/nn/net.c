/* net.c -- the layers of a net: memory, initial weights, forward, backward, step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/net.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/nn/backward.h"
#include "common/nn/gemm.h"
#include "common/nn/layer.h"
#include "common/nn/module.h"
#include "common/nn/optim.h"
#include "common/nn/outside.h"
#include "common/nn/sound.h"
#include "common/nn/unit_dropout.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Of a value that no layer takes nothing would come back. */
static uint32_t takers(const struct nn_spec *s, size_t value)
{
    uint32_t n = 0;

    for (size_t i = 0; i < s->layers; i++) {
        n += layer_takes(s, i) == value;
        n += s->layer[i].beside > 0 && i - s->layer[i].beside == value;
    }
    return n;
}

bool nn_spec_fits(const struct nn_spec *s)
{
    for (size_t i = 0; i < s->layers; i++)
        if (s->layer[i].back > i || s->layer[i].beside > i ||
            (s->layer[i].beside > 0) != layer_kind_of(s, i)->joins ||
            !layer_kind_of(s, i)->fits(s, i))
            return false;
    for (size_t value = 0; value < s->layers; value++)
        if (takers(s, value) == 0)
            return false;
    return true;
}

static void check_spec(const struct nn_spec *s)
{
    CHECK(s->layers <= NN_LAYERS_MAX);
    CHECK(s->rows_max >= 1 && s->rows_max <= INT_MAX);
    for (size_t i = 0; i <= s->layers; i++)
        CHECK(s->width[i] >= 1 && s->width[i] <= INT_MAX);
    /* The backward pass divides by the scale and reads relu's side from the sign of y. */
    CHECK(isfinite(s->out_scale) && s->out_scale > 0.0F);
    CHECK(s->table.rows == 0 || s->table.width >= 1);
    CHECK(s->dropout >= 0.0F && s->dropout < 1.0F);
    CHECK((s->embedded.n > 0) == (s->layers > 0 && s->layer[0].kind == NN_EMBEDDING));
    CHECK(nn_spec_fits(s));
}

static size_t states(enum nn_optimizer o)
{
    return o == NN_SGD ? 0 : o == NN_MOMENTUM ? 1 : 2;
}

static struct layer_sizes sizes_of(const struct nn_spec *s, size_t i)
{
    return layer_kind_of(s, i)->sizes(s, i);
}

/* w then b, as floats.  One run, so that the optimiser takes both in one loop. */
size_t nn_spec_layer_params(const struct nn_spec *s, size_t i)
{
    struct layer_sizes sizes;

    if (i == s->layers)
        return (size_t)s->table.rows * s->table.width;
    sizes = sizes_of(s, i);
    return (size_t)sizes.in * sizes.out + sizes.biases + sizes.running;
}

size_t nn_layer_params(const struct nn_layer *l)
{
    return l->params;
}

size_t nn_spec_blocks(const struct nn_spec *spec)
{
    return spec->layers + (spec->table.rows > 0);
}

struct nn_layer *nn_net_table(struct nn_net *n)
{
    return n->spec.table.rows > 0 ? &n->layer[n->spec.layers] : NULL;
}

size_t nn_spec_params(const struct nn_spec *spec)
{
    size_t total = 0;

    for (size_t i = 0; i < nn_spec_blocks(spec); i++)
        total += nn_spec_layer_params(spec, i);
    return total;
}

/* What the layers share: the most that one needs. */
static size_t scratch(const struct nn_spec *s)
{
    size_t most = 0;

    for (size_t i = 0; i < s->layers; i++) {
        const size_t one = sizes_of(s, i).scratch;

        most = one > most ? one : most;
    }
    return most;
}

/* The widest value that goes more than one way. */
static size_t aside(const struct nn_spec *s)
{
    size_t most = 0;

    for (size_t value = 0; value < s->layers; value++)
        if (takers(s, value) > 1 && s->width[value] > most)
            most = s->width[value];
    return most;
}

/* Hidden layers of units do. */
static bool drops(const struct nn_spec *s, size_t i)
{
    return s->dropout > 0.0F && i + 1 < s->layers && layer_kind_of(s, i)->drops;
}

/* total + `times` aligned blocks of n floats, or SIZE_MAX when that does not fit. */
static size_t add_blocks(size_t total, size_t times, size_t n)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, sizeof(float), &bytes) || bytes > SIZE_MAX - MEM_ALIGNMENT)
        return SIZE_MAX;
    bytes = (bytes + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);
    if (__builtin_mul_overflow(bytes, times, &bytes) ||
        __builtin_add_overflow(total, bytes, &total))
        return SIZE_MAX;
    return total;
}

size_t nn_net_bytes(const struct nn_spec *spec)
{
    size_t total = MEM_ALIGNMENT; /* the arena may stand at an odd place */

    check_spec(spec);
    total = add_blocks(total, 1, scratch(spec));
    total = add_blocks(total, 1, spec->rows_max * aside(spec));
    total = add_blocks(total, 2, spec->rows_max); /* which rows are sound */
    total = add_blocks(total, spec->embedded.n > 0, sizeof spec->embedded / sizeof(float));
    for (size_t i = 0; i < nn_spec_blocks(spec); i++)
        total = add_blocks(total, 2 + states(spec->optimizer), nn_spec_layer_params(spec, i));
    for (size_t i = 0; i < spec->layers; i++) {
        const struct layer_sizes sizes = sizes_of(spec, i);

        total =
            add_blocks(total, drops(spec, i) ? 4 : 2, (size_t)spec->rows_max * spec->width[i + 1]);
        if (sizes.keeps > 0)
            total = add_blocks(total, 1, spec->rows_max * sizes.keeps);
    }
    return total;
}

/* A zeroed block; the arena may have been reset and hold an older model. */
static float *cut(struct arena *a, size_t n)
{
    float *block = arena_alloc(a, n, sizeof(float));

    if (block != NULL)
        memset(block, 0, n * sizeof(float));
    return block;
}

static uint32_t *cut_rows(struct arena *a, uint32_t rows)
{
    _Static_assert(sizeof(uint32_t) == sizeof(float), "blocks are counted in floats");
    return arena_alloc(a, rows, sizeof(uint32_t));
}

/* Parameters of a block, their gradients and what the optimiser keeps of them. */
static enum status init_params(struct nn_layer *l, size_t n, enum nn_optimizer o, struct arena *a)
{
    const size_t kept = states(o);

    l->params = l->trained = n;
    l->w = cut(a, n);
    l->dw = cut(a, n);
    l->m1 = kept >= 1 ? cut(a, n) : NULL;
    l->m2 = kept >= 2 ? cut(a, n) : NULL;
    return l->w != NULL && l->dw != NULL && (kept < 1 || l->m1 != NULL) &&
                   (kept < 2 || l->m2 != NULL)
               ? STATUS_OK
               : STATUS_MEMORY;
}

static enum status init_table(struct nn_layer *l, const struct nn_spec *s, struct arena *a)
{
    l->in = s->table.rows;
    l->out = s->table.width;
    return init_params(l, nn_spec_layer_params(s, s->layers), s->optimizer, a);
}

static enum status init_layer(struct nn_layer *l, const struct nn_spec *s, size_t i,
                              struct arena *a)
{
    const struct layer_sizes sizes = sizes_of(s, i);
    const size_t weights = (size_t)sizes.in * sizes.out;
    const size_t batch = (size_t)s->rows_max * s->width[i + 1];

    l->kind = layer_kind_of(s, i);
    l->spec = s->layer[i];
    l->in = sizes.in;
    l->out = sizes.out;
    l->act = s->act[i];
    l->scale = i + 1 == s->layers ? s->out_scale : 1.0F;
    l->came = layer_in(s, i);
    l->outside = s->outside;
    l->width = s->width[i + 1];
    l->keeps = sizes.keeps;
    if (init_params(l, nn_spec_layer_params(s, i), s->optimizer, a) != STATUS_OK)
        return STATUS_MEMORY;
    l->trained -= sizes.running;
    l->y = cut(a, batch);
    l->dy = cut(a, batch);
    l->made = sizes.keeps > 0 ? cut(a, s->rows_max * sizes.keeps) : NULL;
    if (l->y == NULL || l->dy == NULL || (sizes.keeps > 0 && l->made == NULL))
        return STATUS_MEMORY;
    if (drops(s, i)) {
        l->mask = cut(a, batch);
        l->whole = cut(a, batch);
        if (l->mask == NULL || l->whole == NULL)
            return STATUS_MEMORY;
    }
    l->b = sizes.biases > 0 ? l->w + weights : NULL;
    l->db = sizes.biases > 0 ? l->dw + weights : NULL;
    return STATUS_OK;
}

/* A net may be moved, so that its layers do not point into it. */
static enum status init_embedded(struct nn_layer *l, const struct nn_spec *s, struct arena *a)
{
    struct nn_embedded *own = arena_alloc(a, 1, sizeof *own);

    if (own == NULL)
        return STATUS_MEMORY;
    *own = s->embedded;
    l->embedded = own;
    return STATUS_OK;
}

enum status nn_net_init(struct nn_net *n, const struct nn_spec *spec, struct arena *a)
{
    float *shared;

    check_spec(spec);
    memset(n, 0, sizeof *n);
    n->spec = *spec;
    shared = cut(a, scratch(spec));
    n->aside = cut(a, spec->rows_max * aside(spec));
    n->sound = cut_rows(a, spec->rows_max);
    n->sound_back = cut_rows(a, spec->rows_max);
    if (shared == NULL || n->aside == NULL || n->sound == NULL || n->sound_back == NULL)
        return STATUS_MEMORY;
    for (size_t i = 0; i < spec->layers; i++) {
        if (init_layer(&n->layer[i], spec, i, a) != STATUS_OK)
            return STATUS_MEMORY;
        n->layer[i].scratch = shared;
    }
    module_names(n);
    if (spec->embedded.n > 0 && init_embedded(&n->layer[0], spec, a) != STATUS_OK)
        return STATUS_MEMORY;
    return spec->table.rows > 0 ? init_table(nn_net_table(n), spec, a) : STATUS_OK;
}

static void draw_uniform(float *out, size_t n, double limit, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((2.0 * rng_uniform(r) - 1.0) * limit);
}

static void draw_normal(float *out, size_t n, double deviation, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(rng_normal(r) * deviation);
}

static void randomize_layer(struct nn_layer *l, double fan_out, enum nn_init init, struct rng *r)
{
    const size_t weights = (size_t)l->in * l->out;

    if (l->b != NULL)
        memset(l->b, 0, l->out * sizeof *l->b);
    switch (init) {
    case NN_INIT_GLOROT:
        draw_uniform(l->w, weights, sqrt(6.0 / ((double)l->in + fan_out)), r);
        return;
    case NN_INIT_HE: draw_normal(l->w, weights, sqrt(2.0 / (double)l->in), r); return;
    case NN_INIT_TORCH:
        draw_uniform(l->w, weights, 1.0 / sqrt((double)l->in), r);
        draw_uniform(l->b, l->b != NULL ? l->out : 0, 1.0 / sqrt((double)l->in), r);
        return;
    }
    CHECK(0 && "init");
}

static double fan_out(const struct nn_spec *s, size_t i)
{
    const struct layer_sizes sizes = sizes_of(s, i);

    return sizes.fan_out > 0 ? (double)sizes.fan_out : (double)sizes.out;
}

void nn_net_randomize(struct nn_net *n, enum nn_init init, struct rng *r)
{
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        struct nn_layer *l = &n->layer[i];

        if (i < n->spec.layers && l->kind->draw != NULL)
            l->kind->draw(l, init, r);
        else if (i < n->spec.layers)
            randomize_layer(l, fan_out(&n->spec, i), init, r);
        else
            memset(l->w, 0, nn_layer_params(l) * sizeof *l->w);
        if (l->m1 != NULL)
            memset(l->m1, 0, nn_layer_params(l) * sizeof *l->m1);
        if (l->m2 != NULL)
            memset(l->m2, 0, nn_layer_params(l) * sizeof *l->m2);
    }
    n->steps = 0;
}

/* Rows that are not finite: zeros in all that a backward pass will multiply by. */
static void clear_broken(struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];

        if (l->made != NULL)
            sound_look(n->sound, l->made, n->rows, l->keeps);
        sound_look(n->sound, l->y, n->rows, l->width);
    }
    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];

        if (l->made != NULL)
            sound_keep(l->made, n->sound, n->rows, l->keeps);
        sound_keep(l->y, n->sound, n->rows, l->width);
    }
}

void nn_net_draw_masks(struct nn_net *n, uint32_t rows, struct rng *r)
{
    CHECK(rows <= n->spec.rows_max);
    for (size_t i = 0; i < n->spec.layers; i++)
        if (drops(&n->spec, i))
            unit_dropout_draw(n->layer[i].mask, (size_t)rows * n->spec.width[i + 1],
                              n->spec.dropout, r);
}

static void put_mask_on(struct nn_layer *l, size_t values)
{
    memcpy(l->whole, l->y, values * sizeof *l->y);
    unit_dropout_apply(l->y, l->mask, values);
}

/* What went into the net, or came out of a layer. */
static const float *value(const struct nn_net *n, size_t at)
{
    return at > 0 ? n->layer[at - 1].y : n->x;
}

static const float *forward(struct nn_net *n, const float *x, uint32_t rows, bool training)
{
    CHECK(rows >= 1 && rows <= n->spec.rows_max);
    n->x = x;
    n->rows = rows;
    sound_begin(n->sound, rows);
    for (size_t i = 0; i < n->spec.layers; i++) {
        struct nn_layer *l = &n->layer[i];

        l->training = training;
        if (l->kind->joins)
            l->beside = value(n, i - l->spec.beside);
        l->kind->forward(l, value(n, layer_takes(&n->spec, i)), rows);
        if (training && l->mask != NULL)
            put_mask_on(l, (size_t)rows * n->spec.width[i + 1]);
    }
    clear_broken(n);
    return value(n, n->spec.layers);
}

const float *nn_net_forward(struct nn_net *n, const float *x, uint32_t rows)
{
    return forward(n, x, rows, false);
}

const float *nn_net_forward_masked(struct nn_net *n, const float *x, uint32_t rows)
{
    return forward(n, x, rows, true);
}

uint32_t nn_spec_rows(const struct nn_spec *spec, uint32_t most)
{
    enum { IMAGES = 64 };

    if (spec->layers > 0 && spec->layer[0].kind == NN_OUTSIDE)
        return outside_rows(spec->width[0], most);
    for (size_t i = 0; i < spec->layers; i++)
        if (spec->layer[i].shape.channels > 0)
            return most < IMAGES ? most : IMAGES;
    return most;
}

uint32_t nn_net_forward_all(struct nn_net *n, float *out, const float *x, uint32_t rows)
{
    const size_t in = n->spec.width[0], width = n->spec.width[n->spec.layers];
    uint32_t lost = 0;

    for (uint32_t r = 0; r < rows;) {
        const uint32_t left = rows - r;
        const uint32_t some = left < n->spec.rows_max ? left : n->spec.rows_max;

        memcpy(out + r * width, nn_net_forward(n, x + r * in, some), some * width * sizeof *out);
        lost += nn_net_lost_forward(n);
        r += some;
    }
    return lost;
}

void nn_net_backward(struct nn_net *n, float *dx, const float *dy)
{
    backward_deltas(n, dx, dy);
    backward_gradients(n);
}

uint32_t nn_net_lost_forward(const struct nn_net *n)
{
    return sound_lost(n->sound, n->rows);
}

uint32_t nn_net_lost_backward(const struct nn_net *n)
{
    return sound_lost(n->sound_back, n->rows);
}

static void weigh_down(const struct nn_net *n, struct nn_layer *l, float learning_rate)
{
    if (n->spec.optimizer == NN_ADAMW)
        optim_decay(l->w, l->trained, learning_rate, n->spec.weight_decay);
    else
        optim_ridge(l->dw, l->w, l->trained, n->spec.weight_decay);
}

void nn_net_step(struct nn_net *n, float learning_rate)
{
    n->steps++;
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        struct nn_layer *l = &n->layer[i];
        const size_t count = l->trained;

        if (n->spec.weight_decay > 0.0F)
            weigh_down(n, l, learning_rate);
        switch (n->spec.optimizer) {
        case NN_SGD: optim_sgd(l->w, l->dw, count, learning_rate); break;
        case NN_MOMENTUM: optim_momentum(l->w, l->m1, l->dw, count, learning_rate); break;
        case NN_ADAM:
        case NN_ADAMW: optim_adam(l->w, l->m1, l->m2, l->dw, count, learning_rate, n->steps); break;
        }
        if (l->kind != NULL && l->kind->settle != NULL)
            l->kind->settle(l, n->rows, learning_rate);
    }
}

void nn_net_limit(struct nn_net *n)
{
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++)
        optim_limit(n->layer[i].w, nn_layer_params(&n->layer[i]));
}

void nn_net_fetch(const struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].kind->fetch != NULL)
            n->layer[i].kind->fetch(&n->layer[i]);
}

void nn_net_give(const struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++)
        if (n->layer[i].kind->give != NULL)
            n->layer[i].kind->give(&n->layer[i]);
}

void nn_net_copy_params(const struct nn_net *n, float *out)
{
    nn_net_fetch(n);
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        const size_t count = nn_layer_params(&n->layer[i]);

        memcpy(out, n->layer[i].w, count * sizeof *out);
        out += count;
    }
}

void nn_net_set_params(struct nn_net *n, const float *from)
{
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        const size_t count = nn_layer_params(&n->layer[i]);

        memcpy(n->layer[i].w, from, count * sizeof *from);
        from += count;
    }
    nn_net_give(n);
}

void nn_net_pull(struct nn_net *n, const float *anchor, float mu)
{
    for (size_t i = 0; i < nn_spec_blocks(&n->spec) && mu != 0.0F; i++) {
        struct nn_layer *l = &n->layer[i];
        const size_t count = nn_layer_params(l);

        optim_pull(l->dw, l->w, anchor, l->trained, mu);
        anchor += count;
    }
}

double nn_net_flops(const struct nn_spec *spec, uint32_t rows)
{
    double flops = 0.0;

    /* A multiplication and an addition per weight and place of a row: once forward, twice backward
     * (dw, and dx where there is one); and what layers do beside their products. */
    for (size_t i = 0; i < spec->layers; i++) {
        const struct layer_sizes sizes = sizes_of(spec, i);

        flops += (layer_kind_of(spec, i)->no_dx ? 4.0 : 6.0) * (double)sizes.in * sizes.out *
                     (double)(sizes.places > 0 ? sizes.places : 1) * rows +
                 sizes.work * rows;
    }
    return flops;
}

int nn_blas_environment(void)
{
    return gemm_environment();
}
