/* activation.h -- an activation that stands by itself, behind a layer that applies none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_ACTIVATION_H
#define COLONNADE_NN_ACTIVATION_H

#include "common/nn/layer.h"

extern const struct layer_kind ACTIVATION_LAYER;

#endif
