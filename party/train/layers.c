/* layers.c -- one item after another.
 *
 * As a file has it an image is [C, H, W]; layers take it with its channels last, so one of several
 * channels is turned before the first layer that looks at it, and `flatten` turns it back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/layers.h"

#include "common/nn/embedding.h"
#include "common/nn/layer.h"
#include "common/nn/window.h"

#include <stdio.h>
#include <string.h>

/* What the last layer gives. */
enum form { FLAT, PLANAR, IMAGE, SERIES };

struct stack {
    struct nn_spec *spec;
    const struct config_party *config;
    enum form form;
    struct nn_shape shape;
    struct error *err;
    char item[64]; /* model.layers: item 2, conv2d */
    size_t at;     /* the value that comes next: spec->layers, or where a shortcut begins */
    /* Between `residual` and `add`: what came to the block, and what its first way gives when the
     * second begins. */
    struct way {
        bool open;
        size_t at;
        enum form form;
        struct nn_shape shape;
    } block, first;
};

static void show(const struct stack *s, char *out, size_t size)
{
    const struct nn_shape *h = &s->shape;

    if (s->form == FLAT)
        snprintf(out, size, "%u values", s->spec->width[s->at]);
    else if (s->form == SERIES)
        snprintf(out, size, "[T, C] = [%u, %u]", h->width, h->channels);
    else
        snprintf(out, size, "[C, H, W] = [%u, %u, %u]", h->channels, h->height, h->width);
}

static enum status refuse(struct stack *s, const char *takes)
{
    char comes[64];

    show(s, comes, sizeof comes);
    return error_set(s->err, STATUS_CONFIG, "%s: it takes %s, and %s come to it", s->item, takes,
                     comes);
}

/* One layer more, whose values are `width` a row. */
static enum status push(struct stack *s, const struct nn_layer_spec *of, enum nn_act act,
                        uint32_t width)
{
    struct nn_spec *spec = s->spec;

    if (spec->layers == NN_LAYERS_MAX)
        return error_set(s->err, STATUS_CONFIG, "%s: more than %d layers", s->item, NN_LAYERS_MAX);
    spec->layer[spec->layers] = *of;
    spec->layer[spec->layers].back = (uint32_t)(spec->layers - s->at);
    spec->act[spec->layers] = act;
    spec->width[++spec->layers] = width;
    s->at = spec->layers;
    return STATUS_OK;
}

/* What was pushed last is none that can be. */
static enum status take_back(struct stack *s, const char *takes)
{
    s->spec->layers--;
    s->at = s->spec->layers - s->spec->layer[s->spec->layers].back;
    return refuse(s, takes);
}

static uint32_t width_of(const struct stack *s)
{
    return s->spec->width[s->at];
}

/* Channels last; one channel, or one place, lies so already. */
static enum status turn(struct stack *s, bool flattens)
{
    const struct nn_layer_spec of = {.kind = NN_TURN, .shape = s->shape, .flattens = flattens};

    return push(s, &of, NN_ACT_NONE, width_of(s));
}

static enum status look(struct stack *s)
{
    if (s->form == FLAT)
        return refuse(s, "an image or a series (data.shape)");
    if (s->form != PLANAR)
        return STATUS_OK;
    s->form = IMAGE;
    return s->shape.channels > 1 ? turn(s, false) : STATUS_OK;
}

static enum status units(struct stack *s, uint32_t out, enum nn_act act)
{
    const struct nn_layer_spec of = {.kind = NN_DENSE};

    /* Whatever lies as the file has it is as good as flat. */
    if (s->form == IMAGE || (s->form == SERIES && s->at > 0))
        return refuse(s, "values without an order (flatten)");
    s->form = FLAT;
    return push(s, &of, act, out);
}

static struct nn_window window_of(const struct stack *s, uint32_t size, uint32_t stride,
                                  uint32_t padding)
{
    const bool line = s->form == SERIES;

    return (struct nn_window){
        {line ? 1 : size, size}, {line ? 1 : stride, stride}, {line ? 0 : padding, padding}};
}

/* A layer that looks at windows: `channels` come out, 0: as many as come in. */
static enum status window(struct stack *s, struct nn_layer_spec *of, uint32_t channels)
{
    struct nn_shape out;
    char takes[96];
    uint32_t values = 0;

    of->shape = s->shape;
    if (window_out(&out, &s->shape, &of->window)) {
        out.channels = channels > 0 ? channels : out.channels;
        values = shape_values(&out);
    }
    if (values > 0 && push(s, of, NN_ACT_NONE, values) != STATUS_OK)
        return STATUS_CONFIG;
    if (values > 0 && layer_kind(of->kind)->fits(s->spec, s->spec->layers - 1)) {
        s->shape = out;
        return STATUS_OK;
    }
    snprintf(takes, sizeof takes, "what %u x %u fits in, padded by %u, of channels in %u groups",
             of->window.size[0], of->window.size[1], of->window.padding[1], of->groups);
    return values > 0 ? take_back(s, takes) : refuse(s, takes);
}

