/* augment.c -- draws of this party's own, as many for each row.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/augment.h"

#include "common/base/mem.h"

#include <string.h>

static size_t values_of(const struct augment_shape *s)
{
    return (size_t)s->channels * s->height * s->width;
}

enum status party_augment_init(struct party_augment *a, const struct config_party *c)
{
    if (c->augment_crop == 0 && !c->augment_flip)
        return STATUS_OK;
    a->shape = (struct augment_shape){c->shape.width[0], c->shape.width[1], c->shape.width[2]};
    a->crop = c->augment_crop;
    a->flip = c->augment_flip;
    a->row = mem_alloc(values_of(&a->shape), sizeof *a->row);
    return a->row != NULL ? rng_init_system(&a->draws.rng) : STATUS_MEMORY;
}

void party_augment_deinit(struct party_augment *a)
{
    rng_deinit(&a->draws.rng);
    mem_free(a->row);
    *a = (struct party_augment){0};
}

static struct augment_move draw(struct party_augment *a)
{
    const uint64_t places = 2 * (uint64_t)a->crop + 1;

    return (struct augment_move){
        .down = (int32_t)rng_below(&a->draws.rng, places) - (int32_t)a->crop,
        .right = (int32_t)rng_below(&a->draws.rng, places) - (int32_t)a->crop,
        .mirror = a->flip && rng_below(&a->draws.rng, 2) == 1};
}

void party_augment_batch(struct party_augment *a, float *batch, uint32_t rows, uint64_t step)
{
    const size_t n = values_of(&a->shape);
    if (n == 0)
        return;
    party_draws_begin(&a->draws, "augment", step);
    for (uint32_t r = 0; r < rows; r++) {
        const struct augment_move move = draw(a);

        memcpy(a->row, batch + r * n, n * sizeof *a->row);
        augment_image(batch + r * n, a->row, &a->shape, &move);
    }
}
