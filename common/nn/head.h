/* head.h -- the top model: fused embeddings to loss, predictions and the gradient that each party's
 * embeddings get.
 *
 *   fused   rows x P: the sum of the members' embeddings, or its M-th part (mean); under concat
 *           and max rows x (M P), party m at columns m P .. m P + P - 1.  max goes on with the
 *           largest of each coordinate, whose gradient is the party's, of several the first's
 *   logits  rows x outputs: the layers of model.head, then one linear layer
 *
 * It is the server's, and that of parties that hold labels and refresh their own block
 * (protocol.local_view: refreshed): with the same numbers in, both get the same bits out.
 * model.output: identity has no layers: the logits are the fused embeddings themselves (FedBCD,
 * equation (2)), so there is nothing to train, send down, keep or export.
 * Under training.party_dropout each party has a stand-in, P values that the head learns, for when
 * it is left out of a round or a prediction, and has uploaded zeros (after LASER-VFL, arXiv
 * 2410.22564).  They are the net's table, parties x P, zeros at first.
 * It may be computed outside instead, by a program of the server's (outside.h).  Nothing here
 * allocates after init.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NN_HEAD_H
#define COLONNADE_NN_HEAD_H

#include "common/base/arena.h"
#include "common/config/plan.h"
#include "common/nn/loss.h"
#include "common/nn/net.h"
#include "common/nn/outside.h"

struct nn_head {
    struct nn_net net;
    enum nn_loss loss;
    uint32_t inputs,
        outputs;      /* columns of fused: P, or M P where parties are apart; of the logits */
    uint32_t targets; /* numbers of a row's target: labels under multilabel, else 1 */
    uint32_t parties; /* M, the members of the generation: the divisor of mean; set at will, where
                       * no columns are some party's own */
    uint32_t width;   /* P */
    bool apart;       /* each party has columns of its own in fused: concat, max */
    bool mean, max;
    bool zeros; /* protocol.absent: zero */
    /* What stands in the columns of a party that a round has done without (protocol.absent): 0, or
     * less than any embedding, which is never the largest. */
    float absent;
    float *most, *dmost; /* max: rows_max x P: of the last forward, and its gradient; else NULL */
    uint16_t *whose;     /* the same: which party it was */
    bool fixed;          /* identity: never steps */
    uint32_t weights;    /* classes that have one, two of each label under multilabel; 0: all rows
                          * count once in training */
    float *class_weight; /* of these; NULL: none */
    /* Under training.scale_targets: a target t counts as (t - center) / spread, and a prediction is
     * spread z + center.  Else 0 and 1. */
    float center, spread;
    float temperature;   /* predictions are of logits divided by it; 1 while it learns */
    float *scaled;       /* rows_max: targets of the last forward so; NULL: as they are */
    const float *logits; /* rows x outputs: of the last forward; of identity its `fused` */
    float *dlogits;      /* rows_max x outputs: d loss / d logits of the last forward that asked */
};

/* Everything but the memory: shapes, loss, fusion. */
void nn_head_shape(struct nn_head *h, const struct plan *p);
/* Columns of what its net takes: P under max, else those of fused. */
uint32_t nn_head_takes(const struct nn_head *h);

/* Bytes nn_head_init cuts from an arena (alignment included). */
size_t nn_head_bytes(const struct plan *p, uint32_t rows_max);
/* `init` draws the weights as the plan says; NULL: zeros, until nn_head_set.  Identity draws
 * nothing. */
enum status nn_head_init(struct nn_head *h, const struct plan *p, uint32_t rows_max,
                         struct arena *a, struct rng *init) MUST_USE;

/* The same of a head that may be computed outside, whose state then takes so many floats, and whose
 * plan does not need layers (plan_head_needs_layers). */
struct nn_head_outside {
    const struct nn_outside *by; /* NULL: the head is of layers */
    size_t floats;
};
size_t nn_head_bytes_outside(const struct plan *p, uint32_t rows_max,
                             const struct nn_head_outside *outside);
