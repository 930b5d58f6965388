/* mask.h -- the mask streams between one member and all others of a generation.
 *
 * One AES-256-CTR stream per unordered pair, which in each round starts at block 0 of
 *
 *   IV = first 96 bits of SHA-256("vfl/mask/1" || purpose || round || sid || broadcast)
 *
 * (purpose 1 byte, round 8 bytes little-endian) under the pair's key, which has gone round / 256
 * times through HKDF-Expand(key, "vfl/ratchet/1", 32).  It is read as little-endian lanes of 16 or
 * 32 bits; the member of the lower index adds it, the other subtracts it (design.md, Masked).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_MASK_H
#define COLONNADE_SECAGG_MASK_H

#include "common/base/status.h"
#include "common/crypto/digest.h"
#include "common/crypto/prg.h"
#include "common/secagg/ratchet.h"
#include "common/secagg/secagg.h"

#include <stddef.h>
#include <stdint.h>

/* Of one call: key stream and lanes stay in the first cache level together. */
enum { MASK_CHUNK_BYTES = 4096 };

struct mask_set {
    uint32_t parties, self;
    struct prg *stream; /* parties; [self] unused */
    struct ratchet keys;
    struct digest digest;
    uint8_t *words; /* MASK_CHUNK_BYTES of key stream */
};

/* pairs: one for each member, whose mask keys are copied. */
enum status mask_init(struct mask_set *m, uint32_t parties, uint32_t self,
                      const struct secagg_pair *pairs) MUST_USE;
void mask_deinit(struct mask_set *m); /* wipes; safe on a zeroed struct */

/* To the first word of every stream of round r.  STATUS_PROTOCOL when the round does not grow, or
 * jumps further than SECAGG_RATCHET_STEPS_MAX steps of the ratchet. */
enum status mask_begin(struct mask_set *m, const struct secagg_round *r) MUST_USE;
/* lanes[n] += the next n words of every stream, with their signs; n lanes fit MASK_CHUNK_BYTES.
 * Only the last call of a round may have lanes that are not whole blocks of 16 bytes. */
void mask_apply16(struct mask_set *m, uint16_t *lanes, size_t n);
void mask_apply32(struct mask_set *m, uint32_t *lanes, size_t n);
/* Wipes the scratch, after the last word of a round. */
void mask_end(struct mask_set *m);

#endif
