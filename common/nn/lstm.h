/* lstm.h -- a long short-term memory over a series (Hochreiter & Schmidhuber 1997, with forget
 * gates).
 *
 * i, f, o = sigmoid and g = tanh of x_t W + h_{t-1} U + b + b'; c_t = f c_{t-1} + i g;
 * h_t = o tanh(c_t), from zeros (PyTorch's LSTM of one layer).  y is h of all steps, or of the
 * last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_LSTM_H
#define COLONNADE_NN_LSTM_H

#include "common/nn/layer.h"

extern const struct layer_kind LSTM_LAYER;

#endif
