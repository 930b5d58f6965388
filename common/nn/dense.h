/* dense.h -- a dense layer: y = s act(x W + b), W: in x out, row major.  It is always in its place.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_DENSE_H
#define COLONNADE_NN_DENSE_H

#include "common/nn/layer.h"

/* tensors: layer.I.weight, layer.I.bias */
extern const struct layer_kind DENSE_LAYER;

#endif
