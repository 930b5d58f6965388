/* layers.c -- one row for each word, which reading and printing go by.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/layers.h"

#include "common/base/check.h"
#include "common/config/key_value.h"
#include "common/config/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct argument {
    const char *name; /* NULL: no more */
    uint32_t lo, hi;
    int64_t fallback; /* REQUIRED, or SAME: the word's first argument */
};
enum { REQUIRED = -1, SAME = -2, OUT_MAX = 65536, SIDE_MAX = 255, UNITS_MAX = 16384 };

#define ARGUMENTS_OF_A_CONVOLUTION                                                                 \
    {                                                                                              \
        {"out", 1, OUT_MAX, REQUIRED}, {"kernel", 1, SIDE_MAX, REQUIRED},                          \
            {"stride", 1, SIDE_MAX, 1}, {"padding", 0, SIDE_MAX, 0}, {"groups", 1, OUT_MAX, 1},    \
            {"bias", 0, 1, 1},                                                                     \
    }
#define ARGUMENTS_OF_A_POOL                                                                        \
    {                                                                                              \
        {"size", 1, SIDE_MAX, REQUIRED}, {"stride", 1, SIDE_MAX, SAME},                            \
            {"padding", 0, SIDE_MAX, 0},                                                           \
    }
#define ARGUMENTS_OF_A_MEMORY                                                                      \
    {                                                                                              \
        {"units", 1, UNITS_MAX, REQUIRED}, {"whole", 0, 1, 0},                                     \
    }

static const struct word {
    const char *name;
    struct argument argument[LAYERS_ARGUMENTS_MAX];
} words[LAYERS_WORDS] = {
    [LAYERS_UNITS] = {"", {{"out", 1, OUT_MAX, REQUIRED}}},
    [LAYERS_CONV2D] = {"conv2d", ARGUMENTS_OF_A_CONVOLUTION},
    [LAYERS_CONV1D] = {"conv1d", ARGUMENTS_OF_A_CONVOLUTION},
    [LAYERS_MAXPOOL] = {"maxpool", ARGUMENTS_OF_A_POOL},
    [LAYERS_AVGPOOL] = {"avgpool", ARGUMENTS_OF_A_POOL},
    [LAYERS_GLOBALPOOL] = {"globalpool", {{0}}},
    [LAYERS_GROUPNORM] = {"groupnorm", {{"groups", 1, OUT_MAX, REQUIRED}}},
    [LAYERS_BATCHNORM] = {"batchnorm", {{0}}},
    [LAYERS_LSTM] = {"lstm", ARGUMENTS_OF_A_MEMORY},
    [LAYERS_GRU] = {"gru", ARGUMENTS_OF_A_MEMORY},
    [LAYERS_RESIDUAL] = {"residual", {{0}}},
    [LAYERS_SHORTCUT] = {"shortcut", {{0}}},
    [LAYERS_ADD] = {"add", {{0}}},
    [LAYERS_FLATTEN] = {"flatten", {{0}}},
    [LAYERS_RELU] = {"relu", {{0}}},
    [LAYERS_TANH] = {"tanh", {{0}}},
    [LAYERS_SIGMOID] = {"sigmoid", {{0}}},
};

const char *const layers_presets[] = {"none", "cnn", "lstm", "resnet18", "resnet18_batchnorm",
                                      NULL};

/* --- reading --- */

