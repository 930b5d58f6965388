/* core.h -- the inside of a party session, shared by the files of this folder: one per phase.
 *
 *   session.c   life, dispatch, endings        keys.c    AGREE and CONFIRM: hellos, sid, pair keys
 *   join.c      GATHER: join, offer, policy    round.c   ROUND: gradient in, embeddings out
 *   resume.c    what a later process needs
 *   charge.c    what is reserved in the ledger, and what still has to be
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CORE_H
#define COLONNADE_PARTY_CORE_H

#include "common/base/buf.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/data/schedule.h"
#include "common/flow/agree.h"
#include "common/flow/sm.h"
#include "common/secagg/secagg.h"
#include "party/bottom.h"
#include "party/policy.h"
#include "party/session.h"

/* What the last broadcast asked for. */
struct party_task {
    bool apply, open;
    uint64_t close_step;
    enum wire_purpose purpose;
    uint64_t round, place, sweep;
    uint32_t rows;
    const uint32_t *row; /* TRAIN: the batch */
    enum status status;  /* of the work */
};

/* Releases committed in the ledger but not sent yet: training steps [next, until) or rows of a
 * sweep. */
struct party_reserve {
    uint64_t next, until;
    uint64_t sweep;
    enum wire_purpose purpose;
};

struct party_session {
    struct party_setup setup;
    struct sm sm;
    struct error error;

    /* The plan and what follows from it; kept over generations. */
    bool planned;
    struct plan plan;
    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    struct agenda agenda;
    struct schedule schedule;
    struct party_bottom bottom;
    uint8_t *payload, *check;
    size_t payload_max;
    struct secagg_shape shape;

    /* The generation. */
    uint64_t generation;
    uint32_t stalled; /* generations since a gradient was applied */
    bool connected;
    uint32_t members_n, self; /* self: own index among the members */
    uint8_t members[WIRE_MEMBERS_MAX];
    uint8_t nonce[WIRE_KEY_BYTES], kex_secret[WIRE_KEY_BYTES], kex_public[WIRE_KEY_BYTES];
    struct agree_hello own, *hellos; /* hellos: by member */
    struct agree_confirm own_confirm;
    struct wire_hello show_hello;
    struct wire_confirm show_confirm;
    uint8_t sid[WIRE_DIGEST_BYTES];
    struct secagg_party *masks;
    struct account_entry mechanism;

    /* The round. */
    struct digest digest;
    uint8_t broadcast[WIRE_DIGEST_BYTES];
    uint64_t last_round;  /* in this generation */
    bool first_broadcast; /* the next broadcast is the first of its generation */
    uint64_t applied;     /* training steps whose gradient is in the bottom */
    bool pending;         /* an upload for step `applied` awaits its gradient */
    uint64_t pending_generation;
    uint64_t last_sweep, last_sweep_row;
    enum wire_purpose last_sweep_split;
    struct party_task task;
    struct party_reserve train_reserve, sweep_reserve;
    uint32_t *charge_rows;
    size_t charge_rows_max;
    struct rng noise;

    struct party_report report;
    struct spans spans;
};

/* session.c */
void party_arm(struct party_session *p, struct actions *a);
void party_finish(struct party_session *p, struct actions *a, enum wire_outcome outcome);
/* p->error says why; the server is told. */
void party_refuse(struct party_session *p, struct actions *a);

/* join.c */
void party_connected(struct party_session *p, struct actions *a);
void party_disconnected(struct party_session *p, struct actions *a, const struct error *why);
void party_offer(struct party_session *p, struct actions *a, const struct wire_offer *o);
void party_forget_keys(struct party_session *p);

/* resume.c */
uint64_t
party_saved_steps(const struct party_setup *setup); /* training steps applied in what was saved */
enum status
party_restore(struct party_session *p); /* once the plan is taken; p->error says why not */

/* keys.c */
void party_say_hello(struct party_session *p, struct actions *a);
void party_hellos(struct party_session *p, struct actions *a, const struct wire_hellos *h);
void party_confirms(struct party_session *p, struct actions *a, const struct wire_confirms *c);

/* charge.c: true when the task's releases are reserved; false: an ACTION_CHARGE is on its way. */
bool party_reserved(struct party_session *p, struct actions *a);
void party_give_back(struct party_session *p, struct actions *a);
/* The rest counts as spent: it will neither be sent nor given back. */
void party_forget_reserves(struct party_session *p);
/* The mechanism of the generation to come.  What is reserved under another one serves no more. */
void party_use_mechanism(struct party_session *p, struct actions *a, struct account_entry next);

/* round.c */
void party_broadcast(struct party_session *p, struct actions *a, const struct event *e);
void party_charged(struct party_session *p, struct actions *a, const struct error *result);
void party_worked(struct party_session *p, struct actions *a);

#endif
