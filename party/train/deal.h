/* deal.h -- shares of the data, which go before the rounds of fedvs: what is dealt, and where
 * shares of everybody's lie.
 *
 * Touched by deal.c; a checkpoint has the secret.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_DEAL_H
#define COLONNADE_PARTY_TRAIN_DEAL_H

#include "common/crypto/rng.h"
#include "common/flow/dealing.h"
#include "common/wire/message.h"

struct party_deal {
    uint8_t secret[RNG_KEY_BYTES];   /* kept in checkpoints */
    uint8_t key[RNG_KEY_BYTES];      /* of it, the plan, the roster and the data: draws the masks */
    uint8_t name[WIRE_DIGEST_BYTES]; /* of the key, for the others */
    struct dealing chunks;           /* of this generation's terms */
    uint64_t held, furthest; /* chunks of everybody's shares that are here; and the most ever */
    uint8_t holds[WIRE_DIGEST_BYTES]; /* of which sharings they are */
    bool keys_due;                    /* the generation's subset keys are not here yet */
    uint8_t *memory; /* a header; shares of the training split, of the test split */
    size_t bytes;
    float *x; /* a chunk of own data */
    size_t x_floats;
    struct rng masks;
};

#endif
