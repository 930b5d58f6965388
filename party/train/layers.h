/* layers.h -- model.layers to a net: what shape comes out of each item, and whether the next takes
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_LAYERS_H
#define COLONNADE_PARTY_TRAIN_LAYERS_H

#include "common/config/config.h"
#include "common/data/schema.h"
#include "common/nn/net.h"

/* The layers of a bottom of spec->width[0] inputs, of which spec->embedded are levels; the last one
 * gives `outputs` values and has no activation: spec->layers, width, act and layer.  A row is what
 * data.shape says.  STATUS_CONFIG names the item, what came to it and what it takes; nothing is
 * multiplied that could overflow. */
enum status party_layers(struct nn_spec *spec, const struct config_party *config, uint32_t outputs,
                         struct error *err) MUST_USE;
/* The same of a configuration alone, before a plan is there.  features 0: no column has been read,
 * and there are as many as data.shape says; s (NULL: nothing) has made them. */
enum status party_layers_check(const struct config_party *config, uint32_t features,
                               const struct schema *s, struct error *err) MUST_USE;

#endif
