/* head.h -- the top model: fused embeddings to loss, predictions, gradient; and its own steps.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_HEAD_H
#define COLONNADE_SERVER_HEAD_H

#include "common/base/arena.h"
#include "common/compress/gradient.h"
#include "common/config/plan.h"
#include "common/nn/loss.h"
#include "common/nn/net.h"

struct server_head {
    struct arena arena;
    struct nn_net net;
    enum nn_loss loss;
    uint32_t inputs, outputs; /* P, or M P under concat; columns of the logits */
    bool concat, mean;
    struct gradient_form form;
    uint32_t parties, width;
    float *fused;   /* rows_max x inputs */
    float *target;  /* rows_max */
    float *prob;    /* rows_max x outputs */
    float *dlogits; /* rows_max x outputs */
    /* d loss / d sum, in its form (common/compress/gradient.h); concat: one for each member. */
    float *values;
    uint32_t *gradient; /* the same as it goes down: gradient_words() for each */
    float *dfused;      /* rows_max x inputs; not factored only */
};

enum status server_head_init(struct server_head *h, const struct plan *p, uint32_t rows_max,
                             struct rng *init) MUST_USE;
void server_head_deinit(struct server_head *h); /* safe on a zeroed struct */

/* The members of this generation: the divisor of fusion `mean`. */
void server_head_members(struct server_head *h, uint32_t members);

/* h->fused (rows) from sums, as estimated, to what the net takes: under `mean` their M-th part. */
void server_head_fuse(struct server_head *h, uint32_t rows);

/* h->fused (rows, fused) and h->target are filled in.  Returns the mean loss; fills
 * h->prob. */
double server_head_evaluate(struct server_head *h, uint32_t rows);

/* The same, then h->values at the current head, then Q steps of the head on the kept sums. */
double server_head_train(struct server_head *h, const struct plan *p, uint64_t step, uint32_t rows);

/* h->values to h->gradient: `blocks` of them, of so many rows. */
void server_head_pack(struct server_head *h, uint32_t rows, uint32_t blocks, struct rng *r);

#endif
