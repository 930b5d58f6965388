/* listed.h -- a list of layers, of a bottom (model.layers) or of a head (model.head), to a net:
 * what shape comes out of each item, and whether the next takes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_LISTED_H
#define COLONNADE_NN_LISTED_H

#include "common/base/status.h"
#include "common/config/plan.h"
#include "common/nn/net.h"

struct listed {
    const char *key; /* whose list it is, for messages: "model.head" */
    const struct config_layers *layers;
    enum plan_activation activation; /* behind each number of units */
    struct plan_widths shape;        /* of a row: [C, H, W] or [T, C]; empty: its values are flat */
    bool program;                    /* a program computes all of it (model.program): one layer */
};

/* The layers of a net of spec->width[0] inputs, of which spec->embedded are levels; the last one
 * gives `outputs` values and has no activation: spec->layers, width, act and layer.  STATUS_CONFIG
 * names the item, what came to it and what it takes; nothing is multiplied that could overflow. */
enum status listed_layers(struct nn_spec *spec, const struct listed *of, uint32_t outputs,
                          struct error *err) MUST_USE;

/* [C, H, W], or [T, C]. */
struct nn_shape listed_shape(const struct plan_widths *w);
enum nn_act nn_act_of(enum plan_activation a);

#endif
