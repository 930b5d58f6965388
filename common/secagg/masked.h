/* masked.h -- pairwise masks that cancel in the sum.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_MASKED_H
#define COLONNADE_SECAGG_MASKED_H

#include "common/secagg/ops.h"

extern const struct secagg_ops masked_ops;

#endif
