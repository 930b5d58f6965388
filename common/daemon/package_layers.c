/* package_layers.c -- widths, activations and kinds as text, and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/package_layers.h"

#include "common/nn/layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const acts[] = {[NN_ACT_NONE] = "none",
                                   [NN_ACT_RELU] = "relu",
                                   [NN_ACT_TANH] = "tanh",
                                   [NN_ACT_SIGMOID] = "sigmoid"};
enum { ACTS = sizeof acts / sizeof *acts };

/* `n` numbers at most, between commas, nothing else; how many, or SIZE_MAX. */
static size_t read_widths(uint32_t *out, size_t max, const char *text)
{
    size_t n = 0;
    char *end;

    for (const char *at = text;; at = end + 1) {
        unsigned long width = *at >= '1' && *at <= '9' ? strtoul(at, &end, 10) : 0;

        if (width == 0 || width > PACKAGE_WIDTH_MAX || n == max)
            return SIZE_MAX;
        out[n++] = (uint32_t)width;
        if (*end == 0)
            return n;
        if (*end != ',')
            return SIZE_MAX;
    }
}

static bool read_activations(struct nn_spec *spec, const char *text)
{
    const char *at = text;

    for (size_t i = 0; i < spec->layers; i++) {
        const size_t len = strcspn(at, ",");
        int act = 0;

        while (act < ACTS && (strlen(acts[act]) != len || strncmp(acts[act], at, len) != 0))
            act++;
        if (act == ACTS)
            return false;
        spec->act[i] = (enum nn_act)act;
        at += len;
        if (i + 1 < spec->layers && *at++ != ',')
            return false;
    }
    return *at == 0;
}

/* A polynomial is known by its degree, and tables by the schema beside them. */
static bool is_said_elsewhere(enum nn_kind kind)
{
    return kind == NN_POLYNOMIAL || kind == NN_EMBEDDING;
}

/* Nets of units and of these alone say all by their widths: packages of before have no more. */
static bool has_images(const struct nn_spec *spec)
{
    for (size_t i = 0; i < spec->layers; i++)
        if (spec->layer[i].kind != NN_DENSE && !is_said_elsewhere(spec->layer[i].kind))
            return true;
    return false;
}

/* What kind a layer is, and all numbers of its kind, in this order.  Of those behind the first
 * KIND_ALWAYS, which packages of before do not have, zeros at the end are left out. */
enum { KIND_ALWAYS = 12, KIND_NUMBERS = 15 };

static void numbers_of(uint32_t *n[KIND_NUMBERS], struct nn_layer_spec *l, uint32_t *flattens)
{
    uint32_t *const all[KIND_NUMBERS] = {
        &l->shape.channels,
        &l->shape.height,
        &l->shape.width,
        &l->window.size[0],
        &l->window.size[1],
        &l->window.stride[0],
        &l->window.stride[1],
        &l->window.padding[0],
        &l->window.padding[1],
        &l->groups,
        &l->units,
        flattens,
        &l->back,
        &l->beside,
        &l->bare,
    };

    memcpy(n, all, sizeof all);
}

static void print_kinds(char *text, size_t size, const struct nn_spec *spec)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->layers; i++) {
        struct nn_layer_spec l = spec->layer[i];
        uint32_t flattens = l.flattens, *number[KIND_NUMBERS];
        size_t numbers = KIND_NUMBERS;

        l.kind = is_said_elsewhere(l.kind) ? NN_DENSE : l.kind;
        numbers_of(number, &l, &flattens);
        n += (size_t)snprintf(text + n, size - n, "%s", layer_kind(l.kind)->name);
        while (numbers > KIND_ALWAYS && *number[numbers - 1] == 0)
            numbers--;
        for (size_t k = 0; k < numbers && (l.kind != NN_DENSE || numbers > KIND_ALWAYS); k++)
            n += (size_t)snprintf(text + n, size - n, " %u", *number[k]);
        n += (size_t)snprintf(text + n, size - n, "\n");
    }
}

void package_layers_print(struct package_layers *to, const struct nn_spec *spec)
{
    size_t w = 0, a = 0;

    *to = (struct package_layers){.widths = ""};
    for (size_t i = 0; i <= spec->layers; i++)
        w += (size_t)snprintf(to->widths + w, sizeof to->widths - w, "%s%u", i > 0 ? "," : "",
                              spec->width[i]);
    for (size_t i = 0; i < spec->layers; i++)
        a += (size_t)snprintf(to->activations + a, sizeof to->activations - a, "%s%s",
                              i > 0 ? "," : "", acts[spec->act[i]]);
    if (has_images(spec))
        print_kinds(to->kinds, sizeof to->kinds, spec);
}

/* One line of print_kinds; what else it may be is told by writing it again. */
static bool read_kind(struct nn_layer_spec *l, const char *text)
{
    const size_t name = strcspn(text, " \n");
    uint32_t flattens = 0, *number[KIND_NUMBERS];
    int kind = 0;

    while (kind < NN_KINDS && (strlen(layer_kind((enum nn_kind)kind)->name) != name ||
                               strncmp(layer_kind((enum nn_kind)kind)->name, text, name) != 0))
        kind++;
    if (kind == NN_KINDS || is_said_elsewhere((enum nn_kind)kind))
        return false;
    *l = (struct nn_layer_spec){.kind = (enum nn_kind)kind};
    numbers_of(number, l, &flattens);
    text += name;
    for (size_t k = 0; k < KIND_NUMBERS && *text == ' '; k++) {
        char *end;
        const unsigned long value = strtoul(text + 1, &end, 10);

        if (value > UINT32_MAX)
            return false;
        *number[k] = (uint32_t)value;
        text = end;
    }
    l->flattens = flattens == 1;
    return *text == '\n';
}

static bool read_kinds(struct nn_spec *spec, const char *text)
{
    size_t i = 0;

    for (; i < spec->layers && *text != 0; i++, text = strchr(text, '\n') + 1)
        if (!read_kind(&spec->layer[i], text))
            return false;
    return i == spec->layers && *text == 0 && has_images(spec);
}

bool package_layers_read(struct package *p, const char *key, const char *text)
{
    struct nn_spec *spec = &p->spec;
    size_t widths;

    if (strcmp(key, "layers") == 0)
        return spec->layers <= NN_LAYERS_MAX && spec->layer[0].kind == NN_DENSE &&
               read_kinds(spec, text);
    if (strcmp(key, "widths") == 0) {
        widths = read_widths(spec->width, NN_LAYERS_MAX + 1, text);
        spec->layers = widths - 1;
        p->cols = p->role == PACKAGE_BOTTOM && widths != SIZE_MAX ? spec->width[0] : 0;
        return widths != SIZE_MAX && p->cols <= TABLE_COLUMNS_MAX;
    }
    if (strcmp(key, "activations") == 0)
        return read_activations(spec, text);
    if (strcmp(key, "out_scale") == 0) {
        spec->out_scale = strtof(text, NULL);
        return spec->out_scale > 0 && isfinite(spec->out_scale);
    }
    if (strcmp(key, "degree") == 0) {
        const uint32_t degree = (uint32_t)strtoul(text, NULL, 10);

        spec->layer[0].kind = degree > 0 ? NN_POLYNOMIAL : NN_DENSE;
        spec->layer[0].degree = degree;
        return degree <= NN_DEGREE_MAX &&
               (degree == 0 ||
                (spec->layers == 1 && spec->act[0] == NN_ACT_NONE && spec->out_scale == 1));
    }
    spec->layer[0].x_max = strtof(text, NULL);
    return spec->layer[0].x_max >= 0 && isfinite(spec->layer[0].x_max);
}
