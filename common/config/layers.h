/* layers.h -- the layers of a bottom as a file lists them: words, and what each of them takes.
 *
 * `64` is a hidden layer of so many units, which model.activation follows; `relu` a word alone;
 * `{conv2d: {out: 16, kernel: 3}}` a word with arguments, and `{maxpool: 2}` one with its first.
 * What they compute, and which may follow which, is the net's business (common/nn).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_LAYERS_H
#define COLONNADE_CONFIG_LAYERS_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAYERS_ITEMS_MAX = 96, LAYERS_ARGUMENTS_MAX = 6 };

enum layers_word {
    LAYERS_UNITS,
    LAYERS_CONV2D,
    LAYERS_CONV1D,
    LAYERS_MAXPOOL,
    LAYERS_AVGPOOL,
    LAYERS_GLOBALPOOL,
    LAYERS_GROUPNORM,
    LAYERS_BATCHNORM,
    LAYERS_LSTM,
    LAYERS_GRU,
    LAYERS_RESIDUAL,
    LAYERS_SHORTCUT,
    LAYERS_ADD,
    LAYERS_FLATTEN,
    LAYERS_RELU,
    LAYERS_TANH,
    LAYERS_SIGMOID,
    LAYERS_WORDS
};
/* Where a word's arguments are. */
enum {
    LAYERS_OUT = 0,
    LAYERS_KERNEL = 1,
    LAYERS_STRIDE = 2,
    LAYERS_PADDING = 3,
    LAYERS_GROUPS = 4,
    LAYERS_BIAS = 5
};
enum { LAYERS_POOL_SIZE = 0, LAYERS_POOL_STRIDE = 1, LAYERS_POOL_PADDING = 2 };

struct config_layer {
    enum layers_word word;
    uint32_t argument[LAYERS_ARGUMENTS_MAX]; /* in the word's own order; the others are 0 */
};

struct config_layers {
    size_t n;
    struct config_layer item[LAYERS_ITEMS_MAX];
};

enum { LAYERS_WHOLE = 1 };

enum layers_preset {
    PRESET_NONE,
    PRESET_CNN,
    PRESET_LSTM,
    PRESET_RESNET18,
    PRESET_RESNET18_BATCHNORM,
    PRESETS
};
extern const char *const layers_presets[]; /* each with its word; ends in NULL */

struct key_value_item;

/* One item of a list, as key_value.h has it: an argument that is not given has its default.  False:
 * *want says what it should have been. */
bool layers_read(struct config_layer *l, const struct key_value_item *item, char *want,
                 size_t size);
/* What layers_read reads back to the same. */
enum status layers_print(const struct config_layers *l, struct buf *out) MUST_USE;
/* "conv2d", "64". */
void layers_name(const struct config_layer *l, char *out, size_t size);
void layers_of_preset(struct config_layers *l, enum layers_preset preset);

#endif
