/* listed.c -- one item after another.
 *
 * As a file has it an image is [C, H, W]; layers take it with its channels last, so one of several
 * channels is transposed before the first layer that needs its shape, and `flatten` transposes it
 * back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/listed.h"

#include "common/nn/embedding.h"
#include "common/nn/layer.h"
#include "common/nn/outside.h"
#include "common/nn/window.h"

#include <stdio.h>
#include <string.h>

enum nn_act nn_act_of(enum plan_activation a)
{
    switch (a) {
    case ACTIVATION_RELU: return NN_ACT_RELU;
    case ACTIVATION_TANH: return NN_ACT_TANH;
    case ACTIVATION_SIGMOID: return NN_ACT_SIGMOID;
    case ACTIVATION_NONE: return NN_ACT_NONE;
    }
    return NN_ACT_NONE;
}

/* What the last layer gives. */
enum form { FLAT, IMAGE, SERIES };
/* How its values lie.  A series always lies step by step; BY_WINDOWS says that PyTorch, whose
 * convolutions have channels first, would flatten it channel by channel. */
enum order {
    AS_READ,   /* by the file: an image channel by channel, a series step by step */
    BY_STEPS,  /* of an lstm or gru */
    BY_WINDOWS /* of a convolution, pool or normalisation: channels last */
};

struct stack {
    struct nn_spec *spec;
    const struct listed *of;
    enum form form;
    enum order order;
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
        enum order order;
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

static uint32_t width_of(const struct stack *s)
{
    return s->spec->width[s->at];
}

/* One layer more, whose values are `width` a row; where they are too many, or the layer is none
 * that a net may have, the item takes what `takes` says. */
static enum status push_or(struct stack *s, const struct nn_layer_spec *of, enum nn_act act,
                           uint64_t width, const char *takes)
{
    struct nn_spec *spec = s->spec;
    const size_t i = spec->layers;

    if (i == NN_LAYERS_MAX)
        return error_set(s->err, STATUS_CONFIG, "%s: more than %d layers", s->item, NN_LAYERS_MAX);
    if (width > NN_WIDTH_MAX)
        return error_set(s->err, STATUS_CONFIG,
                         "%s: it would give %llu values a row, and %d are "
                         "the most",
                         s->item, (unsigned long long)width, NN_WIDTH_MAX);
    spec->layer[i] = *of;
    spec->layer[i].back = (uint32_t)(i - s->at);
    spec->act[i] = act;
    spec->width[i + 1] = (uint32_t)width;
    if (!layer_kind(of->kind)->fits(spec, i))
        return refuse(s, takes);
    s->at = spec->layers = i + 1;
    return STATUS_OK;
}

static enum status push(struct stack *s, const struct nn_layer_spec *of, enum nn_act act,
                        uint64_t width)
{
    return push_or(s, of, act, width, "sizes within the limits of a net");
}

static enum status transpose(struct stack *s, const struct nn_shape *shape, bool flattens)
{
    const struct nn_layer_spec of = {.kind = NN_TURN, .shape = *shape, .flattens = flattens};

    return push(s, &of, NN_ACT_NONE, width_of(s));
}

/* For an item that takes an image or a series by its shape: channels last.  One channel lies so
 * already. */
static enum status want_shape(struct stack *s)
{
    const bool read = s->order == AS_READ;

    if (s->form == FLAT)
        return refuse(s, "an image or a series (data.shape)");
    s->order = BY_WINDOWS;
    return read && s->form == IMAGE && s->shape.channels > 1 ? transpose(s, &s->shape, false)
                                                             : STATUS_OK;
}

static enum status units(struct stack *s, uint32_t out, enum nn_act act)
{
    const struct nn_layer_spec of = {.kind = NN_DENSE};

    /* A row as the file has it may be taken without its shape. */
    if (s->form != FLAT && s->order != AS_READ)
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

/* A layer of windows: `channels` come out, 0: as many as come in. */
static enum status window(struct stack *s, struct nn_layer_spec *of, uint32_t channels)
{
    struct nn_shape out;
    char takes[96];

