/* agree.h -- one view of keys, set and plan: what is signed, what the session id is, what is
 * derived from it.
 *
 *   hello      signature over "vfl/hello/2", body (plan digest, generation, name, nonce, key,
 *              shapes, dealings, number of the ledger, elements)
 *   sid        SHA-256("vfl/sid/3" || plan digest || generation || the server's element ||
 *              playing || M || for each member: |body|, body, public key)
 *   confirm    signature over "vfl/confirm/3", sid || proofs || marks || for each member: highest
 * number of its ledger ever seen, 8 bytes little-endian pair keys  HKDF-SHA-256(X25519(own, other),
 * salt sid, info), 32 bytes each: mask   "vfl/mask/1" || low || high seal   "vfl/seal/1" || sender
 * || receiver (roster indices, 2 bytes little-endian each)
 *
 * Nobody sends data before it holds every member's confirmation of one sid (threats 1.2, D2, D6,
 * D7).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_AGREE_H
#define COLONNADE_FLOW_AGREE_H

#include "common/base/buf.h"
#include "common/crypto/sign.h"
#include "common/flow/roster.h"
#include "common/secagg/secagg.h"
#include "common/wire/message.h"

/* A hello or confirmation kept beyond the message it came in. */
struct agree_hello {
    uint8_t body[WIRE_HELLO_MAX];
    size_t body_len;
    uint8_t public_key[WIRE_KEY_BYTES], signature[WIRE_SIGNATURE_BYTES];
    uint8_t kex_public[WIRE_KEY_BYTES];
    uint32_t train_rows, test_rows;
    /* fedvs; zero elsewhere. */
    uint32_t features, degree;
    bool has_dealing, has_holds;
    uint8_t dealing[WIRE_DIGEST_BYTES], holds[WIRE_DIGEST_BYTES];
    uint64_t held;
    uint64_t ledger;
    uint8_t elements[WIRE_ELEMENTS_BYTES];
};

struct agree_confirm {
    uint8_t sid[WIRE_DIGEST_BYTES], proofs[WIRE_PROOFS_BYTES], marks[WIRE_PROOFS_BYTES];
    uint8_t signature[WIRE_SIGNATURE_BYTES];
    uint8_t seen[WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX];
    size_t members; /* that `seen` is of */
};

/* What every hello of a generation must say. */
struct agree_terms {
    const uint8_t *plan_digest; /* WIRE_DIGEST_BYTES */
    uint64_t generation;
    /* For agree_sid alone, of the server's offer: WIRE_ELEMENT_BYTES, WIRE_DIGEST_BYTES. */
    const uint8_t *element, *playing;
};

/* Is h of the party `who`, signed by the roster's key, for these terms?  Features, degree and a
 * dealing come together or not at all; so do holds and held, and only with a dealing.  STATUS_AUTH
 * or STATUS_PROTOCOL. */
enum status agree_check_hello(const struct wire_hello *h, const struct roster_entry *who,
                              const struct agree_terms *terms, struct error *err) MUST_USE;
void agree_keep_hello(struct agree_hello *kept, const struct wire_hello *h);
struct wire_hello agree_show_hello(const struct agree_hello *kept); /* the fields packing reads */

/* sid over n kept hellos in member order. */
void agree_sid(uint8_t sid[WIRE_DIGEST_BYTES], const struct agree_terms *terms,
               const struct agree_hello *hellos, size_t n);

enum status agree_sign_confirm(struct agree_confirm *c, const struct sign_key *key) MUST_USE;
/* Is c of the holder of public_key, for this sid, and about so many members? */
enum status agree_check_confirm(const struct wire_confirm *c,
                                const uint8_t public_key[WIRE_KEY_BYTES],
                                const uint8_t sid[WIRE_DIGEST_BYTES], size_t members,
                                struct error *err) MUST_USE;
void agree_keep_confirm(struct agree_confirm *kept, const struct wire_confirm *c);
/* Member m's number in what a confirmation has seen, and to put it there. */
uint64_t agree_seen(const struct wire_confirm *c, size_t m);
void agree_put_seen(struct agree_confirm *c, size_t m, uint64_t number);
struct wire_confirm agree_show_confirm(const struct agree_confirm *kept, uint64_t generation);

/* What members `self` and `other` (roster indices) share, as `self` holds it.  STATUS_AUTH when the
 * other's key is none; out is then wiped. */
enum status agree_pair_keys(struct secagg_pair *out, const uint8_t own_secret[32],
                            const uint8_t other_public[32], const uint8_t sid[WIRE_DIGEST_BYTES],
                            uint32_t self, uint32_t other) MUST_USE;

#endif
