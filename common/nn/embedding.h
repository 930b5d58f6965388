/* embedding.h -- tables of vectors for columns that are levels, the first layer of its net.
 *
 * Of a row's columns those in nn_spec.embedded hold the number of a level, 1 .. levels, and become
 * that row of their table, which is trained; 0, and whatever is no level, becomes zeros, of which
 * nothing is learned.  All other columns pass through as they are.  This is the product of a
 * one-hot row with a matrix without a bias, taken without forming either.
 *
 *     y = (columns that pass, in their order; the vector of each embedded column, in theirs)
 *
 * A row moves one row of each table at most, and that by its dy: the norm of its own gradient is
 * exact.  The steps are the same whatever the levels; which lines of memory they touch is not.
 * Updates are dense: momentum, Adam's moments and weight decay move rows that a batch has
 * not, as those of any layer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_EMBEDDING_H
#define COLONNADE_NN_EMBEDDING_H

#include "common/nn/layer.h"

/* tensors: layer.0.table.0, layer.0.table.1, ..., each levels x width */
extern const struct layer_kind EMBEDDING_LAYER;

/* Floats of all tables; columns that come out. */
size_t embedding_params(const struct nn_embedded *e);
size_t embedding_width(const struct nn_embedded *e, size_t columns);

#endif
