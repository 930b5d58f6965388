/* parts.h -- a training job of a party as a whole: its parts, and the files that see all of them.
 *
 * Each part has a header of its own, which says who may change it; what stands there takes the
 * parts that it needs.  The files here are those that put parts together, one for each occasion:
 *
 *   train.c    the table of functions (party/job.h), and what follows of each event
 *   plan.c     an offer: its plan, its price, and room in each part for what it asks for
 *   from.c     the model that a plan goes on from
 *   catchup.c  AGREE: steps that were missed
 *   play.c     ROUND, STREAM, SHARE, SUM
 *   close.c    checkpoints on their way, and CLOSE
 *   resume.c   what a later process needs
 *
 * A function that fails says why in *p->host->error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_PARTS_H
#define COLONNADE_PARTY_TRAIN_PARTS_H

#include "party/job.h"
#include "party/train/course.h"
#include "party/train/deal.h"
#include "party/train/keep.h"
#include "party/train/learner.h"
#include "party/train/purse.h"
#include "party/train/round.h"
#include "party/train/work.h"

struct party_count {
    uint64_t rounds, clipped;
    uint32_t last_rows; /* of the last upload */
};

/* Written by train.c and, what work has come to, by play.c; its parts as they say. */
struct party_train {
    const struct party_host *host; /* what the session lends */
    struct party_course course;
    struct party_learner learner;
    struct party_purse purse;
    struct party_deal deal;
    struct party_round round;
    struct party_keep keep;
    struct party_result result; /* between the work and EVENT_DONE */
    struct party_count count;
};

/* plan.c */
/* The plan of an offer, or of what was saved; fixes models and buffers for the job's life. */
enum status party_take_plan(struct party_train *p, const uint8_t *text, size_t n) MUST_USE;
enum status party_train_offer(void *state, struct actions *a, const struct wire_offer *o) MUST_USE;

/* from.c: under training.from, once there is a bottom. */
enum status party_from_load(struct party_train *p) MUST_USE;

/* catchup.c: on towards the hello: the first checkpoint, the missed steps, then PARTY_READY.  Comes
 * back here after each. */
enum party_next party_catch_up(struct party_train *p, struct actions *a);
enum status party_replay(struct party_train *p, struct actions *a,
                         const struct wire_replay *r) MUST_USE;
void party_start_replay(struct party_train *p, struct actions *a); /* once more of it is charged */

/* play.c */
enum status party_broadcast(struct party_train *p, struct actions *a,
                            const struct wire_broadcast *b) MUST_USE;
enum status party_relay(struct party_train *p, struct actions *a,
                        const struct wire_shares *w) MUST_USE;
void party_start_round(struct party_train *p, struct actions *a); /* once it is charged */
void party_train_work(void *state);
/* The task is worked on: what it made is sent, or kept. */
enum status party_round_worked(struct party_train *p, struct actions *a) MUST_USE;
void party_sum_worked(struct party_train *p, struct actions *a);

/* close.c */
/* Part of the work. */
enum status party_save_when_due(struct party_train *p, struct party_result *r) MUST_USE;
enum status party_keep_now(struct party_train *p, struct actions *a) MUST_USE;
enum status party_kept(struct party_train *p, struct actions *a,
                       const struct error *result) MUST_USE;
enum status party_close(struct party_train *p, struct actions *a) MUST_USE;

/* resume.c */
enum status party_restore(struct party_train *p) MUST_USE;
enum status party_train_save(const void *state, struct buf *out) MUST_USE;
/* Back to a checkpoint of at most `step` steps, for a server that has lost what came after it. */
enum status party_go_back(struct party_train *p, uint64_t step) MUST_USE;

#endif
