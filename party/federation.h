/* federation.h -- who this party plays a job with: the set of a generation, its keys and its sid,
 * what is said of them in hellos and confirmations, and the comparison of ids.
 *
 * It outlives jobs and knows what none of them is about, but for the digest of the one that is on
 * offer.  join.c, keys.c and compare.c change it, each the part that is its own; session.c calls
 * them; a job sees the set and nothing else.  Each function that fails says why in f->error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_FEDERATION_H
#define COLONNADE_PARTY_FEDERATION_H

#include "common/flow/agree.h"
#include "common/flow/ids.h"
#include "common/wire/message.h"
#include "party/setup.h"

/* Who takes part in a generation, and what it is known by. */
struct party_set {
    uint64_t generation;
    uint32_t members_n, self; /* self: own index among the members */
    uint8_t members[WIRE_MEMBERS_MAX];
    struct agree_hello *hellos;         /* by member; once all are good */
    uint8_t playing[WIRE_DIGEST_BYTES]; /* of the offer */
    uint8_t sid[WIRE_DIGEST_BYTES];
};

/* Comparing ids with the neighbours. */
struct party_ids {
    uint8_t list[WIRE_DIGEST_BYTES]; /* of its own, a secret */
    uint8_t elements[WIRE_ELEMENTS_BYTES];
    uint8_t offered[WIRE_ELEMENT_BYTES];
    struct ids_pair pair[IDS_SIDES];
};

struct party_federation {
    const struct party_setup *setup;
    struct error *error; /* the session's */
    bool connected;
    uint32_t stalled;  /* offers since the job has come further than ever */
    uint64_t furthest; /* that it had come then */
    uint8_t job[WIRE_DIGEST_BYTES];
    struct party_set set;
    uint8_t nonce[WIRE_KEY_BYTES], kex_secret[WIRE_KEY_BYTES], kex_public[WIRE_KEY_BYTES];
    struct agree_hello own;
    struct agree_confirm own_confirm;
    struct wire_hello show_hello;
    struct wire_confirm show_confirm;
    struct party_ids ids;
};

/* Room for everybody's hellos. */
enum status party_federation_init(struct party_federation *f, const struct party_setup *setup,
                                  struct error *error) MUST_USE;
void party_federation_deinit(struct party_federation *f);

/* --- join.c --- */

/* What a join says of this party, whatever it is to do. */
void party_join(const struct party_federation *f, struct wire_join *j);
/* May there be another generation?  furthest: how far the job has ever come. */
enum status party_check_offer(struct party_federation *f, const struct wire_offer *o,
                              uint64_t furthest) MUST_USE;
enum status party_take_members(struct party_federation *f, const struct wire_offer *o) MUST_USE;
/* The offer is taken: its generation begins, with a job of this digest. */
void party_take_offer(struct party_federation *f, const struct wire_offer *o,
                      const uint8_t digest[WIRE_DIGEST_BYTES]);
/* Another job begins: of the one before only the last generation is known. */
void party_forget_job(struct party_federation *f);
/* Keys live in memory only and with one generation only (threats A4). */
void party_forget_keys(struct party_federation *f);

/* --- keys.c --- */

/* f->show_hello, with fresh keys, of what the job has said in h. */
enum status party_make_hello(struct party_federation *f, struct wire_hello *h) MUST_USE;
enum status party_take_hellos(struct party_federation *f, const struct wire_hellos *hs) MUST_USE;
struct secagg_pair;
/* All are good: sid, and the keys with each other member: secrets, the caller's to wipe. */
enum status party_pair_keys(struct party_federation *f, struct secagg_pair *pairs) MUST_USE;
/* f->show_confirm, of f->own_confirm.  *accused as below. */
enum status party_make_confirm(struct party_federation *f, uint32_t *accused) MUST_USE;
enum status party_check_confirms(struct party_federation *f,
                                 const struct wire_confirms *cs) MUST_USE;

/* --- compare.c --- */

enum status party_compare_begin(struct party_federation *f) MUST_USE; /* elements for a hello */
/* All hellos are good, and sid is known: counted, and what is shown into the own confirmation.
 * STATUS_POLICY: a neighbour has tried too many lists; *accused: its index in the roster + 1, of
 * the server 0. */
enum status party_compare_end(struct party_federation *f, uint32_t *accused) MUST_USE;
/* STATUS_DATA: a neighbour has other ids; *accused is that one, likewise. */
enum status party_compare_check(struct party_federation *f, const struct wire_confirms *cs,
                                uint32_t *accused) MUST_USE;
void party_compare_forget(struct party_federation *f);

#endif
