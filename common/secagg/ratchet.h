/* ratchet.h -- one member's keys with all others, by round: they only move forward.
 *
 * Every SECAGG_RATCHET_ROUNDS rounds each key goes through HKDF-Expand(key, "vfl/ratchet/1", 32),
 * and what it was is gone for good: memory stolen today does not open what was recorded then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_RATCHET_H
#define COLONNADE_SECAGG_RATCHET_H

#include "common/base/status.h"
#include "common/secagg/secagg.h"

#include <stdbool.h>
#include <stdint.h>

struct ratchet {
    uint32_t parties, self;
    uint8_t (*key)[SECAGG_KEY_BYTES]; /* parties; as of `epoch`; [self] unused */
    uint64_t epoch;                   /* round / SECAGG_RATCHET_ROUNDS of the keys */
    uint64_t last_round;
    bool started; /* last_round means something */
    bool lost;    /* a step failed: no key is left */
};

/* The keys are zero until the caller copies them in. */
enum status ratchet_init(struct ratchet *k, uint32_t parties, uint32_t self) MUST_USE;
void ratchet_deinit(struct ratchet *k); /* wipes; safe on a zeroed struct */

/* To the keys of this round; *turned says whether they are others than before.  STATUS_PROTOCOL,
 * and nothing changes, when the round does not grow, or jumps further than SECAGG_RATCHET_STEPS_MAX
 * steps.  STATUS_CRYPTO when a step fails: some keys have moved and others have not, so all are
 * wiped, and every later call says the same. */
enum status ratchet_begin(struct ratchet *k, uint64_t round, bool *turned) MUST_USE;

#endif
