/* ids.h -- do two ends of a run hold the same ids, without a way to guess them offline.
 *
 * Each member compares with its neighbours in the order of the generation's set, and the server,
 * which holds the ids of the labels, with the first one (clauses 2.4 to 2.7; threats D9, G4).  One
 * comparison is SPEKE (common/crypto/equality.h):
 *
 *   list     SHA-256("vfl/ids/list/1" || for each split: rows, 8 bytes little-endian || each id in
 *            order and 0): a secret of this side, since it can be guessed
 *   base     of label "vfl/ids/2": plan digest || generation, 8 bytes || key of the one before
 *            || key of the one after || list
 *   result   HKDF-SHA-256(r * other's element, salt sid, info "vfl/same/1" || key before
 *            || key after), 96 bytes: what the one before shows, what the one after shows, and a
 *            mark that both show, so that the server can tell who differs
 *
 * Keys are those of the roster, so both ends' places are in all of it; elements are in the hellos
 * and the offer, so sid covers them.  An end that does not hold the list can try one, which its
 * own element was made of, one a generation; counting (struct ids_counts) limits that for each pair
 * of ends, so that who controls k ends has it for each of theirs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_IDS_H
#define COLONNADE_FLOW_IDS_H

#include "common/crypto/equality.h"
#include "common/data/table.h"
#include "common/wire/message.h"

/* With whom a member compares. */
enum ids_side { IDS_BEFORE, IDS_AFTER, IDS_SIDES };

/* What both ends' base is made of, besides who they are. */
struct ids_terms {
    const uint8_t *plan_digest; /* WIRE_DIGEST_BYTES */
    uint64_t generation;
    const uint8_t *list; /* WIRE_DIGEST_BYTES, of ids_list */
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

/* How often somebody was compared with in vain, durably; note NULL: nobody counts.  A comparison
 * counts from before its proof is shown until the other end has shown the right one, whatever
 * comes between: who shows it holds the list, so that all it may have tried on that list before
 * counts no more. */
struct ids_counts {
    void *owner;
    uint64_t (*count)(void *owner, const uint8_t key[WIRE_KEY_BYTES]);
    /* Of n others at once: counted, or `equal` and no longer.  Durable when it returns. */
    enum status (*note)(void *owner, const uint8_t *const *keys, size_t n,
                        const uint8_t list[WIRE_DIGEST_BYTES], bool equal, struct error *err);
};

/* test NULL: as with no rows. */
void ids_list(uint8_t list[WIRE_DIGEST_BYTES], const struct table *train, const struct table *test);

/* `other` is where the other end is.  STATUS_CRYPTO: nothing is left in p then. */
enum status ids_begin(struct ids_pair *p, const struct ids_terms *t, const uint8_t *key_before,
                      const uint8_t *key_after, enum ids_side other) MUST_USE;
/* The other end's element has come, and is in sid.  STATUS_AUTH when it is none, or the own one.
 * The scalar is wiped whatever the answer. */
enum status ids_end(struct ids_pair *p, const uint8_t element[EQUALITY_BYTES],
                    const uint8_t sid[WIRE_DIGEST_BYTES]) MUST_USE;
bool ids_equal(const struct ids_pair *p, const uint8_t proof[WIRE_PROOF_BYTES]);
void ids_forget(struct ids_pair *p); /* safe on a zeroed struct, and again */

#endif
