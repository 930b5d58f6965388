/* turn.h -- [channels][height][width] to channels last, as layers take images, or back ("flatten").
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_TURN_H
#define COLONNADE_NN_TURN_H

#include "common/nn/layer.h"

extern const struct layer_kind TURN_LAYER;

#endif