static bool refuse(char *want, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool refuse(char *want, size_t size, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(want, size, fmt, args);
    va_end(args);
    return false;
}

static size_t arguments(const struct word *w)
{
    size_t n = 0;

    while (n < LAYERS_ARGUMENTS_MAX && w->argument[n].name != NULL)
        n++;
    return n;
}

static bool read_number(uint32_t *out, const struct argument *a, const char *text, char *want,
                        size_t size)
{
    uint64_t value;

    if (!number_whole(&value, text) || value < a->lo || value > a->hi)
        return refuse(want, size, "a layer whose %s is a whole number in [%u, %u]", a->name, a->lo,
                      a->hi);
    *out = (uint32_t)value;
    return true;
}

static bool refuse_word(char *want, size_t size)
{
    size_t n = (size_t)snprintf(want, size, "a layer: a number of units, or one of");

    for (size_t w = 1; w < LAYERS_WORDS && n < size; w++)
        n += (size_t)snprintf(want + n, size - n, "%s %s", w > 1 ? "," : "", words[w].name);
    return false;
}

/* `name=value`, or a value alone for the first. */
static bool read_argument(struct config_layer *l, bool *given, const char *text, char *want,
                          size_t size)
{
    const struct word *w = &words[l->word];
    const char *equals = strchr(text, '=');
    const size_t length = equals != NULL ? (size_t)(equals - text) : 0, n = arguments(w);
    size_t i = 0;

    while (
        equals != NULL && i < n &&
        (strlen(w->argument[i].name) != length || strncmp(w->argument[i].name, text, length) != 0))
        i++;
    if (i >= n)
        return refuse(want, size, "an argument of %s", w->name);
    if (given[i])
        return refuse(want, size, "a layer whose %s is said once", w->argument[i].name);
    given[i] = true;
    return read_number(&l->argument[i], &w->argument[i], equals != NULL ? equals + 1 : text, want,
                       size);
}

static bool fill_in(struct config_layer *l, const bool *given, char *want, size_t size)
{
    const struct word *w = &words[l->word];

    for (size_t i = 0; i < arguments(w); i++) {
        const struct argument *a = &w->argument[i];

        if (given[i])
            continue;
        if (a->fallback == REQUIRED)
            return refuse(want, size, "a layer that says its %s", a->name);
        l->argument[i] = a->fallback == SAME ? l->argument[0] : (uint32_t)a->fallback;
    }
    return true;
}

bool layers_read(struct config_layer *l, const struct key_value_item *item, char *want, size_t size)
{
    char text[KEY_VALUE_MAP_MAX], *rest = NULL;
    bool given[LAYERS_ARGUMENTS_MAX] = {false};
    const char *word;
    size_t w = 1;

    *l = (struct config_layer){0};
    if (item->quoted || item->text[0] == 0 || strlen(item->text) >= sizeof text)
        return refuse_word(want, size);
    if (!item->map && item->text[0] >= '0' && item->text[0] <= '9')
        return read_number(&l->argument[0], &words[LAYERS_UNITS].argument[0], item->text, want,
                           size);
    strcpy(text, item->text);
    word = item->map ? strtok_r(text, " ", &rest) : text;
    while (w < LAYERS_WORDS && strcmp(word, words[w].name) != 0)
        w++;
    if (w == LAYERS_WORDS)
        return refuse_word(want, size);
    l->word = (enum layers_word)w;
    for (char *at; item->map && (at = strtok_r(NULL, " ", &rest)) != NULL;)
        if (!read_argument(l, given, at, want, size))
            return false;
    return fill_in(l, given, want, size);
}

/* --- printing --- */

void layers_name(const struct config_layer *l, char *out, size_t size)
{
    if (l->word == LAYERS_UNITS)
        snprintf(out, size, "%u", l->argument[0]);
    else
        snprintf(out, size, "%s", words[l->word].name);
}

static enum status print_item(const struct config_layer *l, struct buf *out)
{
    const struct word *w = &words[l->word];
    const size_t n = arguments(w);
    enum status s;

    if (l->word == LAYERS_UNITS)
        return buf_printf(out, "%u", l->argument[0]);
    if (n == 0)
        return buf_printf(out, "%s", w->name);
    s = buf_printf(out, "{%s: {", w->name);
    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = buf_printf(out, "%s%s: %u", i > 0 ? ", " : "", w->argument[i].name, l->argument[i]);
    return s == STATUS_OK ? buf_printf(out, "}}") : s;
}

enum status layers_print(const struct config_layers *l, struct buf *out)
{
    enum status s = buf_append(out, "[", 1);

    for (size_t i = 0; s == STATUS_OK && i < l->n; i++) {
        if (i > 0)
            s = buf_append(out, ",", 1);
        if (s == STATUS_OK)
            s = print_item(&l->item[i], out);
    }
    return s == STATUS_OK ? buf_append(out, "]", 1) : s;
}

/* --- presets --- */

/* Two convolutions, each halved by a pool, and a hidden layer. */
static const struct config_layer cnn[] = {
    {LAYERS_CONV2D, {16, 3, 1, 1, 1, 1}},
    {LAYERS_RELU, {0}},
    {LAYERS_MAXPOOL, {2, 2, 0}},
    {LAYERS_CONV2D, {32, 3, 1, 1, 1, 1}},
    {LAYERS_RELU, {0}},
    {LAYERS_MAXPOOL, {2, 2, 0}},
    {LAYERS_FLATTEN, {0}},
    {LAYERS_UNITS, {64}},
};

/* What is left of a series after its last step. */
static const struct config_layer lstm[] = {{LAYERS_LSTM, {64, 0}}};

static void put(struct config_layers *l, const struct config_layer *item, size_t n)
{
    CHECK(n <= LAYERS_ITEMS_MAX - l->n);
    memcpy(l->item + l->n, item, n * sizeof *item);
    l->n += n;
}

#define PUT(l, ...)                                                                                \
    put(l, (const struct config_layer[]){__VA_ARGS__},                                             \
        sizeof(const struct config_layer[]){__VA_ARGS__} / sizeof(struct config_layer))

/* ResNet-18 for pictures of 32 x 32 (He et al. 2016, section 4.2, with table 1's widths). */
static void resnet18(struct config_layers *l, struct config_layer norm)
{
    uint32_t before = 64;

    PUT(l, {LAYERS_CONV2D, {64, 3, 1, 1, 1, 0}}, norm, {LAYERS_RELU, {0}});
    for (uint32_t block = 0; block < 8; block++) {
        const uint32_t out = 64U << block / 2, stride = out / before;

        PUT(l, {LAYERS_RESIDUAL, {0}}, {LAYERS_CONV2D, {out, 3, stride, 1, 1, 0}}, norm,
            {LAYERS_RELU, {0}}, {LAYERS_CONV2D, {out, 3, 1, 1, 1, 0}}, norm);
        if (stride > 1)
            PUT(l, {LAYERS_SHORTCUT, {0}}, {LAYERS_CONV2D, {out, 1, stride, 0, 1, 0}}, norm);
        PUT(l, {LAYERS_ADD, {0}}, {LAYERS_RELU, {0}});
        before = out;
    }
    PUT(l, {LAYERS_GLOBALPOOL, {0}}, {LAYERS_FLATTEN, {0}});
}

void layers_of_preset(struct config_layers *l, enum layers_preset preset)
{
    *l = (struct config_layers){0};
    switch (preset) {
    case PRESET_CNN: put(l, cnn, sizeof cnn / sizeof *cnn); return;
    case PRESET_LSTM: put(l, lstm, sizeof lstm / sizeof *lstm); return;
    case PRESET_RESNET18: resnet18(l, (struct config_layer){LAYERS_GROUPNORM, {32}}); return;
    case PRESET_RESNET18_BATCHNORM:
        resnet18(l, (struct config_layer){.word = LAYERS_BATCHNORM});
        return;
    case PRESET_NONE:
    case PRESETS: break;
    }
    CHECK(0 && "preset");
}
