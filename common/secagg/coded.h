/* coded.h -- Lagrange-coded shares: any K + T members' uploads give the sum of all.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CODED_H
#define COLONNADE_SECAGG_CODED_H

#include "common/secagg/ops.h"

extern const struct secagg_ops coded_ops;

#endif
