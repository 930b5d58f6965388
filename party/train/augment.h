/* augment.h -- images of a training step, each moved and mirrored by chance (data.augment).
 *
 * Of a step they are drawn once, before its batch is embedded, and stand for all its local
 * iterations.  The draws depend on no record, and a row's image on no other row: neither releases
 * nor claims know of them.  Evaluations and predictions see images as they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_AUGMENT_H
#define COLONNADE_PARTY_TRAIN_AUGMENT_H

#include "common/config/config.h"
#include "common/data/augment.h"
#include "party/train/draws.h"

struct party_augment {
    struct augment_shape shape; /* channels 0: nothing is drawn, and no generator is asked for */
    uint32_t crop;              /* pixels up or down, left or right, at most */
    bool flip;
    float *row; /* of one image */
    struct party_draws draws;
};

/* a is zeroed. */
enum status party_augment_init(struct party_augment *a, const struct config_party *c) MUST_USE;
void party_augment_deinit(struct party_augment *a); /* safe on a zeroed struct */

/* A batch of `rows` rows of this shape, in place. */
void party_augment_batch(struct party_augment *a, float *batch, uint32_t rows, uint64_t step);

#endif
