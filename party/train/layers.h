/* layers.h -- model.layers to a net: what shape comes out of each item, and whether the next takes
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_LAYERS_H
#define COLONNADE_PARTY_TRAIN_LAYERS_H

#include "common/config/config.h"
#include "common/nn/net.h"

/* The layers of a bottom of spec->width[0] inputs, of which spec->embedded are levels; the last one
 * gives `outputs` values and has no activation: spec->layers, width, act and layer.  A row is what
 * data.shape says.  STATUS_CONFIG names the item, what came to it and what it takes; nothing is
 * multiplied that could overflow. */
enum status party_layers(struct nn_spec *spec, const struct config_party *config, uint32_t outputs,
                         struct error *err) MUST_USE;

#endif
