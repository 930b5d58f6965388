/* plan_matrix.h -- the combinations that make sense, found by asking plan_check about all of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_MATRIX_H
#define COLONNADE_CONFIG_PLAN_MATRIX_H

#include "common/base/buf.h"

/* Appends Markdown: one row per aggregation and encoding, one column per fusion and straggler
 * policy, then every rule with its number, key and reason. */
enum status plan_matrix(struct buf *out) MUST_USE;

#endif
