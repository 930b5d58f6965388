/* colluder.h -- what parties that the adversary holds have put into a sum.
 *
 * Such a party would say it.  In a run with a seed its noise is drawn again instead, as
 * party/train/work.c draws it, for the embeddings that canary.h gives all parties but the target:
 * the far end of the box.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_AUDIT_COLLUDER_H
#define COLONNADE_TOOLS_AUDIT_COLLUDER_H

#include "common/crypto/rng.h"
#include "common/secagg/encode.h"
#include "common/wire/message.h"

struct colluder_round {
    enum wire_purpose purpose;
    uint64_t place, sweep;
    size_t values;
};

struct colluder {
    struct encode encode;
    struct rng noise;
    uint64_t seed;
    uint32_t *code; /* values_max each, as is x */
    float *x;
    size_t values_max;
};

/* STATUS_CONFIG when the plan's encoding is not pbm. */
enum status colluder_init(struct colluder *c, const struct plan *p, uint64_t seed,
                          size_t values_max, struct error *err) MUST_USE;
void colluder_deinit(struct colluder *c); /* safe on a zeroed struct */

/* out[r->values]: the share of the roster's party `party` (from 0) in the round's estimated sum. */
void colluder_part(struct colluder *c, float *out, uint32_t party, const struct colluder_round *r);

/* Can this be what one party alone has put in?  Then it is on the lattice of codes. */
bool colluder_is_code(const struct colluder *c, double value);

#endif
