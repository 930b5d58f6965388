/* clear.h -- no protection: the measured baseline.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CLEAR_H
#define COLONNADE_SECAGG_CLEAR_H

#include "common/secagg/ops.h"

extern const struct secagg_ops clear_ops;

#endif
