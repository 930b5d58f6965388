/* parts.h -- the job `predict` at a party: rows that the server names by their ids, through the
 * bottom of a finished run, protected as in training.
 *
 * (Places of an alignment are such ids: the table then has its rows by place.)  Each row is a
 * release: charged before anything of it leaves, by the mechanism of this set.  An id
 * that this party has no row of is answered by a constant under the usual masks and noise, counted,
 * and told to nobody; but where sums are exact (prediction_is_exact) such an answer would show what
 * the others hold, and later what this party does, so that the job is refused there.  Of an
 * alignment of labelled rows nobody is to know who lacks one: those that are not here have a
 * stand-in in the table (absent.h), which is charged as a row is, and never counted; and a record
 * that has no more to spend refuses nothing there, but counts as one that is not here.
 *
 * A job of contributions (common/flow/contribution.h) is played by the same files: predictions are
 * one question, and it has several.
 *
 *   offer.c    the text and its price      round.c   one round: charge, embed, protect, send
 *   witness.c  how far ledgers have come   predict.c the table of functions (party/job.h)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREDICT_PARTS_H
#define COLONNADE_PARTY_PREDICT_PARTS_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/crypto/digest.h"
#include "common/flow/contribution.h"
#include "common/flow/prediction.h"
#include "common/flow/trail.h"
#include "common/nn/net.h"
#include "common/privacy/account.h"
#include "party/job.h"

enum { PREDICT_CHECK_MAX = 1024 }; /* bytes of check elements, tags apart */

/* The round under way. */
struct predict_round {
    uint64_t number, place;
    struct contribution_round at;
    uint32_t rows, known, unknown;
    uint32_t *row;     /* by row of the round: of the table; SIZE of the table: unknown */
    uint32_t *charged; /* charged_n of them: the known ones; mixing: then whose column each gets */
    uint32_t charged_n;
    uint8_t
        *spared; /* by charged: it has no more to spend, and counts as not here (labelled rows) */
    uint8_t view[WIRE_DIGEST_BYTES], dither[WIRE_DIGEST_BYTES];
    bool counted;            /* its rows were asked for before, and which of them are unknown */
    bool relay_due, summing; /* summing: what is worked on are the others' shares */
};

/* Rows that were asked for, in this process: the place of the last ones, how far they have come,
 * what ids they were, and in how many rounds they were new, or not. */
struct predict_asked {
    uint64_t place, until, once, again;
    uint32_t row; /* of the job, the first of them */
    uint8_t ids[DIGEST_BYTES];
};

struct party_predict {
    /* What the session lends (party/job.h). */
    const struct party_setup *setup;
    const struct party_set *set;
    struct sm *sm;
    struct error *error;
    struct spans *spans;

    bool planned, contributes;
    struct prediction about;
    struct contribution asks;
    struct plan plan; /* prediction_plan() of the model's */
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct account_entry mechanism;

    struct arena arena; /* of the net and of all that follows */
    struct nn_net net;
    uint64_t program_job; /* of the program that computes its layer; 0: there is none */
    float *x;             /* rows of the round x columns */
    float *shown;         /* rows of a round x P, where the net takes fewer at a time */
    uint8_t *payload, *check;
    size_t payload_max, share_max;
    struct buf received;

    struct secagg_shape shape;
    struct secagg_party *masks;
    struct rng noise;
    struct digest hash;
    struct trail trail; /* over the ids of this generation's rounds */
    struct predict_round round;
    struct predict_asked asked;
    uint64_t seen[WIRE_MEMBERS_MAX]; /* by roster index: the highest number of a ledger */
    uint64_t ended;                  /* rounds of this generation that all have sent in */
    uint64_t rounds, released;
    enum status worked;
};

/* offer.c: *p->error says why not. */
enum status predict_offer(void *state, struct actions *a, const struct wire_offer *o) MUST_USE;
enum status predict_sizes(struct party_predict *p) MUST_USE; /* for the set as it is */

/* witness.c */
void predict_witness_init(struct party_predict *p);
void predict_witness_say(const struct party_predict *p, struct agree_confirm *c);
enum status predict_witness_check(const struct party_predict *p,
                                  const struct wire_confirms *cs) MUST_USE;
void predict_witness_hellos(struct party_predict *p);
void predict_witness_ended(struct party_predict *p); /* the round before has */

/* round.c */
enum status predict_broadcast(struct party_predict *p, struct actions *a,
                              const struct wire_broadcast *b) MUST_USE;
enum status predict_relay(struct party_predict *p, struct actions *a,
                          const struct wire_shares *w) MUST_USE;
enum status predict_charged(struct party_predict *p, struct actions *a) MUST_USE;
void predict_work(void *state);
enum status predict_worked(struct party_predict *p, struct actions *a) MUST_USE;

#endif
