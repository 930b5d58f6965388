/* mask.h -- one party's pairwise mask streams through the rounds of a generation.  Private to
 * common/secagg.
 *
 * Pair (i, j), i < j, shares a key; in each round i adds the pair's stream and j subtracts it.  The
 * stream of a round is AES-256-CTR under the pair's key, from block 0 of
 *
 *   IV = first 96 bits of SHA-256("vfl/mask/1" || purpose || round || sid || broadcast)
 *
 * (purpose 1 byte, round 8 bytes little-endian)
 * and the key of the rounds 256 e .. 256 e + 255 is the pair's first one put e times through
 * HKDF-Expand(key, "vfl/ratchet/1", 32).  The old key is overwritten: a key that leaks says nothing
 * about earlier epochs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_MASK_H
#define COLONNADE_SECAGG_MASK_H

#include "common/crypto/digest.h"
#include "common/crypto/prg.h"
#include "common/secagg/secagg.h"

/* Of one pair's stream at a time: so that it and the lanes stay in the first cache level. */
enum { MASK_RUN_BYTES = 8192 };

struct mask_pair {
    struct prg stream;
    bool subtract; /* the other party comes first */
    uint8_t key[SECAGG_KEY_BYTES];
};

struct mask {
    uint32_t pairs;
    struct mask_pair *pair; /* in the order of the others' indices */
    uint64_t epoch;         /* of the keys */
    struct digest digest;
    uint8_t iv[PRG_IV_BYTES]; /* of the open round */
    uint8_t *run;             /* MASK_RUN_BYTES of scratch */
};

/* keys: parties x SECAGG_KEY_BYTES, entry [self] ignored. */
enum status mask_init(struct mask *m, uint32_t parties, uint32_t self,
                      const uint8_t *keys) MUST_USE;
void mask_deinit(struct mask *m); /* wipes; safe on a zeroed struct */

/* Puts every stream at its start for this round.  The round's epoch must not lie before the keys'
 * (CHECK). */
void mask_open(struct mask *m, const struct secagg_round *r);
/* lanes[i] += the pairs' next n words, mod 2^16 or 2^32; words little-endian. */
void mask_add16(struct mask *m, uint16_t *lanes, size_t n);
void mask_add32(struct mask *m, uint32_t *lanes, size_t n);

#endif
