/* action.h -- what a session core wants done.  Pointers belong to the core and live until its next
 * step (KEEP: until its answer).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_ACTION_H
#define COLONNADE_FLOW_ACTION_H

#include "common/base/buf.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/privacy/account.h"
#include "common/privacy/ledger_law.h"
#include "common/wire/message.h"

enum { ACTIONS_MAX = WIRE_MEMBERS_MAX + 16 };

enum action_kind {
    ACTION_SEND, /* msg to the peers to[0..to_n) (a party: to its server, to_n = 0) */
    ACTION_ARM,  /* (re)arm the one timer, after_ms from now */
    ACTION_DISARM,
    ACTION_WORK,   /* run the session's work function, then tell it EVENT_DONE */
    ACTION_CHARGE, /* reserve or return releases in the ledger, then tell it EVENT_CHARGED */
    ACTION_KEEP,   /* write a checkpoint, while the session goes on; then tell it EVENT_KEPT */
    ACTION_DROP,   /* refuse `peer` with error and close its connection */
    ACTION_LEAVE,  /* a party: close the connection, and come back after_ms from now */
    ACTION_REPORT, /* an evaluation is complete: write it down */
    ACTION_RECALL, /* gradients of steps gone by, out of the journal; then tell it EVENT_RECALLED */
    ACTION_FORGET, /* nobody needs the journal's steps before `step` again */
    ACTION_FINISH, /* the run is over: outcome, error */
    /* By work alone, which has a list of its own: done on its thread when it has returned, and
     * before anything else is; EVENT_DONE says what went wrong. */
    ACTION_APPEND, /* `record` to the journal */
    ACTION_TURN,   /* the journal's segment ends: a checkpoint at `step` is about to be written */
};

/* Releases of rows of one split under one mechanism, and what is to be durable with them.  A charge
 * is told by EVENT_CHARGED, what is given back by nothing. */
struct action_charge {
    struct account_entry mechanism;
    enum wire_purpose purpose;
    bool predicts;           /* rows are of the table of predictions, whatever the purpose */
    bool contributes;        /* and asked for to see what each party adds */
    uint32_t asked, unknown; /* ids that were asked for; those that are new and in no row: counted
                              * with the charge */
    bool give_back;          /* reserved but never sent; or, of no rounds, only `seen` */
    const uint8_t *plan;     /* WIRE_DIGEST_BYTES: the plan's digest */
    uint64_t place;          /* of the first round: a training step, or a place of a sweep */
    /* That it pays for, or that nothing was sent for: never less than will be opened for it.  0:
     * nothing is charged, and only `seen` kept. */
    uint32_t rounds;
    const uint32_t *rows; /* of the train or test table, by purpose */
    size_t n;
    /* predicts: NULL, or by rows[], the core's: set to 1 where a record has no more to spend, and
     * to 0 otherwise.  Nothing of it is to be sent then; where this is NULL that is refused. */
    uint8_t *spared;
    size_t places;                 /* predicts: n, had every id a row here */
    struct ledger_stretch stretch; /* the same rows by the public schedule; no law: listed alone */
    const uint64_t *seen;          /* by roster index: the highest numbers of peers' ledgers seen */
    size_t seen_n;
};

struct journal_record; /* common/daemon/journal.h */

/* Of `step` and those after it, side by side, up to bytes_max (at least one); all belongs to the
 * core. */
struct action_recall {
    size_t bytes_max;
    struct buf *out;
    uint64_t *steps; /* how many these are */
};

struct action {
    enum action_kind kind;
    uint32_t peer;
    struct wire_msg msg;
    const uint8_t *to;
    size_t to_n;
    uint64_t after_ms;
    double flops; /* WORK: for the choice between loop and pool */
    struct action_charge charge;
    uint64_t step; /* RECALL, FORGET, TURN: a training step */
    struct action_recall recall;
    const struct journal_record *record; /* APPEND */
    struct wire_bytes kept; /* KEEP: secret, seal it; the core leaves them alone until EVENT_KEPT */
    enum wire_outcome outcome;
    struct error error; /* DROP, FINISH: why */
};

struct actions {
    size_t n;
    struct action item[ACTIONS_MAX];
};

static inline struct action *actions_add(struct actions *a, enum action_kind kind)
{
    struct action *item;

    CHECK(a->n < ACTIONS_MAX);
    item = &a->item[a->n++];
    item->kind = kind;
    item->to = NULL;
    item->to_n = 0;
    item->error.status = STATUS_OK;
    item->error.text[0] = 0;
    return item;
}

#endif