static enum status convolution(struct stack *s, const struct config_layer *item)
{
    const uint32_t *a = item->argument;
    const bool series = item->word == LAYERS_CONV1D;
    struct nn_layer_spec of = {
        .kind = NN_CONV, .groups = a[LAYERS_GROUPS], .bare = a[LAYERS_BIAS] == 0};
    enum status st = look(s);

    if (st != STATUS_OK)
        return st;
    if (series != (s->form == SERIES))
        return refuse(s, series ? "a series" : "an image");
    of.window = window_of(s, a[LAYERS_KERNEL], a[LAYERS_STRIDE], a[LAYERS_PADDING]);
    return window(s, &of, a[LAYERS_OUT]);
}

static enum status pool(struct stack *s, const struct config_layer *item)
{
    const uint32_t *a = item->argument;
    struct nn_layer_spec of = {.kind = item->word == LAYERS_MAXPOOL ? NN_MAX_POOL : NN_AVG_POOL,
                               .groups = 1};
    const enum status st = look(s);

    if (st != STATUS_OK)
        return st;
    of.window =
        item->word == LAYERS_GLOBALPOOL
            ? (struct nn_window){{s->shape.height, s->shape.width}, {1, 1}, {0, 0}}
            : window_of(s, a[LAYERS_POOL_SIZE], a[LAYERS_POOL_STRIDE], a[LAYERS_POOL_PADDING]);
    return window(s, &of, 0);
}

static enum status norm(struct stack *s, const struct config_layer *item)
{
    const bool batch = item->word == LAYERS_BATCHNORM;
    struct nn_layer_spec of = {.kind = batch ? NN_BATCH_NORM : NN_GROUP_NORM,
                               .groups = batch ? 1 : item->argument[0]};
    const enum status st = look(s);
    char takes[64];

    if (st != STATUS_OK)
        return st;
    of.shape = s->shape;
    if (s->shape.channels % of.groups == 0)
        return push(s, &of, NN_ACT_NONE, width_of(s));
    snprintf(takes, sizeof takes, "channels of which %u groups can be made", of.groups);
    return refuse(s, takes);
}

static enum status memory(struct stack *s, const struct config_layer *item)
{
    const uint32_t units = item->argument[0];
    const bool whole = item->argument[LAYERS_WHOLE] != 0;
    const enum nn_kind kind = item->word == LAYERS_GRU ? NN_GRU : NN_LSTM;
    const struct nn_layer_spec of = {.kind = kind, .shape = s->shape, .units = units};
    const uint64_t width = (uint64_t)units * (whole ? s->shape.width : 1);
    enum status st;

    if (s->form != SERIES)
        return refuse(s, "a series");
    st = push(s, &of, NN_ACT_NONE, width <= INT32_MAX ? (uint32_t)width : 0);
    if (st != STATUS_OK)
        return st;
    if (!layer_kind(kind)->fits(s->spec, s->spec->layers - 1))
        return take_back(s, "fewer steps, or has fewer units");
    s->shape.channels = units;
    s->form = whole ? SERIES : FLAT;
    return STATUS_OK;
}

static enum status flatten(struct stack *s)
{
    const bool last = s->form == IMAGE || (s->form == SERIES && s->at > 0);

    if (!last)
        s->shape = (struct nn_shape){1, 1, width_of(s)};
    s->form = FLAT;
    return turn(s, true);
}

/* In the pass of the layer before it, if that one can, and has none. */
static enum status activation(struct stack *s, enum nn_act act)
{
    const struct nn_layer_spec of = {.kind = NN_ACTIVATION};
    const size_t last = s->spec->layers - 1;

    if (s->at > 0 && s->at == s->spec->layers && !(s->block.open && s->at == s->block.at) &&
        layer_kind_of(s->spec, last)->activates && s->spec->layer[last].kind != NN_ACTIVATION &&
        s->spec->act[last] == NN_ACT_NONE) {
        s->spec->act[last] = act;
        return STATUS_OK;
    }
    return push(s, &of, act, width_of(s));
}

/* --- blocks of two ways --- */

static struct way here(const struct stack *s)
{
    return (struct way){.open = true, .at = s->at, .form = s->form, .shape = s->shape};
}

static enum status residual(struct stack *s)
{
    if (s->block.open)
        return error_set(s->err, STATUS_CONFIG, "%s: a block ends (add) before the next one begins",
                         s->item);
    if (s->form == PLANAR && look(s) != STATUS_OK)
        return STATUS_CONFIG;
    s->block = here(s);
    return STATUS_OK;
}

/* A way through a block ends here: it has a layer. */
static enum status end_way(struct stack *s)
{
    if (!s->block.open)
        return error_set(s->err, STATUS_CONFIG, "%s: no block has begun (residual)", s->item);
    if (s->at == s->block.at)
        return error_set(s->err, STATUS_CONFIG, "%s: this way through the block has no layer",
                         s->item);
    return STATUS_OK;
}

static enum status shortcut(struct stack *s)
{
    enum status st = end_way(s);

