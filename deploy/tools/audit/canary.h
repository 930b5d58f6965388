/* canary.h -- a federation in which every record is a canary (distinguish.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_CANARY_H
#define COLONNADE_TOOLS_AUDIT_CANARY_H

#include "common/base/status.h"

#include <stdint.h>

struct canary {
    uint32_t rows, parties, embedding;
};

/* Into an existing folder: train.csv and test.csv (id, a column for each party, a label by a coin),
 * where the first party's column is 1 or -1 by a coin of the system's generator and all others' are
 * 1; and weights.safetensors, a linear layer that takes 1 to the end of the box in every
 * coordinate. */
enum status canary_make(const struct canary *c, const char *dir, struct error *err) MUST_USE;

#endif
