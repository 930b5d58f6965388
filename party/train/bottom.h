/* bottom.h -- the private bottom model: rows of this party to embeddings, gradients back into it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_BOTTOM_H
#define COLONNADE_PARTY_TRAIN_BOTTOM_H

#include "common/base/arena.h"
#include "common/compress/down.h"
#include "common/config/config.h"
#include "common/data/schema.h"
#include "common/data/table.h"
#include "common/nn/net.h"
#include "common/program/program.h"
#include "party/train/augment.h"
#include "party/train/dp.h"
#include "party/train/masks.h"

#include <stdatomic.h>

/* What comes down at the end of a step, and what is made of it. */
struct party_back {
    struct down down;
    uint32_t *received; /* as it came */
    float *factors;     /* the gradient's values; full: `gradient` */
    float *turned;      /* factored: W' */
    float *gradient;    /* rows x P */
};

/* What was cut off, or counted as nothing, for the log. */
struct party_cut {
    /* Of embeddings of training batches without a last activation: how many values there were, and
     * how many of them beyond [-C, C]. */
    uint64_t values, beyond;
    /* The same of its inputs, beyond [-x_max, x_max]. */
    uint64_t inputs, inputs_beyond;
    /* Passes of single records, forward or back, that were not finite and counted as nothing. */
    uint64_t lost;
};

/* Of an evaluation: how many rows it may have, and room for their embeddings, rows_max x P, where
 * the net takes fewer at a time; else NULL. */
struct party_shown {
    uint32_t rows_max;
    float *h;
};

/* By chance, for one step. */
struct party_drawn {
    struct party_masks masks;
    struct party_augment augment;
};

/* Who computes the net's layer, and has begun with the job; NULL: the net does.  It is there before
 * init, of a bottom that is zeros otherwise. */
struct party_outside {
    struct program *program;
    uint64_t job; /* of its jobs: this bottom's */
};

struct party_halt {
    /* Set by another thread: no further local step begins; NULL: never. */
    const atomic_bool *stop;
    bool interrupted; /* one did not, and the parameters are those of a step half taken */
};

/* Written by bottom.c, and what stops it by plan.c; who computes its layer by learner.c. */
struct party_bottom {
    struct arena arena;
    struct party_outside outside;
    struct nn_net net;
    uint32_t width;
    struct party_shown shown;
    /* The batch whose gradient is awaited: its features are kept for Q local steps. */
    float *batch;
    uint32_t batch_rows;
    struct party_back back;
    struct party_cut cut;
    float clip;         /* C; under fedvs none */
    bool frozen;        /* never steps */
    struct party_dp dp; /* on when model.train is dp */
    struct party_drawn drawn;
    float *anchor; /* the parameters as the round found them; NULL without a proximal term */
    struct party_halt halt;
};

/* The layers of a bottom of `features` inputs, which s (NULL: nothing) has made of columns, under a
 * plan that party_bottom_check() lets pass. */
struct nn_spec party_bottom_spec(const struct config_party *config, const struct plan *p,
                                 uint32_t features, const struct schema *s);
/* Can a plan be run with this bottom?  STATUS_CONFIG: fedvs and layers; noise for which there is no
 * grid; dp, or noise, and layers that mix rows.  STATUS_POLICY: a plan of releases once, and a
 * bottom that is not frozen.  STATUS_IO, STATUS_MEMORY: what the columns may decide, layers that
 * they are none for and more memory than there is; and STATUS_IO of a program's bottom, which
 * others are not told of. */
enum status party_bottom_check(const struct config_party *config, const struct plan *p,
                               uint32_t features, const struct schema *s,
                               struct error *err) MUST_USE;

/* `features` inputs, P outputs.  Layers of `config`: outputs in [-C, C] by C tanh; before them,
 * where s embeds columns, one of tables (common/nn/embedding.h).  With config->degree: the
 * polynomial sum_i x^i W^i, whose outputs have no bound.  Every encoding cuts them off at +-C
 * (encode.h), float32 too, and the gradient passes as if it had not: C (protocol.clip) has to be
 * chosen with room, and `beyond` says whether it was. Its inputs, the table's rows as data.scale
 * left them, are cut off at protocol.fedvs.x_max under every aggregation, so that a clear run
 * computes the model that fedvs computes. */
enum status party_bottom_init(struct party_bottom *b, const struct config_party *config,
                              const struct plan *p, uint32_t features, const struct schema *s,
                              struct rng *init) MUST_USE;
/* --insecure-seed: what it draws while it trains follows from the seed. */
void party_bottom_seed(struct party_bottom *b, uint64_t seed, uint32_t party);
/* Other first weights (model.load): the bytes of a safetensors file, whose values are cut off as
 * those of a step are (optim.h); of a program's bottom whatever its program saves.  STATUS_CONFIG:
 * not of this bottom; the log says why.  STATUS_IO: nor of this program, or it fails with them; but
 * with a package it fails as with rows. */
enum status party_bottom_load(struct party_bottom *b, const uint8_t *bytes, size_t n,
                              struct error *err) MUST_USE;
/* Logs `beyond`, `inputs_beyond` and `lost` when they are not 0.  Safe on a zeroed struct. */
void party_bottom_deinit(struct party_bottom *b);

/* Embeddings (n x P) of the rows of the batch of a training step, which is kept: under
 * model.dropout with masks of its own, as are those of the same batch until the next.  Finite, as
 * all embeddings are: those of a record whose pass is not are zeros.  Zeros, too, are those of a
 * row that this party does not have (table.h), here and in evaluations: what predictions have in
 * the place of an unknown id.  No gradient of it reaches the bottom, and it takes the same work. */
const float *party_bottom_train(struct party_bottom *b, const struct table *t, const uint32_t *rows,
                                uint32_t n, uint64_t step);
/* A training batch that does without this party (training.party_dropout): zeros, n x P. */
const float *party_bottom_leave_out(struct party_bottom *b, uint32_t n);
/* Embeddings of rows first .. first + n. */
const float *party_bottom_evaluate(struct party_bottom *b, const struct table *t, uint32_t first,
                                   uint32_t n);

/* Embeddings of the kept batch by the present model, a polynomial's not cut off: rows x P, the
 * bottom's until its next forward. */
const float *party_bottom_again(struct party_bottom *b);

/* b->back.received has a gradient: makes b->back.gradient of it.  False when a value of it, or
 * one that it is made of, is not finite (gradient.h). */
bool party_bottom_expand(struct party_bottom *b) MUST_USE;

/* Rows of b->back.gradient to at most this l2 norm, 0: to none.  Returns how many were longer. */
uint32_t party_bottom_clip(struct party_bottom *b, double most);
/* Whether local iteration q is to be taken.  The first always is, so that a step is never half
 * taken where there is one iteration alone. */
bool party_bottom_iterates(struct party_bottom *b, const struct plan *p, uint32_t q);
/* Nothing where the bottom is frozen.  Local iteration q with b->back.gradient for the last
 * forward, which was that of the kept batch.  With protocol.proximal mu it is drawn back to where
 * iteration 0 began (FedBCD, eq. 13). */
void party_bottom_step(struct party_bottom *b, const struct plan *p, uint64_t step, uint32_t q);

/* b->back.gradient (batch_rows x P) is there: Q local steps with it, the Jacobian recomputed before
 * each but the first (FedBCD's passive party; Q = 1 is PBM-VFL, Algorithm 2, lines 16-18).  clip:
 * largest l2 norm of a row's gradient, 0: none.  Returns how many rows were clipped. */
uint32_t party_bottom_apply(struct party_bottom *b, const struct plan *p, uint64_t step,
                            double clip);

#endif
