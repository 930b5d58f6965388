/* masks.c -- draws of this party's own.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/masks.h"

enum status party_masks_init(struct party_masks *m, const struct nn_spec *spec)
{
    return spec->dropout > 0 ? rng_init_system(&m->draws.rng) : STATUS_OK;
}

void party_masks_deinit(struct party_masks *m)
{
    rng_deinit(&m->draws.rng);
    *m = (struct party_masks){0};
}

void party_masks_draw(struct party_masks *m, struct nn_net *net, uint64_t step, uint32_t rows)
{
    if (!(net->spec.dropout > 0))
        return;
    party_draws_begin(&m->draws, "dropout", step);
    nn_net_draw_masks(net, rows, &m->draws.rng);
}
