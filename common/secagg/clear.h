/* clear.h -- aggregation `clear`.  Private to common/secagg.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CLEAR_H
#define COLONNADE_SECAGG_CLEAR_H

#include "common/secagg/protocol.h"

extern const struct secagg_protocol clear_protocol;

#endif
