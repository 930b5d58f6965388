/* share.h -- how members of a generation seal shares for each other, past the server that carries
 * them (threats D1).
 *
 * AES-256-GCM with a key for each direction of each pair, which moves forward with the rounds
 * (ratchet.h).  Of the share that member `from` makes for member `to` in a round:
 *
 *   nonce = round (8) || purpose (1) || 0 0 0
 *   AAD   = "vfl/share/1" || sid (32) || purpose (1) || round (8) || from (2) || to (2) ||
 *           broadcast (32)
 *
 * Numbers are little-endian; `from` and `to` are member indices of the generation, whose roster
 * indices are in the keys (common/flow/agree.h) and whose hellos are in sid.  Rounds of a
 * generation only grow and a round is shared once, so no key sees a nonce twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_SHARE_H
#define COLONNADE_SECAGG_SHARE_H

#include "common/base/status.h"
#include "common/crypto/aead.h"
#include "common/secagg/ratchet.h"
#include "common/secagg/secagg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARE_AAD_BYTES = 11 + 32 + 1 + 8 + 2 + 2 + 32 };

struct share_keys {
    uint32_t parties, self;
    struct ratchet to, from;
    struct aead *seal, *open;     /* parties; [self] unused */
    uint8_t aad[SHARE_AAD_BYTES]; /* of the round; from and to change with the share */
    struct aead_name name;        /* over aad */
};

/* The sealing keys of pairs[parties], copied.  On failure *k is zeroed. */
enum status share_init(struct share_keys *k, uint32_t parties, uint32_t self,
                       const struct secagg_pair *pairs) MUST_USE;
void share_deinit(struct share_keys *k); /* wipes; safe on a zeroed struct */

/* Opens round r.  STATUS_PROTOCOL when the round does not grow, or jumps too far (ratchet.h). */
enum status share_begin(struct share_keys *k, const struct secagg_round *r) MUST_USE;
/* Is r the round that was opened last, in every part of its name? */
bool share_is(const struct share_keys *k, const struct secagg_round *r);

/* Byte at which the part of member j begins, of parts of this size, among those of all members but
 * this one. */
size_t share_part(const struct share_keys *k, uint32_t j, size_t part);

/* Of the round opened last, once for each member: bytes[n] in place, and the tag. */
void share_seal(struct share_keys *k, uint32_t to, uint8_t *bytes, size_t n,
                uint8_t tag[AEAD_TAG_BYTES]);
/* The parts of all other members, of `part` bytes each, and their tags. */
void share_seal_all(struct share_keys *k, uint8_t *parts, uint8_t *tags, size_t part);
/* out[n] from what `from` sealed for this member in that round.  False otherwise: out is wiped. */
bool share_open(struct share_keys *k, uint32_t from, uint8_t *out, const uint8_t *in, size_t n,
                const uint8_t tag[AEAD_TAG_BYTES]) MUST_USE;

#endif
