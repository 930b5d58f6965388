/* state.h -- everything training needs of a net, as bytes: weights, optimiser state, steps.
 *
 * For checkpoints of one kind of machine (native floats, little-endian counters); for other readers
 * there is safetensors.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_STATE_H
#define COLONNADE_NN_STATE_H

#include "common/base/buf.h"
#include "common/nn/net.h"

size_t nn_state_bytes(const struct nn_net *n);
enum status nn_state_print(const struct nn_net *n, struct buf *out) MUST_USE; /* appends */
/* Reads nn_state_bytes(n) bytes back into a net of the same shape and optimiser; STATUS_DATA (and
 * nothing changed) when there are more or fewer, or a value is not finite. */
enum status nn_state_parse(struct nn_net *n, const uint8_t *bytes, size_t len) MUST_USE;

#endif
