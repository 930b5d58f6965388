/* gru.h -- a gated recurrent unit over a series (Cho et al. 2014).
 *
 * r, z = sigmoid of x_t W + b + h_{t-1} U + b'; n = tanh(x_t W_n + b_n + r (h_{t-1} U_n + b'_n));
 * h_t = (1 - z) n + z h_{t-1}, from zeros (PyTorch's GRU of one layer).  y is h of all steps, or of
 * the last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_GRU_H
#define COLONNADE_NN_GRU_H

#include "common/nn/layer.h"

extern const struct layer_kind GRU_LAYER;

#endif
