/* ids.h -- do two ends of a run hold the same ids, without a way to guess them offline.
 *
 * Each member compares with its neighbours in the order of the generation's set, and the server,
 * which holds the ids of the labels, with the first one (clauses 2.4 to 2.7; threats D9, G4).  One
 * comparison is SPEKE (common/crypto/equality.h):
 *
 *   list     SHA-256("vfl/ids/list/1" || for each split: rows, 8 bytes little-endian || each id in
 *            order and 0): a secret of this side, since it can be guessed.  Of rows of an alignment
 *            rows + 2^63 || the digest that the places are bound to, 32 bytes || each place and 0
 *   base     of label "vfl/ids/3": key of the one before || key of the one after || list
 *   scalar   HKDF-SHA-256(secret of this side, no salt, info "vfl/ids/scalar/1" || what the base is
 *            made of), 64 bytes
 *   result   HKDF-SHA-256(r * other's element, salt sid, info "vfl/same/1" || key before
 *            || key after), 96 bytes: what the one before shows, what the one after shows, and a
 *            mark that both show, so that the server can tell who differs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_IDS_H
#define COLONNADE_FLOW_IDS_H

#include "common/crypto/equality.h"
#include "common/data/table.h"
#include "common/wire/message.h"

/* Keys are those of the roster, so both ends' places are in all of it; elements are in the hellos
 * and the offer, so sid covers them, with plan and generation.
 *
 * An end that does not hold the list can try one, which its own element was made of.  An end's
 * element stays the same as long as its list does, so one that was shown before is no other guess,
 * however its comparison ended and whoever broke it off; another one is, and counting (struct
 * ids_counts) limits those for each pair of ends, so that who controls k ends has it for each of
 * theirs. */

/* With whom a member compares. */
enum ids_side { IDS_BEFORE, IDS_AFTER, IDS_SIDES };

enum { IDS_SECRET_BYTES = 32 };

/* What an end brings, besides who it is. */
struct ids_own {
    const uint8_t *list;   /* WIRE_DIGEST_BYTES, of ids_list */
    const uint8_t *secret; /* IDS_SECRET_BYTES, which outlive the process */
};

/* One comparison, at one end. */
struct ids_pair {
    bool any;                           /* there is an other end; all else is zero if not */
    enum ids_side other;                /* where it is, seen from here */
    uint8_t key[2][WIRE_KEY_BYTES];     /* the roster's, of the one before and the one after */
    struct equality own;                /* its element goes out */
    uint8_t shown[WIRE_PROOF_BYTES];    /* to the other end, once the sid is known */
    uint8_t expected[WIRE_PROOF_BYTES]; /* from it */
    uint8_t mark[WIRE_PROOF_BYTES];     /* for the server */
};

/* How many lists somebody may have tried on the own one, durably.  An element counts from before
 * its comparison is answered until the other end has shown the right proof, whatever comes between:
 * who shows it holds the list, so that all it may have tried on that list before counts no more.
 * One that is the other end's last on that list is answered again without being counted again. */
struct ids_counts {
    void *owner;
    const uint8_t *secret; /* IDS_SECRET_BYTES: of ids_own */
    uint64_t (*count)(void *owner, const uint8_t key[WIRE_KEY_BYTES]);
    /* Is this its last on that list? */
    bool (*known)(void *owner, const uint8_t key[WIRE_KEY_BYTES],
                  const uint8_t list[WIRE_DIGEST_BYTES], const uint8_t element[EQUALITY_BYTES]);
    /* Of n others at once: are about to be answered.  Durable when it returns. */
    enum status (*note)(void *owner, const uint8_t *const *keys, const uint8_t *const *elements,
                        size_t n, const uint8_t list[WIRE_DIGEST_BYTES], struct error *err);
    /* Of n others at once: have shown the right proof.  Durable when it returns. */
    enum status (*equal)(void *owner, const uint8_t *const *keys, size_t n,
                         const uint8_t list[WIRE_DIGEST_BYTES], struct error *err);
};

/* May `key` be answered for this element, when it may try `most` lists? */
bool ids_may_answer(const struct ids_counts *c, const uint8_t key[WIRE_KEY_BYTES],
                    const uint8_t list[WIRE_DIGEST_BYTES], const uint8_t element[EQUALITY_BYTES],
                    uint64_t most);

/* test NULL: as with no rows. */
void ids_list(uint8_t list[WIRE_DIGEST_BYTES], const struct table *train, const struct table *test);

/* What to do when they differ, and who does it; which ids differ nobody can say. */
const char *ids_advice(const struct table *train);

/* `other` is where the other end is.  STATUS_CRYPTO: nothing is left in p then. */
enum status ids_begin(struct ids_pair *p, const struct ids_own *own, const uint8_t *key_before,
                      const uint8_t *key_after, enum ids_side other) MUST_USE;
/* The other end's element has come, and is in sid.  STATUS_AUTH when it is none.
 * The scalar is wiped whatever the answer. */
enum status ids_end(struct ids_pair *p, const uint8_t element[EQUALITY_BYTES],
                    const uint8_t sid[WIRE_DIGEST_BYTES]) MUST_USE;
bool ids_equal(const struct ids_pair *p, const uint8_t proof[WIRE_PROOF_BYTES]);
void ids_forget(struct ids_pair *p); /* safe on a zeroed struct, and again */

#endif
