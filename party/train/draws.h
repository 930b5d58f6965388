/* draws.h -- what a step of training leaves to chance on this side: a generator, which goes by
 * seed, party and step alone under --insecure-seed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_DRAWS_H
#define COLONNADE_PARTY_TRAIN_DRAWS_H

#include "common/crypto/rng.h"

#include <stdbool.h>

struct party_draws {
    struct rng rng; /* the system's generator, but in seeded runs */
    bool seeded;
    uint64_t seed;
    uint32_t party;
};

void party_draws_seed(struct party_draws *d, uint64_t seed, uint32_t party);
/* Those of one step, for one purpose. */
void party_draws_begin(struct party_draws *d, const char *purpose, uint64_t step);

#endif
