/* schedule.h -- which rows make up which round: the same on every machine, from a public seed.
 *
 * Each epoch is a Fisher-Yates permutation of 0..rows-1 drawn from AES-256-CTR under
 * SHA-256("vfl/schedule/1" || seed || epoch), cut in batches; the last one may be shorter.
 *
 * So that an independent program can repeat it (tests/golden/gen_schedule.py does): seed and epoch
 * are 8 bytes little-endian, the text has no final 0.  The digest is the key of AES-256-CTR with
 * counter block 0, whose key stream is read as 64-bit little-endian numbers v (rng.h).  order[i] =
 * i; then for i = rows-1 down to 1: j = v mod (i+1), where v is the next number that is below the
 * largest multiple of i+1 up to 2^64 (others are skipped); swap order[i] and order[j].  Step s is
 * batch s mod rounds_per_epoch of epoch s div rounds_per_epoch: order[batch * (s mod
 * rounds_per_epoch)] and the batch - 1 entries behind it, as far as there are any.
 *
 * With K segments (segments.h) all this counts coded rows instead: a permutation of the len coded
 * rows, batch / K of them a step, which are then sorted.  K = 1 is the plain schedule, whose rows
 * stay in the order drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEDULE_H
#define COLONNADE_DATA_SCHEDULE_H

#include "common/base/status.h"
#include "common/crypto/digest.h"
#include "common/data/segments.h"

#include <stddef.h>
#include <stdint.h>

struct schedule {
    uint64_t seed;
    struct segments segments;
    uint32_t coded_batch;      /* batch / K: coded rows of a full step */
    uint32_t rounds_per_epoch; /* ceil(len / coded_batch) */
    uint64_t epoch;            /* whose permutation `order` holds; UINT64_MAX: none yet */
    uint32_t *order;           /* len coded rows, step by step */
    uint32_t *row, *start;     /* K > 1: rows step by step; where those of each step start, and N */
    uint32_t *sort;            /* K > 1: room to sort */
    const uint32_t *coded;     /* of the last schedule_batch, valid as long as its rows */
    uint32_t coded_n;
    void *rng; /* struct rng */
    struct digest digest;
};

/* rows, batch and segments at least 1, batch a multiple of segments.  Nothing is allocated after
 * this. */
enum status schedule_init(struct schedule *s, uint64_t seed, uint32_t rows, uint32_t batch,
                          uint32_t segments) MUST_USE;
void schedule_deinit(struct schedule *s); /* safe on a zeroed struct */

/* Rows of training step `step` (from 0, across epochs): *n of them, valid until a step of another
 * epoch is asked for, in the order of segments_rows; the coded rows are in s->coded (K = 1: the
 * same list). */
const uint32_t *schedule_batch(struct schedule *s, uint64_t step, uint32_t *n);

#endif
