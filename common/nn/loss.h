/* loss.h -- losses over a batch, their gradients and predictions.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_LOSS_H
#define COLONNADE_NN_LOSS_H

#include <stdint.h>

enum nn_loss { NN_LOSS_SOFTMAX, NN_LOSS_SIGMOID, NN_LOSS_SQUARED };

/* logits: rows x k.  softmax: label in 0..k-1, mean cross-entropy.  sigmoid: k = 1, label 0 or 1.
 * squared: k = 1, mean of (z - target)^2 / 2.  `target` holds labels or values as float, one per
 * row. Returns the mean loss; dz (rows x k, may be NULL, may alias logits) = gradient of the mean.
 */
double nn_loss(enum nn_loss kind, float *dz, const float *logits, const float *target,
               uint32_t rows, uint32_t k);

/* The same with a row of class c counted weight[c] times (k of them; sigmoid: 2); the mean still
 * divides by the rows.  NULL: once.  Squared error knows no classes and no weights. */
double nn_loss_weighted(enum nn_loss kind, float *dz, const float *logits, const float *target,
                        uint32_t rows, uint32_t k, const float *weight);

/* prob (rows x k; sigmoid: rows x 1): softmax, sigmoid or the value itself.  May alias logits. */
void nn_predict(enum nn_loss kind, float *prob, const float *logits, uint32_t rows, uint32_t k);

#endif
