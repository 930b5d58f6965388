/* tally.h -- what a member says of a stage: the sum of the points that it was given, what its key
 * makes of that sum, and a proof that it is the key that it has said first.
 *
 *   public   x B, B the group's base
 *   in       sum of the points of the list as it came; in stage 0, whose points are nobody else's,
 *            a point of the federation's session
 *   out      x in
 *   proof    c || z, that log_B(public) = log_in(out): Chaum and Pedersen (1992), made
 *            non-interactive by c = H(context, public, in, out, k B, k in), z = k + c x
 *
 * Sums are linear, so `out` is the sum of the list as it leaves, whatever its order: the next
 * member's `in`.  A list raised by another exponent, or with points put in the place of others,
 * shows there, but for changes whose sum is nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_ALIGN_TALLY_H
#define COLONNADE_ALIGN_TALLY_H

#include "common/crypto/group.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TALLY_PUBLIC = 0,
    TALLY_IN = 32,
    TALLY_OUT = 64,
    TALLY_PROOF = 96,
    TALLY_BYTES = 160,
    TALLY_CONTEXT_BYTES = 40 /* of a session, a stage and a member */
};

struct tally_key {
    uint8_t secret[GROUP_BYTES], public[GROUP_BYTES];
};

/* Of GROUP_RANDOM_BYTES that serve for nothing else. */
enum status tally_key_init(struct tally_key *k, const uint8_t random[GROUP_RANDOM_BYTES]) MUST_USE;
/* The key a b. */
enum status tally_key_product(struct tally_key *k, const uint8_t a[GROUP_BYTES],
                              const uint8_t b[GROUP_BYTES]) MUST_USE;
void tally_key_wipe(struct tally_key *k);

/* session: 32 bytes. */
void tally_context(uint8_t out[TALLY_CONTEXT_BYTES], const uint8_t session[32], uint32_t stage,
                   uint32_t member);
/* The point of stage 0. */
enum status tally_origin(uint8_t out[GROUP_BYTES], const uint8_t session[32]) MUST_USE;

/* STATUS_CRYPTO: `in` is no point. */
enum status tally_make(uint8_t out[TALLY_BYTES], const struct tally_key *k,
                       const uint8_t in[GROUP_BYTES], const uint8_t context[TALLY_CONTEXT_BYTES],
                       const uint8_t random[GROUP_RANDOM_BYTES]) MUST_USE;
/* Are these points, and is it one exponent? */
bool tally_holds(const uint8_t tally[TALLY_BYTES], const uint8_t context[TALLY_CONTEXT_BYTES]);

#endif
