/* masked.h -- aggregation `masked`.  Private to common/secagg.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_MASKED_H
#define COLONNADE_SECAGG_MASKED_H

#include "common/secagg/protocol.h"

extern const struct secagg_protocol masked_protocol;

#endif
