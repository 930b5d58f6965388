/* trail.h -- what a party has been shown: a chain over all gradients, and a digest of where a round
 * stands.
 *
 *   trail_0     = SHA-256("vfl/trail/1" || plan digest)
 *   trail_(s+1) = SHA-256(trail_s || s || gradient of step s)
 *   view        = SHA-256("vfl/view/1" || trail ||
 *                         generation || purpose || round || place || sweep)
 *
 * (numbers: 8 bytes, little-endian).  Masks and sealed shares of a round depend on the view.  So
 * parties that were shown different gradients, now, in a replay or in an earlier process, produce
 * noise; and a model of another run is known by its trail.  Under straggler drop and async, where
 * a party may miss steps, the chain starts anew with each generation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_TRAIL_H
#define COLONNADE_FLOW_TRAIL_H

#include "common/config/plan.h"
#include "common/crypto/digest.h"
#include "common/wire/message.h"

#include <stdbool.h>

struct trail {
    uint8_t value[WIRE_DIGEST_BYTES];
};

/* Where a round stands among all others. */
struct trail_round {
    uint64_t generation, round, place, sweep;
    enum wire_purpose purpose;
};

void trail_begin(struct trail *t, struct digest *d, const uint8_t plan_digest[WIRE_DIGEST_BYTES]);
void trail_add(struct trail *t, struct digest *d, uint64_t step, const void *gradient, size_t n);
void trail_view(uint8_t view[WIRE_DIGEST_BYTES], struct digest *d, const struct trail *t,
                const struct trail_round *r);

/* Do all sides of a run under this plan end with one trail?  Not where a party may miss steps, has
 * a gradient of its own, or none. */
bool trail_is_shared(const struct plan *plan);

#endif
