/* pool.h -- the most, or the mean, of each window of each channel.
 *
 * What lies outside of the image is not looked at by the most, and is 0 in the mean, which always
 * divides by the window's size (PyTorch's MaxPool2d and AvgPool2d).  The gradient of the most goes
 * to the first of several equal ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_POOL_H
#define COLONNADE_NN_POOL_H

#include "common/nn/layer.h"

extern const struct layer_kind MAX_POOL_LAYER, AVG_POOL_LAYER;

#endif