    of->shape = s->shape;
    if (!window_out(&out, &s->shape, &of->window)) {
        snprintf(takes, sizeof takes, "what %u x %u fits in, padded by %u (below %u)",
                 of->window.size[0], of->window.size[1], of->window.padding[1], of->window.size[1]);
        return refuse(s, takes);
    }
    out.channels = channels > 0 ? channels : out.channels;
    if (s->shape.channels % of->groups != 0 || out.channels % of->groups != 0) {
        snprintf(takes, sizeof takes, "and gives channels of which %u groups can be made",
                 of->groups);
        return refuse(s, takes);
    }
    if (push(s, of, NN_ACT_NONE, shape_places(&out) * out.channels) != STATUS_OK)
        return STATUS_CONFIG;
    s->shape = out;
    return STATUS_OK;
}

static enum status convolution(struct stack *s, const struct config_layer *item)
{
    const uint32_t *a = item->argument;
    const bool series = item->word == LAYERS_CONV1D;
    struct nn_layer_spec of = {
        .kind = NN_CONV, .groups = a[LAYERS_GROUPS], .bare = a[LAYERS_BIAS] == 0};
    enum status st = want_shape(s);

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
    const enum status st = want_shape(s);

    if (st != STATUS_OK)
        return st;
    if (item->word == LAYERS_GLOBALPOOL &&
        (s->shape.height > WINDOW_SIZE_MAX || s->shape.width > WINDOW_SIZE_MAX))
        return refuse(s, "at most 256 a side");
    of.window =
        item->word == LAYERS_GLOBALPOOL
            ? (struct nn_window){{s->shape.height, s->shape.width}, {1, 1}, {0, 0}}
            : window_of(s, a[LAYERS_POOL_SIZE], a[LAYERS_POOL_STRIDE], a[LAYERS_POOL_PADDING]);
    return window(s, &of, 0);
}

/* Of values without an order each is a channel, as PyTorch has it. */
static enum status norm(struct stack *s, const struct config_layer *item)
{
    const bool batch = item->word == LAYERS_BATCHNORM;
    struct nn_layer_spec of = {.kind = batch ? NN_BATCH_NORM : NN_GROUP_NORM,
                               .groups = batch ? 1 : item->argument[0]};
    const enum status st = s->form == FLAT ? STATUS_OK : want_shape(s);
    char takes[64];

    if (st != STATUS_OK)
        return st;
    of.shape = s->form == FLAT ? (struct nn_shape){width_of(s), 1, 1} : s->shape;
    /* Of values a group of one is 0 whatever that is; of places there are more to a channel. */
    if (of.shape.channels % of.groups == 0 &&
        (batch || s->form != FLAT || of.shape.channels > of.groups))
        return push(s, &of, NN_ACT_NONE, width_of(s));
    snprintf(takes, sizeof takes,
             s->form == FLAT ? "values of which %u groups of two or more can be made"
                             : "channels of which %u groups can be made",
             of.groups);
    return refuse(s, takes);
}

static enum status memory(struct stack *s, const struct config_layer *item)
{
    const uint32_t units = item->argument[0];
    const bool whole = item->argument[LAYERS_WHOLE] != 0;
    const enum nn_kind kind = item->word == LAYERS_GRU ? NN_GRU : NN_LSTM;
    const struct nn_layer_spec of = {.kind = kind, .shape = s->shape, .units = units};
    const uint64_t width = (uint64_t)units * (whole ? s->shape.width : 1);

    if (s->form != SERIES)
        return refuse(s, "a series");
    if (push_or(s, &of, NN_ACT_NONE, width, "fewer steps, or has fewer units") != STATUS_OK)
        return STATUS_CONFIG;
    s->shape.channels = units;
    s->order = BY_STEPS;
    s->form = whole ? SERIES : FLAT;
    return STATUS_OK;
}

/* As PyTorch does.  What lies in that order already is copied: a Flatten is a module, by whose
 * number weights behind it are called. */
static enum status flatten(struct stack *s)
{
    const struct nn_shape flat = {.channels = width_of(s), .height = 1, .width = 1};
    const bool turned = s->form != FLAT && s->order == BY_WINDOWS;

