/* head.h -- the server's top model: sums to loss, predictions and what goes down; its own steps.
 *
 * The arithmetic is common/nn/head.h; here are its memory, the forms of the gradient, its packing.
 * Targets are written by trainer.c, gradients in `values` by work.c and stream.c, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_HEAD_H
#define COLONNADE_SERVER_TRAIN_HEAD_H

#include "common/base/arena.h"
#include "common/compress/down.h"
#include "common/config/plan.h"
#include "common/nn/head.h"

struct server_head {
    struct arena arena;
    struct nn_head top;
    struct down down;
    bool apart;    /* concat or max under a stale view: each party is sent a gradient of its own */
    float *fused;  /* rows_max x inputs */
    float *filled; /* the same with stand-ins in it; NULL without training.party_dropout */
    float *target; /* rows_max x top.targets */
    float *prob;   /* rows_max x outputs */
    /* d loss / d sum, in its form (common/compress/gradient.h); apart: one for each party. */
    float *values;
    uint32_t *blob;   /* what goes down (common/compress/down.h): down_words(), apart: for each */
    float *dfused;    /* rows_max x inputs; not factored only, or for stand-ins */
    float *params;    /* its parameters as they go down; NULL when they do not */
    float *anchor;    /* its parameters when the round began; NULL without a proximal term */
    struct rng masks; /* of model.head_dropout; not there without */
    bool missing[PLAN_PARTIES_MAX]; /* parties that the step trained on last did without */
};

/* outside->by NULL: of layers, whose first weights `init` draws. */
enum status server_head_init(struct server_head *h, const struct plan *p, uint32_t rows_max,
                             const struct nn_head_outside *outside, struct rng *init) MUST_USE;
void server_head_deinit(struct server_head *h); /* safe on a zeroed struct */

/* The members of this generation: the divisor of fusion `mean`, but where zeros stand for who is
 * absent. */
void server_head_members(struct server_head *h, uint32_t members);

/* Where parties are apart: h->fused of the n members of a set, of which `absent` (their numbers in
 * it) are not in the sum, to that of all parties, with what stands for who is missing. */
void server_head_spread(struct server_head *h, const uint8_t *member, uint32_t n,
                        const uint8_t *absent, uint32_t absent_n, uint32_t rows);

/* h->fused (rows) from sums, as estimated, to what the net takes: under `mean` their M-th part. */
void server_head_fuse(struct server_head *h, uint32_t rows);

/* h->fused (rows, fused) and h->target are filled in.  Returns the mean loss; fills
 * h->prob. */
double server_head_evaluate(struct server_head *h, uint32_t rows);

/* The same with stand-ins for whom the step does without (common/flow/dropout.h), then h->values at
 * the current head if a gradient goes down, then Q steps of the head on the kept sums, under
 * protocol.proximal drawn back to where it was.  Identity takes no step; under
 * sequential there is one in the last turn on a batch only.  A head of which some row's pass is not
 * finite has no finite loss, and takes no step. */
double server_head_train(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows);

/* Into h->blob, of so many rows: h->values as gradients, `blocks` of them; and the present head,
 * false when a weight is not finite. */
void server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r);
bool server_head_show(struct server_head *h, uint32_t rows, const uint8_t *dither,
                      struct rng *r) MUST_USE;

#endif
