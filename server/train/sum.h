/* sum.h -- adding up what the members of a generation upload: common/secagg for one job.
 *
 * Its fields are written by sum.c, but for what dealing finds out (shape.terms, in deal.c) and what
 * became of the last sum (combined_round, spoiled: plain.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_TRAIN_SUM_H
#define COLONNADE_SERVER_TRAIN_SUM_H

#include "common/crypto/digest.h"
#include "common/secagg/secagg.h"
#include "server/train/task.h"

struct server_sum {
    const struct plan *plan;
    struct secagg_server *secagg;
    struct secagg_shape shape;
    size_t payload_max, check_bytes;
    uint64_t combined_round;            /* the last round with a sum, in this generation */
    uint8_t dither[WIRE_DIGEST_BYTES];  /* of the open round; compressors only */
    struct digest digest;               /* scratch */
    uint32_t spoiled, spoiled_in_a_row; /* sums that were not what they should be */
};

/* sum is zeroed; the plan must outlive it. */
enum status server_sum_init(struct server_sum *sum, const struct plan *p,
                            struct error *err) MUST_USE;
void server_sum_deinit(struct server_sum *sum); /* safe on a zeroed one */
/* A generation of so many members. */
enum status server_sum_members(struct server_sum *sum, uint32_t n) MUST_USE;
void server_sum_terms_known(struct server_sum *sum); /* shape.terms: sizes follow from them */

/* A round for this task is about to be asked for. */
void server_sum_begin(struct server_sum *sum, const struct server_task *task);
/* Bytes of an upload of so many values, without its check elements. */
size_t server_sum_payload(const struct server_sum *sum, uint64_t values);
double server_sum_flops(const struct server_sum *sum, const struct server_task *task);
/* In clear: one upload by itself, task->real floats. */
enum status server_sum_open(struct server_sum *sum, float *out, const struct server_task *task,
                            const struct wire_upload *u, uint32_t member,
                            struct error *err) MUST_USE;

#endif
