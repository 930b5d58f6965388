/* unit_dropout.h -- dropout of hidden units: masks over a batch (Srivastava et al. 2014, with the
 * factor in training, as PyTorch has it).
 *
 * A mask has a factor for each value: 0 with probability p, else 1 / (1 - p), so that what is
 * expected of a layer is what it gives without.  Nothing is allocated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_UNIT_DROPOUT_H
#define COLONNADE_NN_UNIT_DROPOUT_H

#include "common/crypto/rng.h"

#include <stddef.h>

/* p in [0, 1): one 32-bit word of the stream for each value, little-endian; below p 2^32 it is
 * dropped. */
void unit_dropout_draw(float *mask, size_t n, float p, struct rng *r);
/* x <- x mask, of n values. */
void unit_dropout_apply(float *x, const float *mask, size_t n);

#endif
