/* layers.h -- the layers of a net as nodes of a graph.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ONNX_LAYERS_H
#define COLONNADE_ONNX_LAYERS_H

#include "common/onnx/draft.h"

/* From d->at on, to what the net gives. */
void layers_draw(struct draft *d, const struct nn_net *net);
/* What that takes of the arena besides nodes, tensors and names. */
size_t layers_bytes(const struct nn_spec *spec);

#endif
