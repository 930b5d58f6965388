/* round.h -- the round that is open: what the last message asked for, the masks of the generation,
 * and room for what goes up and comes down.
 *
 * Written by round.c, share.c and mode.c; the bytes that go up, and what they are drawn from, by
 * work.c and deal.c, and a task of missed steps, with their gradients in `received`, by catchup.c;
 * `reach` by resume.c, out of a checkpoint.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_ROUND_H
#define COLONNADE_PARTY_TRAIN_ROUND_H

#include "common/crypto/rng.h"
#include "party/train/course.h"
#include "party/train/learner.h"
#include "party/train/task.h"

enum { PARTY_CHECK_MAX = 1024 }; /* bytes of check elements */

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
    uint64_t last;  /* number, in this generation */
    bool relay_due; /* a share was sent, and the others' are awaited */
    struct party_sweep sweep;
    struct secagg_shape shape;
    struct secagg_party *masks;
    uint64_t weights_cut; /* fedvs: at w_max, in the generations before */
    uint8_t view[WIRE_DIGEST_BYTES];
    uint8_t dither[WIRE_DIGEST_BYTES];
    uint32_t *coded; /* coded rows of the task */
    struct rng noise;
    struct party_upload upload;
    struct buf received; /* others' shares, or gradients that were missed */
    double reach;        /* party_round_reach() of a process before this one */
};

/* Others' shares, as they are in `received`. */
struct party_sealed {
    const uint8_t *sealed, *tags;
};

/* --- round.c: what is asked, against the plan --- */

enum status party_round_init(struct party_round *r) MUST_USE;
/* For all rounds of the plan. */
enum status party_round_make_room(struct party_round *r, const struct party_course *c) MUST_USE;
void party_round_free_room(struct party_round *r);
void party_round_deinit(struct party_round *r);
/* fedvs_reach() of the last generation's terms; 0 where the run has had none. */
double party_round_reach(const struct party_round *r);

/* All hellos are good: the shape of its rounds, and, once that is complete and messages have room,
 * masks and encoding.  pairs: the set's keys. */
void party_round_begin(struct party_round *r, const struct party_set *set);
enum status party_round_make_masks(struct party_round *r, const struct party_course *c,
                                   const struct party_set *set, const struct secagg_pair *pairs,
                                   struct error *err) MUST_USE;
/* The generation's first one is to come; and: there is no generation any more. */
void party_round_start(struct party_round *r);
void party_round_end(struct party_round *r);

/* A broadcast, into the task: the step that it closes, whether the run ends with it, the round that
 * it opens, and of which rows that is, unless it deals. */
enum status party_round_plan_close(struct party_round *r, const struct party_learner *l,
                                   const struct party_course *c, const struct party_set *set,
                                   const struct wire_broadcast *b, struct error *err) MUST_USE;
enum status party_round_plan_end(struct party_round *r, const struct party_learner *l,
                                 const struct party_course *c, const struct wire_broadcast *b,
                                 struct error *err) MUST_USE;
enum status party_round_plan_open(struct party_round *r, const struct wire_broadcast *b,
                                  struct error *err) MUST_USE;
enum status party_round_plan_rows(struct party_round *r, const struct party_learner *l,
                                  const struct party_course *c, struct error *err) MUST_USE;
/* Its rows: once the charge is done, which has looked at others. */
void party_round_list(struct party_round *r, struct party_course *c);
/* About what a step's work on all parameters costs, whatever its rows. */
double party_step_flops(const struct nn_spec *net);
/* About what the work on it costs. */
double party_round_flops(const struct party_round *r, const struct party_learner *l,
                         const struct party_course *c);

/* --- share.c: messages up, and others' shares --- */

/* The n that the sizes of the task's messages are told by. */
size_t party_values(const struct party_round *r, const struct party_course *c);
/* Room for every message of the set's shape.  dealt_rows: of the largest dealt chunk. */
enum status party_size_messages(struct party_round *r, const struct plan *p, uint32_t dealt_rows,
                                struct error *err) MUST_USE;
void party_send_share(struct party_round *r, const struct party_course *c,
                      const struct party_set *set, struct actions *a);
void party_send_upload(struct party_round *r, const struct party_course *c,
                       const struct party_set *set, struct actions *a);
/* Others' shares are those of the round: they are in r->received, and the task is their sum. */
enum status party_take_relay(struct party_round *r, const struct party_course *c,
                             const struct party_set *set, const struct wire_shares *w,
                             struct error *err) MUST_USE;
struct party_sealed party_sealed_of(const struct party_round *r, const struct party_course *c,
                                    const struct party_set *set);
double party_sum_flops(const struct party_round *r, const struct party_course *c,
                       const struct party_set *set);

#endif
