/* add.h -- y = scale act(x + beside): where two ways through a net meet (He et al. 2016, equation
 * (1)).
 *
 * x is what the layer before gives, or what `back` says; `beside` came out of another one of the
 * same width (nn_layer_spec.beside).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_ADD_H
#define COLONNADE_NN_ADD_H

#include "common/nn/layer.h"

extern const struct layer_kind ADD_LAYER;

#endif