    if (st == STATUS_OK && s->first.open)
        st = error_set(s->err, STATUS_CONFIG, "%s: the block has two ways already", s->item);
    if (st != STATUS_OK)
        return st;
    s->first = here(s);
    s->at = s->block.at;
    s->form = s->block.form;
    s->shape = s->block.shape;
    return STATUS_OK;
}

/* The two ways meet: what the first gives, and what the second does or else what came in. */
static enum status add(struct stack *s)
{
    const enum status st = end_way(s);
    const struct way *other = s->first.open ? &s->first : &s->block;
    struct nn_layer_spec of = {.kind = NN_ADD};
    struct stack comes = *s;
    char takes[96], shape[64];

    if (st != STATUS_OK)
        return st;
    of.beside = (uint32_t)(s->at - other->at);
    comes.at = other->at;
    comes.form = other->form;
    comes.shape = other->shape;
    show(&comes, shape, sizeof shape);
    snprintf(takes, sizeof takes, "twice the same, of which one is %s", shape);
    if (other->form != s->form || s->spec->width[other->at] != width_of(s) ||
        (s->form != FLAT && memcmp(&other->shape, &s->shape, sizeof s->shape) != 0))
        return refuse(s, takes);
    s->block.open = s->first.open = false;
    return push(s, &of, NN_ACT_NONE, width_of(s));
}

static enum nn_act activation_of(enum plan_activation a)
{
    switch (a) {
    case ACTIVATION_RELU: return NN_ACT_RELU;
    case ACTIVATION_TANH: return NN_ACT_TANH;
    case ACTIVATION_SIGMOID: return NN_ACT_SIGMOID;
    case ACTIVATION_NONE: return NN_ACT_NONE;
    }
    return NN_ACT_NONE;
}

static enum status add_item(struct stack *s, const struct config_layer *item)
{
    switch (item->word) {
    case LAYERS_UNITS: return units(s, item->argument[0], activation_of(s->config->activation));
    case LAYERS_CONV2D:
    case LAYERS_CONV1D: return convolution(s, item);
    case LAYERS_MAXPOOL:
    case LAYERS_AVGPOOL:
    case LAYERS_GLOBALPOOL: return pool(s, item);
    case LAYERS_GROUPNORM:
    case LAYERS_BATCHNORM: return norm(s, item);
    case LAYERS_LSTM:
    case LAYERS_GRU: return memory(s, item);
    case LAYERS_RESIDUAL: return residual(s);
    case LAYERS_SHORTCUT: return shortcut(s);
    case LAYERS_ADD: return add(s);
    case LAYERS_FLATTEN: return flatten(s);
    case LAYERS_RELU: return activation(s, NN_ACT_RELU);
    case LAYERS_TANH: return activation(s, NN_ACT_TANH);
    case LAYERS_SIGMOID: return activation(s, NN_ACT_SIGMOID);
    case LAYERS_WORDS: break;
    }
    return refuse(s, "nothing");
}

/* Tables before all else, where columns are embedded. */
static enum status embed(struct stack *s)
{
    const struct nn_layer_spec of = {.kind = NN_EMBEDDING};
    const struct nn_embedded *e = &s->spec->embedded;

    return e->n == 0 ? STATUS_OK
                     : push(s, &of, NN_ACT_NONE, (uint32_t)embedding_width(e, width_of(s)));
}

/* What data.shape says that a row is. */
static enum status begin(struct stack *s)
{
    const struct plan_widths *w = &s->config->shape;
    const uint32_t features = width_of(s);

    if (w->n == 0)
        return embed(s);
    if (s->spec->embedded.n > 0)
        return error_set(s->err, STATUS_CONFIG,
                         "data.shape: a row has columns that are embedded (data.schema), and no "
                         "shape");
    s->form = w->n == 2 ? SERIES : PLANAR;
    s->shape = w->n == 2 ? (struct nn_shape){w->width[1], 1, w->width[0]}
                         : (struct nn_shape){w->width[0], w->width[1], w->width[2]};
    if (features > 0 && shape_values(&s->shape) == features)
        return STATUS_OK;
    show(s, s->item, sizeof s->item);
    return error_set(s->err, STATUS_CONFIG,
                     "data.shape: a row is said to be %s, and this party's columns give %u values",
                     s->item, features);
}

enum status party_layers(struct nn_spec *spec, const struct config_party *config, uint32_t outputs,
                         struct error *err)
{
    struct stack s = {.spec = spec, .config = config, .form = FLAT, .err = err};
    enum status st;

    spec->layers = 0;
    st = begin(&s);
    for (size_t i = 0; i < config->layers.n && st == STATUS_OK; i++) {
        char name[24];

        layers_name(&config->layers.item[i], name, sizeof name);
        snprintf(s.item, sizeof s.item, "model.layers: item %zu, %s", i + 1, name);
        st = add_item(&s, &config->layers.item[i]);
    }
    if (st != STATUS_OK)
        return st;
    snprintf(s.item, sizeof s.item, "model.layers: the last layer");
    if (s.block.open)
        return error_set(err, STATUS_CONFIG, "%s: the block before it does not end (add)", s.item);
    return units(&s, outputs, NN_ACT_NONE);
}
