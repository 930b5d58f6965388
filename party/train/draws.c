/* draws.c -- what draws.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/draws.h"

void party_draws_seed(struct party_draws *d, uint64_t seed, uint32_t party)
{
    d->seeded = true;
    d->seed = seed;
    d->party = party;
}

void party_draws_begin(struct party_draws *d, const char *purpose, uint64_t step)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!d->seeded)
        return;
    rng_seed_key(key, d->seed, d->party, purpose, step);
    rng_rekey(&d->rng, key);
}
