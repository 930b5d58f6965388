/* learner.h -- what learns: the bottom, what was sent of it, and how far both are.
 *
 * Written by the work alone (learner.c, and through it work.c), by catchup.c, which skips or takes
 * back steps, by plan.c, which has heard how far the run is, and by resume.c out of a checkpoint;
 * `pending` and `final` by play.c, close.c and train.c, `final` by what reopens a run, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_LEARNER_H
#define COLONNADE_PARTY_TRAIN_LEARNER_H

#include "common/base/buf.h"
#include "common/crypto/digest.h"
#include "common/flow/trail.h"
#include "party/train/best.h"
#include "party/train/bottom.h"
#include "party/train/course.h"
#include "party/train/refresh.h"
#include "party/train/sent.h"

/* Where the run is, and where this party is not yet. */
struct party_behind {
    uint64_t offered;   /* steps that the server has done, as it says */
    uint64_t furthest;  /* the most steps this party had ever applied */
    uint64_t heard;     /* and the most that were ever offered, by which others came further */
    uint32_t gone_back; /* times this process went back to its checkpoint */
    bool replay_due;    /* this party has said how far behind it is */
};

struct party_learner {
    struct party_bottom bottom;
    struct party_best best;
    struct party_sent sent;
    struct party_refresh refresh;
    struct digest digest; /* scratch */
    struct trail trail;   /* after `applied` steps */
    uint64_t applied;     /* training steps that are behind this party */
    bool trained;         /* by this process or one before it; whatever `applied` is by now */
    bool released;        /* a round of its own was closed: released, and paid for ... */
    uint8_t released_in[DIGEST_BYTES]; /* ... in the playing of this number, the last such one */
    bool pending;                      /* an upload for step `applied` awaits its gradient */
    bool final;                        /* the last broadcast has come, and no step since */
    bool left_out; /* the run is complete, without the last of this party's steps */
    struct party_behind behind;
    struct buf undo; /* what the present step changes, as it was before; empty: nothing to undo */
};

/* For the plan: a bottom with fresh weights, and room for what is kept of a batch, whose messages
 * have this shape. */
enum status party_learner_make_room(struct party_learner *l, const struct party_course *c,
                                    const struct party_setup *setup,
                                    const struct secagg_shape *shape) MUST_USE;
/* Other first weights, and labels, where the configuration has them. */
enum status party_learner_load(struct party_learner *l, const struct party_course *c,
                               const struct party_setup *setup, struct error *err) MUST_USE;
void party_learner_deinit(struct party_learner *l);

/* As many 4-byte words as a step of `rows` rows has, to where they are taken from. */
enum status party_learner_receive(struct party_learner *l, struct wire_bytes gradient,
                                  uint32_t rows, struct error *err) MUST_USE;
/* The same in bytes. */
size_t party_step_bytes(const struct party_learner *l, uint32_t rows);
/* One more step is behind this party: what came down for it. */
void party_learner_advance(struct party_learner *l);
/* A round of this playing is behind this party that it has released and paid for. */
void party_learner_released(struct party_learner *l, const uint8_t playing[DIGEST_BYTES]);

/* The server names the best evaluation; or has, and this party has gone back since. */
void party_learner_best(struct party_learner *l, uint64_t step);
/* The run is not over after all: no model is final that was settled on. */
void party_learner_reopen(struct party_learner *l);

/* A step of several local iterations may be left between two of them: what it would change is kept,
 * and put back. */
enum status party_note_before(struct party_learner *l, const struct plan *p,
                              struct error *err) MUST_USE;
enum status party_undo(struct party_learner *l, struct error *err) MUST_USE;

#endif
