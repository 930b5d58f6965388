/* federation.h -- who this party runs a job with: the set of a generation, its keys and its sid,
 * what is said of them in hellos and confirmations, and the comparison of ids.
 *
 * It outlives jobs and knows what none of them is about.  Touched by join.c, keys.c and compare.c;
 * a job reads the set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_FEDERATION_H
#define COLONNADE_PARTY_FEDERATION_H

#include "common/flow/agree.h"
#include "common/flow/ids.h"
#include "common/wire/message.h"

/* Who takes part in a generation, and what it is known by. */
struct party_set {
    uint64_t generation;
    uint32_t members_n, self; /* self: own index among the members */
    uint8_t members[WIRE_MEMBERS_MAX];
    struct agree_hello *hellos; /* by member */
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
    bool connected;
    uint32_t stalled; /* generations without a step forward */
    struct party_set set;
    uint8_t nonce[WIRE_KEY_BYTES], kex_secret[WIRE_KEY_BYTES], kex_public[WIRE_KEY_BYTES];
    struct agree_hello own;
    struct agree_confirm own_confirm;
    struct wire_hello show_hello;
    struct wire_confirm show_confirm;
    struct party_ids ids;
};

#endif