enum status nn_head_init_outside(struct nn_head *h, const struct plan *p, uint32_t rows_max,
                                 struct arena *a, const struct nn_head_outside *outside,
                                 struct rng *init) MUST_USE;

/* Under training.class_weights balanced: what a row of each class counts, n / (classes times its
 * rows), of the targets of all n training rows; a class without rows counts nothing.  Under
 * multilabel this is so of each label, with its two classes and the rows where it is known. */
void nn_head_weigh(struct nn_head *h, const float *target, size_t n);

/* Under task_scales: by the n labels of all training rows; else nothing.  Labels that
 * are all the same have no deviation: 1. */
void nn_head_scale(struct nn_head *h, const float *target, size_t n);

/* A sum of embeddings (rows x inputs), in place, to what the head takes: under mean its M-th
 * part, else as it is. */
void nn_head_fuse(const struct nn_head *h, float *fused, uint32_t rows);

/* Where parties are apart: the columns of n members (rows x n P) to those of all parties (rows x
 * inputs), in place, with zeros for the others; member k is party place[k], and these rise. */
void nn_head_spread(const struct nn_head *h, float *fused, const uint8_t *place, uint32_t n,
                    uint32_t rows);

/* filled = fused (rows x inputs, as nn_head_fuse left it), with the stand-ins of the parties that
 * are missing (h->parties of them) in their place: added to the sum, under mean by their M-th
 * part; where parties are apart, instead of the noise that these have uploaded.  The two may be
 * one. There are stand-ins. */
void nn_head_fill(const struct nn_head *h, float *filled, const float *fused, const bool *missing,
                  uint32_t rows);
/* Where parties are apart, without stand-ins: what stands for those that are missing (h->parties of
 * them) into their columns, in place, instead of the noise that they may have uploaded.  Else
 * nothing. */
void nn_head_without(const struct nn_head *h, float *fused, const bool *missing, uint32_t rows);
/* After a backward with dfused, the gradients of the stand-ins: what their places got, of all rows;
 * 0 for who was not missing.  Nothing where there are none. */
void nn_head_fill_slopes(struct nn_head *h, const float *dfused, const bool *missing,
                         uint32_t rows);
/* Under model.head_dropout, the masks of a training step of so many rows: of the plan's public seed
 * and the step, in `r`'s place. */
void nn_head_draw_masks(struct nn_head *h, uint64_t seed, uint64_t step, uint32_t rows,
                        struct rng *r);
/* Mean loss over the rows, in units of the targets; `target` as nn_loss has it.  h->logits, and
 * when `slopes` h->dlogits, are filled; with slopes rows count as nn_head_weigh has it, and hidden
 * layers have their masks. `fused` must stay until backward. */
double nn_head_forward(struct nn_head *h, const float *fused, const float *target, uint32_t rows,
                       bool slopes);
/* The loss of row r of the last forward by itself, of its own target or targets. */
double nn_head_row_loss(const struct nn_head *h, uint32_t r, const float *target);
/* Of the last forward: rows x outputs (nn_predict), in units of the targets. */
void nn_head_predict(const struct nn_head *h, float *prob, uint32_t rows);
/* After a forward with slopes: the gradients of the weights, and dfused = d loss / d fused (rows x
 * inputs) unless it is NULL. */
void nn_head_backward(struct nn_head *h, float *dfused);
/* dfused to d loss / d embedding of member m (rows x P).  Unless parties are apart it is that of
 * the sum, the same for all: under mean the M-th part of dfused.  No overlap. */
void nn_head_part(const struct nn_head *h, float *part, const float *dfused, uint32_t rows,
                  uint32_t m);
/* One step of the optimiser with the gradients of the last backward; nothing for identity. */
void nn_head_step(struct nn_head *h, float learning_rate);

/* Of the net, plan_head_params() floats but where it is computed outside: of each layer in turn its
 * weights (in x out, row major), then its biases (nn_net_copy_params); set leaves the optimiser as
 * it is. */
void nn_head_get(const struct nn_head *h, float *params);
void nn_head_set(struct nn_head *h, const float *params);

#endif
