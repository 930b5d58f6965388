/* backward.h -- the two halves of a backward pass: back through all layers, then the products over
 * the rows of the batch.  Between them a gradient of single rows may be cut (dpsgd.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_BACKWARD_H
#define COLONNADE_NN_BACKWARD_H

#include "common/nn/net.h"

/* Each layer's dy, for x W + b, and dx where it is not NULL (nn_net_backward), from dy (rows x
 * outputs).  Rows of which any of these is not finite, or whose forward pass was not, are zeros in
 * all of them: n->sound_back says which. */
void backward_deltas(struct nn_net *n, float *dx, const float *dy);
/* dw and db of all layers, of what the deltas have become. */
void backward_gradients(struct nn_net *n);

#endif
