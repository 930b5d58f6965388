/* loss.h -- losses over a batch, their gradients and predictions.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_LOSS_H
#define COLONNADE_NN_LOSS_H

#include <stdint.h>

enum nn_loss { NN_LOSS_SOFTMAX, NN_LOSS_SIGMOID, NN_LOSS_SQUARED, NN_LOSS_SIGMOIDS };

/* Numbers of a row's target: as many as logits under sigmoids, else one. */
static inline uint32_t nn_targets(enum nn_loss kind, uint32_t k)
{
    return kind == NN_LOSS_SIGMOIDS ? k : 1;
}

/* logits: rows x k.  softmax: label in 0..k-1, mean cross-entropy.  sigmoid: k = 1, label 0 or 1.
 * squared: k = 1, mean of (z - target)^2 / 2.  sigmoids: k labels a row, each 0, 1 or NAN, which is
 * not known; a row's loss is the k-th part of the sum over its known labels, so that each of them
 * counts the same wherever it stands.  `target` holds labels or values as float, nn_targets of them
 * a row.  Returns the mean loss; dz (rows x k, may be NULL, may alias logits) = gradient of the
 * mean. */
double nn_loss(enum nn_loss kind, float *dz, const float *logits, const float *target,
               uint32_t rows, uint32_t k);

/* The same with a row of class c counted weight[c] times (k of them; sigmoid: 2; sigmoids: 2 k,
 * those of label j's 0 and 1 at 2 j); the mean still divides by the rows.  NULL: once.  Squared
 * error knows no classes and no weights. */
double nn_loss_weighted(enum nn_loss kind, float *dz, const float *logits, const float *target,
                        uint32_t rows, uint32_t k, const float *weight);

/* prob (rows x k; sigmoid: rows x 1): softmax, sigmoid, one for each label, or the value itself.
 * May alias logits. */
void nn_predict(enum nn_loss kind, float *prob, const float *logits, uint32_t rows, uint32_t k);

#endif
