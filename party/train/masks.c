/* masks.c -- draws of this party's own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/masks.h"

enum status party_masks_init(struct party_masks *m, const struct nn_spec *spec)
{
    return spec->dropout > 0 ? rng_init_system(&m->rng) : STATUS_OK;
}

void party_masks_seed(struct party_masks *m, uint64_t seed, uint32_t party)
{
    m->seeded = true;
    m->seed = seed;
    m->party = party;
}

void party_masks_deinit(struct party_masks *m)
{
    rng_deinit(&m->rng);
    *m = (struct party_masks){0};
}

void party_masks_draw(struct party_masks *m, struct nn_net *net, uint64_t step, uint32_t rows)
{
    uint8_t key[RNG_KEY_BYTES];

    if (!(net->spec.dropout > 0))
        return;
    if (m->seeded) {
        rng_seed_key(key, m->seed, m->party, "dropout", step);
        rng_rekey(&m->rng, key);
    }
    nn_net_draw_masks(net, rows, &m->rng);
}