    s->form = FLAT;
    return transpose(s, turned ? &s->shape : &flat, true);
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
    return (struct way){
        .open = true, .at = s->at, .form = s->form, .order = s->order, .shape = s->shape};
}

static enum status residual(struct stack *s)
{
    if (s->block.open)
        return error_set(s->err, STATUS_CONFIG, "%s: a block ends (add) before the next one begins",
                         s->item);
    if (s->form == IMAGE && want_shape(s) != STATUS_OK)
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
    s->order = s->block.order;
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
    s->order = s->order > other->order ? s->order : other->order;
    return push(s, &of, NN_ACT_NONE, width_of(s));
}

static enum status add_item(struct stack *s, const struct config_layer *item)
{
    switch (item->word) {
    case LAYERS_UNITS: return units(s, item->argument[0], nn_act_of(s->of->activation));
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

struct nn_shape listed_shape(const struct plan_widths *w)
{
    return w->n == 2 ? (struct nn_shape){w->width[1], 1, w->width[0]}
                     : (struct nn_shape){w->width[0], w->width[1], w->width[2]};
}

/* Tables before all else, where columns are embedded. */
static enum status embed(struct stack *s)
{
    const struct nn_layer_spec of = {.kind = NN_EMBEDDING};
    const struct nn_embedded *e = &s->spec->embedded;

    snprintf(s->item, sizeof s->item, "data.schema: columns that are embedded");
    return e->n == 0 ? STATUS_OK
                     : push(s, &of, NN_ACT_NONE, (uint32_t)embedding_width(e, width_of(s)));
}

/* What data.shape says that a row is. */
static enum status begin(struct stack *s)
{
    const struct plan_widths *w = &s->of->shape;
    const uint32_t features = width_of(s);

    if (w->n == 0)
        return embed(s);
    if (s->spec->embedded.n > 0)
        return error_set(s->err, STATUS_CONFIG,
                         "data.shape: a row has columns that are embedded (data.schema), and no "
                         "shape");
    s->form = w->n == 2 ? SERIES : IMAGE;
    s->shape = listed_shape(w);
    if (features > 0 && shape_values(&s->shape) == features)
        return STATUS_OK;
    show(s, s->item, sizeof s->item);
    return error_set(s->err, STATUS_CONFIG,
                     "data.shape: a row is said to be %s, and this party's columns give %u values",
                     s->item, features);
}

/* A program takes what the columns are, and is told of what shape as data.shape says it. */
static enum status outside(struct stack *s, uint32_t outputs)
{
    const struct plan_widths *w = &s->of->shape;
    const struct nn_layer_spec of = {
        .kind = NN_OUTSIDE,
        .shape = {w->n > 0 ? w->width[0] : 0, w->n > 1 ? w->width[1] : 0,
                  w->n > 2 ? w->width[2] : 0},
        .units = (uint32_t)outside_floats(0),
    };

    snprintf(s->item, sizeof s->item, "model.program");
    return s->spec->layers == 0
               ? push(s, &of, NN_ACT_NONE, outputs)
               : error_set(s->err, STATUS_CONFIG,
                           "model.program: it takes numbers, and columns are embedded "
                           "(data.schema)");
}

enum status listed_layers(struct nn_spec *spec, const struct listed *of, uint32_t outputs,
                          struct error *err)
{
    struct stack s = {.spec = spec, .of = of, .form = FLAT, .err = err};
    enum status st;

    spec->layers = 0;
    st = begin(&s);
    if (of->program)
        return st == STATUS_OK ? outside(&s, outputs) : st;
    for (size_t i = 0; i < of->layers->n && st == STATUS_OK; i++) {
        char name[24];

        layers_name(&of->layers->item[i], name, sizeof name);
        snprintf(s.item, sizeof s.item, "%s: item %zu, %s", of->key, i + 1, name);
        st = add_item(&s, &of->layers->item[i]);
    }
    if (st != STATUS_OK)
        return st;
    snprintf(s.item, sizeof s.item, "%s: the last layer", of->key);
    if (s.block.open)
        return error_set(err, STATUS_CONFIG, "%s: the block before it does not end (add)", s.item);
    return units(&s, outputs, NN_ACT_NONE);
}
