/* schedule.h -- which rows make up which round: the same on every machine, from a public seed.
 *
 * Each epoch is a Fisher-Yates permutation of 0..rows-1 drawn from AES-256-CTR under
 * SHA-256("vfl/schedule/1" || seed || epoch), cut in batches; the last one may be shorter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEDULE_H
#define COLONNADE_DATA_SCHEDULE_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct schedule {
    uint64_t seed;
    uint32_t rows, batch, rounds_per_epoch; /* rounds_per_epoch = ceil(rows / batch) */
    uint64_t epoch;                         /* whose permutation `order` holds; UINT64_MAX: none yet */
    uint32_t *order;
    void *rng; /* struct rng */
};

enum status schedule_init(struct schedule *s, uint64_t seed, uint32_t rows, uint32_t batch) MUST_USE;
void schedule_deinit(struct schedule *s); /* safe on a zeroed struct */

/* Rows of training step `step` (from 0, across epochs): *n of them, valid until the next call. */
const uint32_t *schedule_batch(struct schedule *s, uint64_t step, uint32_t *n);

#endif
