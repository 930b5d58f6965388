/* conv.h -- convolutions of images that lie channels last, as products of patches and weights.
 *
 * y[o](p) = act(sum over window and channels c of group(o) of x[c](p stride - padding + k) w + b)
 * (PyTorch's Conv2d, and Conv1d for images of height 1).  Weights lie [height][width][channels of a
 * group][out], so a patch of a place, groups one after the other, is a row that the product takes;
 * some rows' patches are made at a time, forward and again on the way back.  A bare one has no b.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_CONV_H
#define COLONNADE_NN_CONV_H

#include "common/nn/layer.h"

extern const struct layer_kind CONV_LAYER;

#endif
