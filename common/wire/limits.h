/* limits.h -- every length, count and queue that a peer can influence has its maximum here.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_WIRE_LIMITS_H
#define COLONNADE_WIRE_LIMITS_H

#include "common/compress/down.h"
#include "common/config/aggregation.h"
#include "common/config/plan.h"

#include <stddef.h>
#include <stdint.h>

enum {
    WIRE_VERSION = 6,
    WIRE_BEHIND_MAX = 32768, /* steps that the server remembers for who may come back */
    WIRE_MEMBERS_MAX = PLAN_PARTIES_MAX,
    WIRE_NAME_MAX = 63,
    WIRE_TEXT_MAX = 400,  /* words of a refuse or finish */
    WIRE_JOIN_MAX = 256,  /* a whole Join frame */
    WIRE_HELLO_MAX = 512, /* one Hello */
    WIRE_SEEN_BYTES = 8,  /* of one member's number in a Confirm */
    WIRE_CONFIRM_MAX = 256 + WIRE_SEEN_BYTES * WIRE_MEMBERS_MAX, /* one Confirm */
    WIRE_OVERHEAD_MAX = 144, /* protobuf around the vectors of any message */
    WIRE_JOB_KIND_MAX = 16,
    WIRE_JOB_TEXT_MAX = PLAN_TEXT_MAX, /* canonical text of a job of any kind */
    WIRE_OFFER_MAX = WIRE_JOB_TEXT_MAX + WIRE_MEMBERS_MAX + WIRE_OVERHEAD_MAX,
    WIRE_SETUP_MAX = 16384,       /* largest frame a party takes before it knows a plan */
    WIRE_PAYLOAD_MAX = 256 << 20, /* of any vector; a plan that needs more is refused at -n */
    WIRE_SHARES_MAX = 255 << 20,  /* of one Share or Relay, which have tags and names besides */
    WIRE_TAG_BYTES = 16,          /* of one sealed share */
    WIRE_TAGS_MAX = WIRE_TAG_BYTES * (WIRE_MEMBERS_MAX - 1), /* of one Share or Relay */
    WIRE_AGAIN_MAX = 64,       /* rounds that a party pays for again, beside as many as are new */
    WIRE_SPOILED_MAX = 8,      /* sums of a run that fail their check, beside one in so many ... */
    WIRE_SPOILED_ONE_IN = 64,  /* ... that do not; a third in a row is one too many already */
    WIRE_REPLAY_MAX = 1 << 20, /* blobs of one Replay, unless a single one is larger */
    WIRE_EVALUATE_ROWS = 1024, /* rows of one evaluation round, at least */
    WIRE_IDS_MAX = PLAN_WIDTH_MAX * 65, /* of one round's ids: 64 bytes and a line end each */
    WIRE_TALLY_BYTES = 160,             /* one member's word of a stage of an alignment */
    WIRE_TALLIES_MAX = WIRE_TALLY_BYTES * (WIRE_MEMBERS_MAX + 1),
    WIRE_ENTRIES_MAX = 32 << 14, /* bytes of one step of an alignment */
    WIRE_BATCH_MAX = WIRE_ENTRIES_MAX + WIRE_TALLIES_MAX + WIRE_OVERHEAD_MAX,
    WIRE_ALIGN_IDS_MAX = 1 << 24, /* ids of one list */
    WIRE_DEPTH_MAX = 4,           /* nesting of message types */
    WIRE_FEATURES_MAX = 65536,    /* columns of one party, and ... */
    WIRE_DEGREE_MAX = 8,          /* ... degree of its polynomial, as a hello may say under fedvs */
    WIRE_QUOTA_FACTOR = 4,        /* memory for unpacking: this times the frame, and ... */
    WIRE_QUOTA_LARGE = 2,    /* ... this times one above WIRE_QUOTA_BASE, which is one vector; */
    WIRE_QUOTA_BASE = 65536, /* ... and this besides (threats E2) */
};

/* The highest number that a hello may say of its ledger. */
#define WIRE_LEDGER_MAX ((UINT64_C(1) << 62) - 1)

/* Bytes of the largest blob that goes down after one training step under this plan. */
static inline size_t wire_blob_max(const struct plan *p)
{
    struct down d;

    down_of(&d, p);
    return sizeof(uint32_t) * down_words(&d, p->training.batch);
}

/* Can a blob of this plan be sent?  For embeddings, PLAN_VALUES_MAX has seen to it; of shares,
 * their frames are asked (WIRE_SHARES_MAX). */
static inline bool wire_fits(const struct plan *p)
{
    return wire_blob_max(p) <= WIRE_PAYLOAD_MAX;
}

/* Most bytes of blobs in one Replay under this plan: it carries whole ones, as many as fit
 * WIRE_REPLAY_MAX and at least one. */
static inline size_t wire_replay_max(const struct plan *p)
{
    size_t one = wire_blob_max(p);

    return one > WIRE_REPLAY_MAX ? one : WIRE_REPLAY_MAX;
}

/* Rows of one evaluation round under this plan; under fedvs whole coded rows, padding counted. */
static inline uint32_t wire_evaluate_rows(const struct plan *p)
{
    const struct aggregation *a = aggregation_of(p);
    uint32_t rows = p->training.batch > WIRE_EVALUATE_ROWS ? p->training.batch : WIRE_EVALUATE_ROWS;

    /* Wide embeddings: keep an evaluation round no larger than it must be. */
    while (rows > p->training.batch && (size_t)rows * p->model.embedding > (1u << 18))
        rows /= 2;
    /* Coded: everybody's shares for everybody pass through the server at once. */
    while (rows > p->training.batch && a->shares && !a->deals &&
           (size_t)rows * p->model.embedding * p->shape.parties * p->shape.parties > (1u << 25))
        rows /= 2;
    rows -= rows % aggregation_segments(p); /* of which a batch is a multiple */
    return rows > p->training.batch ? rows : p->training.batch;
}

#endif
