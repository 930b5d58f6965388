/* refresh.h -- local steps of a party that holds labels: it knows the others' part of the sum and
 * the head, and computes its own part and the gradient anew in each (protocol.local_view:
 * refreshed).
 *
 *   z^q     = others + h(theta^q)     C-VFL, Algorithm 1, line 12; FedBCD, eq. (6): party K
 *   theta^q+1 = theta^q - eta d loss(head(z^q), y) / d theta^q                       line 13
 *
 * `others` is the sum that the server was given, or what it has of each, less this party's own part
 * as it was sent, quantised, but without its noise (docs/adr/0013).  The head is that of the round,
 * as it came down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_REFRESH_H
#define COLONNADE_PARTY_TRAIN_REFRESH_H

#include "common/nn/head.h"
#include "common/secagg/secagg.h"
#include "party/train/bottom.h"
#include "party/train/sent.h"

struct party_refresh {
    bool on;
    struct arena arena;
    struct nn_head head;
    uint32_t self;   /* member; under wait the index in the roster */
    float *target;   /* of all training rows, as nn_loss has it */
    float *others;   /* rows x inputs of the head */
    float *fused;    /* the same with this party's part */
    float *dfused;   /* d loss / d fused */
    float *of_batch; /* targets of the batch */
    float *params;   /* of the head as it came */
    uint32_t clipped;
};

/* Does party `self` of the roster refresh under this plan? */
bool party_refreshes(const struct plan *p, uint32_t self);

/* labels: of all training rows, in the order of ids; one that is no class of the plan's counts as
 * class 0, and the log says how many were.  STATUS_CONFIG when the plan wants labels of this party
 * and there are none, STATUS_DATA when there are not as many as rows; err says so. */
enum status party_refresh_init(struct party_refresh *f, const struct plan *p, uint32_t self,
                               const struct table *labels, struct error *err) MUST_USE;
void party_refresh_deinit(struct party_refresh *f); /* safe on a zeroed struct */

/* From what came down at the end of a step of b's batch: the others' part, and the head.
 * STATUS_PROTOCOL when it cannot be what a server has; err says what. */
enum status party_refresh_take(struct party_refresh *f, const struct party_bottom *b,
                               const struct secagg_shape *shape, const struct party_sent *sent,
                               const struct secagg_round *round, struct error *err) MUST_USE;

/* Q local steps; clip as in party_bottom_apply, f->clipped says how many rows were longer.  What
 * top-k goes by is the first gradient.  A record of which the head makes nothing finite takes no
 * part in the step. */
void party_refresh_apply(struct party_refresh *f, struct party_bottom *b, struct party_sent *sent,
                         const struct plan *p, uint64_t step, double clip);

/* About what the end of a step costs besides the bottom: the head, and everybody's payloads. */
double party_refresh_flops(const struct party_refresh *f, const struct plan *p);

#endif
