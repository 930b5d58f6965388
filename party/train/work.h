/* work.h -- pieces of the work on a task, which may run on any thread, and what they come to.
 *
 * They are the owners meanwhile of what they are given: train.c puts them together and takes over
 * when they are done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_WORK_H
#define COLONNADE_PARTY_TRAIN_WORK_H

#include "party/job.h"
#include "party/train/deal.h"
#include "party/train/learner.h"
#include "party/train/round.h"

struct party_result {
    enum status status;
    struct error error; /* why, if not OK */
    bool interrupted;   /* it was left between two local iterations: EVENT_STOP is next */
    bool saved;         /* there is a checkpoint to keep */
    uint64_t clipped;   /* rows of gradients */
    uint32_t accused;   /* roster index + 1 of the member whose share did not open; or 0 */
};

/* What is in l->bottom.received ends step l->applied.  apply: this party's part was in it.  After a
 * step that was interrupted everything is as before it. */
enum status party_work_step(struct party_learner *l, struct party_round *r, struct party_course *c,
                            const struct party_host *h, bool apply,
                            struct party_result *result) MUST_USE;
/* What the round that is opened wants of this party, into r->upload. */
enum status party_work_open(struct party_round *r, struct party_learner *l, struct party_course *c,
                            struct party_deal *d, const struct party_host *h,
                            struct party_result *result) MUST_USE;
/* The others' shares in r->received, to what is uploaded, or to what was dealt. */
enum status party_work_sum(struct party_round *r, struct party_learner *l, struct party_course *c,
                           struct party_deal *d, const struct party_host *h,
                           struct party_result *result) MUST_USE;

/* Missed steps, in r->received.  Where gradients come, none is applied unless all are. */
enum status party_work_check_replay(struct party_learner *l, const struct party_round *r,
                                    struct party_course *c, struct error *err) MUST_USE;
/* What came down for step l->applied, `at`, goes to where a step takes it from, and its batch is
 * embedded again.  Returns the bytes of it. */
size_t party_work_again(struct party_learner *l, struct party_round *r, struct party_course *c,
                        const struct party_host *h, const uint8_t *at);

#endif
