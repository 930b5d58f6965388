/* module.h -- what PyTorch calls the layers of a net.
 *
 * They are modules of a torch.nn.Sequential: a block of two ways, from where they part to the sum,
 * is one module of it, whose ways are Sequentials of their own, `main` and `shortcut`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_MODULE_H
#define COLONNADE_NN_MODULE_H

#include "common/nn/net.h"

/* l->torch of each layer: "3", "4.main.0". */
void module_names(struct nn_net *n);

#endif
