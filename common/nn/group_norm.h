/* group_norm.h -- each group of channels of each row to mean 0 and variance 1, then w x + b per
 * channel.
 *
 * The variance is that of all values of the group, 1e-5 is added to it (Wu & He 2018, equation (1);
 * PyTorch's GroupNorm).  No row sees another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_GROUP_NORM_H
#define COLONNADE_NN_GROUP_NORM_H

#include "common/nn/layer.h"

extern const struct layer_kind GROUP_NORM_LAYER;

#endif
