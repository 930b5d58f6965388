/* batch_norm.h -- each channel to mean 0 and variance 1, then w x + b.
 *
 * In a step of training mean and variance are those of all places of all rows of the batch (Ioffe &
 * Szegedy 2015, Algorithm 1), so what a row gives hangs on the others; in any other pass they are
 * running ones, which each step moves a tenth of the way to its batch's, the variance as n / (n -
 * 1) times that of the batch's n values (PyTorch's BatchNorm).  These lie behind the biases:
 * parameters that are kept, copied and shown like all others, and that no optimiser steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_BATCH_NORM_H
#define COLONNADE_NN_BATCH_NORM_H

#include "common/nn/layer.h"

extern const struct layer_kind BATCH_NORM_LAYER;

#endif
