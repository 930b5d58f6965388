/* learner.h -- what learns: the plan and what follows from it, the bottom, and how far both are.
 *
 * The plan is taken once, kept over generations, and read everywhere in this folder.  The bottom,
 * what was sent and the trail change in work.c and catchup.c alone, and when a checkpoint is taken
 * up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_LEARNER_H
#define COLONNADE_PARTY_TRAIN_LEARNER_H

#include "common/base/buf.h"
#include "common/crypto/digest.h"
#include "common/data/schedule.h"
#include "common/flow/agenda.h"
#include "common/flow/trail.h"
#include "party/train/bottom.h"
#include "party/train/refresh.h"
#include "party/train/sent.h"

/* Where the run is, and where this party is not yet. */
struct party_behind {
    uint64_t offered;   /* steps that the server has done, as it says */
    uint64_t furthest;  /* the most steps this party had ever applied */
    uint32_t gone_back; /* times this process went back to its checkpoint */
    bool replay_due;    /* this party has said how far behind it is */
};

struct party_learner {
    bool planned;
    bool taken; /* an offer of it, by this process */
    struct plan plan;
    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    struct agenda agenda;
    struct schedule schedule;
    struct party_bottom bottom;
    bool raw; /* it has been priced as raw: for good */
    struct party_sent sent;
    struct party_refresh refresh;
    struct digest digest; /* of whatever is hashed on this side's only thread at a time */
    struct trail trail;   /* after `applied` steps */
    uint64_t applied;     /* training steps that are behind this party */
    bool trained;         /* by this process or one before it; whatever `applied` is by now */
    bool pending;         /* an upload for step `applied` awaits its gradient */
    bool final;           /* the last broadcast has come, and no step since */
    struct party_behind behind;
    struct buf undo; /* what the present step changes, as it was before; empty: nothing to undo */
};

/* The most that `undo` holds. */
size_t party_undo_bytes(const struct party_learner *l);
/* A step of several local iterations may be left between two of them: what it would change is kept,
 * and put back. */
enum status party_note_before(struct party_learner *l, struct error *err) MUST_USE;
enum status party_undo(struct party_learner *l, struct error *err) MUST_USE;

#endif
