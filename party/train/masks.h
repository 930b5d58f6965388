/* masks.h -- what a step does without: hidden units of the bottom (model.dropout), all of it, or
 * the rows of its batch that this party does not have.
 *
 * Of a step the masks are drawn once, before its batch is embedded, and stand for all its local
 * iterations.  They depend on no record: neither releases nor claims know of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_MASKS_H
#define COLONNADE_PARTY_TRAIN_MASKS_H

#include "common/nn/net.h"
#include "party/train/draws.h"

#include <stdbool.h>

/* Written by masks.c, and `nothing`, `lacks` and `some_lack` by bottom.c. */
struct party_masks {
    float *nothing; /* zeros, for a batch that does without this party; NULL: there is none */
    uint8_t *lacks; /* of the batch: 1 for a row that is not there; */
    bool some_lack; /* ... where the table may have such */
    struct party_draws draws;
};

/* m is zeroed.  Nothing is drawn without dropout in the spec, and no generator is asked for. */
enum status party_masks_init(struct party_masks *m, const struct nn_spec *spec) MUST_USE;
void party_masks_deinit(struct party_masks *m); /* safe on a zeroed struct */

void party_masks_draw(struct party_masks *m, struct nn_net *net, uint64_t step, uint32_t rows);

#endif
