/* plan_head.h -- what model.head lists: whether each item takes what comes to it, and how many
 * parameters that makes.
 *
 * To a head come values without an order, of which layers of images and series make nothing: it
 * takes units, activations, normalisations, blocks of two ways and flatten, which changes nothing.
 * What they compute is the net's business (common/nn/listed.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_HEAD_H
#define COLONNADE_CONFIG_PLAN_HEAD_H

#include "common/config/plan.h"

/* Columns of what the head takes: P, or under concat parties times P; 0: not yet known. */
uint32_t plan_head_inputs(const struct plan *p);

/* The first item of model.head that does not take what comes to it, with what it takes and what
 * comes, into out (size bytes), in words; false: all do.  As far as widths are known yet. */
bool plan_head_fault(const struct plan *p, char *out, size_t size);

/* What a row makes of values behind all items, for which there is memory for a whole batch. */
uint64_t plan_head_values(const struct plan *p);

bool plan_head_lists(const struct plan *p, enum layers_word word);
/* Does a layer of the head make what one row gives hang on the others of its batch? */
bool plan_head_mixes(const struct plan *p);

/* Columns behind the head's first layer, which is of units: the rank of a gradient, at most (k of
 * factored). */
uint32_t plan_head_width(const struct plan *p);

/* The first key by which this plan needs the head to be of layers, so that no program can compute
 * it (model.head_program), and why; NULL: it needs none. */
const char *plan_head_needs_layers(const struct plan *p, const char **why);

/* What the head has for parameters, in floats: of all layers, and of stand-ins; 0 for identity. */
size_t plan_head_params(const struct plan *p);

#endif
