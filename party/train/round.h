/* round.h -- the round that is open: what the last message asked for, the masks of the generation,
 * and room for what goes up and comes down.
 *
 * Touched by round.c, share.c and work.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_ROUND_H
#define COLONNADE_PARTY_TRAIN_ROUND_H

#include "common/base/buf.h"
#include "common/crypto/rng.h"
#include "common/flow/dither.h"
#include "common/secagg/secagg.h"
#include "common/wire/message.h"

enum party_work {
    WORK_ROUND,  /* a gradient in, the next embeddings out */
    WORK_SUM,    /* others' shares in, their sum out */
    WORK_REPLAY, /* gradients that were missed */
};

/* What the last message asked for. */
struct party_task {
    enum party_work work;
    bool close, apply, open, last; /* apply: the closed step had this party in it */
    uint64_t close_step;
    uint64_t charged, until; /* REPLAY: steps to charge before it (dp); ends at `until` */
    enum wire_purpose purpose;
    uint64_t round, place, sweep;
    uint32_t rows;
    const uint32_t *row; /* TRAIN: the batch */
    uint32_t coded;      /* fedvs: coded rows that the round is on */
};

/* What the work on it has come to, of which the session hears when it is done.  What it changed on
 * the way is the learner's and the deal's, and what there is to send. */
struct party_result {
    enum status status;
    struct error error; /* why, if not OK */
    bool interrupted;   /* it was left between two local iterations: EVENT_STOP is next */
    bool saved;         /* there is a checkpoint to keep */
    uint64_t clipped;   /* rows of gradients */
    uint32_t accused;   /* roster index + 1 of the member whose share did not open; or 0 */
};

/* Messages that go up. */
struct party_upload {
    uint8_t *payload, *check; /* of an upload, or sealed shares and their tags */
    size_t payload_max;       /* bytes of payload */
    size_t share_max;         /* a frame of shares; 0: there are none */
};

/* The last rows that were evaluated. */
struct party_sweep {
    uint64_t number, row;
    enum wire_purpose split;
};

struct party_round {
    struct party_task task;
    struct party_result result;
    uint64_t last;  /* number, in this generation */
    bool relay_due; /* a share was sent, and the others' are awaited */
    struct party_sweep sweep;
    struct secagg_shape shape;
    struct secagg_party *masks;
    uint64_t weights_cut; /* fedvs: at w_max, in the generations before */
    uint8_t view[WIRE_DIGEST_BYTES];
    uint8_t dither[WIRE_DIGEST_BYTES];
    uint32_t *coded; /* fedvs: coded rows of the task */
    struct rng noise;
    struct party_upload upload;
    struct buf received; /* others' shares, or gradients that were missed */
};

#endif
