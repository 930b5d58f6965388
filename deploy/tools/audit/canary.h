/* canary.h -- a federation in which every record is a canary (distinguish.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_CANARY_H
#define COLONNADE_TOOLS_AUDIT_CANARY_H

#include "common/base/status.h"

#include <stdint.h>

struct canary {
    uint32_t rows, parties, embedding;
    uint32_t probes; /* of each canary; 0: the target's bottom does not learn */
};

/* Into an existing folder: train.csv and test.csv (id, the target's columns, one for each other
 * party, a label by a coin), where a coin of the system's generator is the sign of the only value
 * that a training record has in the target's columns, and all others' are 1; weights.safetensors, a
 * linear layer that takes 1 to the end of the box in every coordinate; target.safetensors, the
 * target's.
 *
 * Without probes the target has one column, and these weights.  With them it has one for each
 * canary: its value takes the embedding to 0.95 of the box, where there is a gradient still, and is
 * so large that the gradient of the column's weights is cut (model.clip).  The test records are
 * `probes` for each of these columns, with CANARY_PROBE in it: steps of 1 / CANARY_PROBE in the
 * weights, the learning rate times model.clip over the rows, move their embeddings as far as
 * tanh(1).  Their own labels, and those weights, hardly matter. */
#define CANARY_PROBE 1000
enum status canary_make(const struct canary *c, const char *dir, struct error *err) MUST_USE;

#endif
