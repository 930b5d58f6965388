/* zero.h -- shares of a random polynomial that vanishes where the sums are (threats C1).
 *
 * Pseudorandom secret sharing (Cramer, Damgard, Ishai 2005): the members add it to their results in
 * every round, without talking to each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_ZERO_H
#define COLONNADE_SECAGG_ZERO_H

#include "common/base/status.h"
#include "common/crypto/digest.h"
#include "common/crypto/prg.h"
#include "common/crypto/rng.h"
#include "common/field/field.h"
#include "common/secagg/ratchet.h"
#include "common/secagg/secagg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The results of FedVS are values of a polynomial psi of degree 2 (K+T-1), of which the sums are
 * K values; a server that saw psi would learn the rest of it, too.  So each element of a round is
 * hidden by an r(z) = V(z) s(z), V(z) = product over k of (z - beta_k), s of degree K + 2T - 2:
 *
 *   for every set A of M - T members a key k_A, which its members have and nobody else
 *   f_{A,i}(z) = V(z) product over members j not in A of (z - alpha_j) z^i,  i = 0 .. K+T-2
 *   r(z)       = sum over A, i of c_{A,i} f_{A,i}(z)
 *
 * with coefficients c of its own.  Member j needs only the sets that it is in: the other terms are
 * 0 at alpha_j.  Any T members miss one key, and that set's K+T-1 coefficients hide all of psi that
 * the sums and their own results do not say.
 *
 * c_{A,i} are uniform elements, for i = 0 those of all elements, then for i = 1, and so on, by the
 * field's rejection from AES-256-CTR under k_A, from block 0 of the round's IV on (round.h), label
 * "vfl/zero/1", k_A having gone round / 256 times through the ratchet (ratchet.h).
 *
 * The lowest member of A draws k_A, for this generation, and gives it to the others.  What a dealer
 * gives one member is one part: its sets in the order of their missing members, which are written
 * ascending and compared like words; 32 bytes each, zeros where the receiver is not in the set. */

enum {
    ZERO_KEYS_MAX = 512, /* of one member */
    ZERO_CHUNK = 1024,   /* elements that are drawn at once */
};

struct zero_shape {
    const struct field *field;
    uint32_t parties, self, segments, privacy;
};

struct zero_subset {
    uint64_t missing[PLAN_PARTIES_MAX / 64]; /* bit j: member j is not in it */
    uint32_t key;                            /* which of this member's keys; ZERO_KEYS_MAX: none */
    uint64_t scale;                          /* f_{A,0} at this member's point */
};

struct zero {
    struct zero_shape shape;
    struct zero_subset *subset;           /* all, dealer by dealer */
    uint32_t first[PLAN_PARTIES_MAX + 1]; /* of each dealer: up to that of the next */
    uint32_t keys_n;
    struct ratchet keys;
    struct prg *stream; /* keys_n */
    struct digest digest;
    void *elements;  /* ZERO_CHUNK */
    uint8_t *random; /* for them */
};

/* Keys of one member: C(M-1, T), or anything above ZERO_KEYS_MAX when it is more than that. */
uint64_t zero_keys_n(uint32_t parties, uint32_t privacy);
/* Bytes of one part of this dealer; 0 of those that are the lowest of no set. */
size_t zero_part_bytes(uint32_t parties, uint32_t privacy, uint32_t dealer);

/* Shapes that fedvs_terms_init() admits (CHECK).  On failure *z is zeroed. */
enum status zero_init(struct zero *z, const struct zero_shape *s) MUST_USE;
void zero_deinit(struct zero *z); /* wipes; safe on a zeroed struct */

/* Draws the keys that this member deals. */
void zero_draw(struct zero *z, struct rng *uniform);
/* Its part for `to`, after that. */
void zero_part(const struct zero *z, uint8_t *part, uint32_t to);
/* Another dealer's part for this member.  False when a key is there that must not be, or none where
 * one must be. */
bool zero_take(struct zero *z, uint32_t dealer, const uint8_t *part) MUST_USE;

/* To the first coefficient of round r, once all keys are there.  STATUS_PROTOCOL as
 * ratchet_begin(). */
enum status zero_begin(struct zero *z, const struct secagg_round *r) MUST_USE;
/* x[n] += this member's share of the round's n polynomials, all at once; wipes its scratch. */
void zero_add(struct zero *z, void *x, size_t n);

#endif
