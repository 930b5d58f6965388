/* sent.h -- the embeddings of a training batch between their upload and the end of their step: of
 * which rows they are, and what the server takes them for.
 *
 * Kept only where the end of the step needs it: a refreshed view takes the party's own part out of
 * the sum again (C-VFL, Algorithm 1, line 12); error feedback adds to a record's embedding what
 * compression took from it the last time:
 *
 *   x_i = h_i + r_i              what is handed over
 *   r_i = clip(x_i) - C(x_i)     once the step is closed, C being the compressor
 *
 * And top-k sends the components of which the last gradient was largest (C-VFL, appendix B).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_SENT_H
#define COLONNADE_PARTY_TRAIN_SENT_H

#include "common/base/buf.h"
#include "common/config/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct party_sent {
    bool kept;            /* anything of all this is needed */
    bool feeds_back;      /* error feedback */
    float clip;           /* every embedding is cut off at +-clip before it is compressed */
    uint32_t width, rows; /* P; of the batch */
    size_t batch;         /* rows of the largest one */
    size_t rows_all;      /* of the training table */
    uint32_t *row;        /* of the batch */
    float *x;             /* rows x P: what was handed over */
    float *own;           /* the same as the server takes it, but for noise */
    float *residual;      /* rows_all x P; NULL without error feedback */
    /* P: |d loss / d h| summed over the last closed batch, 0 before; NULL without top-k. */
    float *importance;
    void *scratch; /* of secagg_alone and secagg_others */
};

/* kept: somebody needs `own`.  scratch: bytes of it.  STATUS_MEMORY. */
enum status party_sent_init(struct party_sent *s, const struct plan *p, bool kept,
                            size_t scratch) MUST_USE;
void party_sent_deinit(struct party_sent *s); /* wipes; safe on a zeroed struct */

/* Embeddings h (rows x P) of a batch -> what is to be handed over: h itself, or with what was left
 * out before, but of rows that are not here (table.lacks; NULL: all are), of which nothing is
 * handed over, though a process before may have kept something.  The caller then fills s->own. */
const float *party_sent_begin(struct party_sent *s, const float *h, const uint32_t *row,
                              uint32_t rows, const uint8_t *lacks);
/* Its step is closed: what is left out now is kept for the next time. */
void party_sent_close(struct party_sent *s);
/* The gradient (rows x P) of the step's loss by this party's embeddings. */
void party_sent_weigh(struct party_sent *s, const float *gradient, uint32_t rows);
/* NULL before there was a gradient. */
const float *party_sent_importance(const struct party_sent *s);

/* For checkpoints: residuals and importance, in native floats. */
size_t party_sent_bytes(const struct party_sent *s);
enum status party_sent_print(const struct party_sent *s, struct buf *out) MUST_USE;
/* STATUS_DATA, and nothing changed, when it is not of this shape or a value is not finite. */
enum status party_sent_parse(struct party_sent *s, const uint8_t *bytes, size_t n) MUST_USE;

#endif
