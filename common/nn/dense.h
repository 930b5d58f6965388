/* dense.h -- one dense layer over a batch: y = s act(x W + b), and its gradients.
 *
 * x: rows x in.  W: in x out.  b: out.  y: rows x out.  Nothing is allocated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_DENSE_H
#define COLONNADE_NN_DENSE_H

#include "common/nn/net.h"

/* l->y = s act(x W + b) */
void dense_forward(struct nn_layer *l, const float *x, uint32_t rows);

/* masked: the last forward had a mask on it.  l->dy holds the gradient for l->y and becomes the one
 * for x W + b; where dx (rows x in) is not NULL, dx = dy W'.  `wt` has room for W' (out x in). */
void dense_delta(struct nn_layer *l, bool masked, float *dx, float *wt, uint32_t rows);
/* Of that, or of what it has become: l->dw = x' dy, l->db = column sums. */
void dense_gradients(struct nn_layer *l, const float *x, uint32_t rows);

#endif
