/* predict.h -- the jobs `predict` and `contribute` at the server: ids out, sums of protected
 * embeddings in, scores by the head of a finished run; of contributions, several questions about
 * each round's rows (common/flow/contribution.h).
 *
 * Rounds of rows in the order of the ids, each by all parties, or by those who are there
 * (server/away.c).  A generation that ends in between costs the round that was under way, which is
 * asked again; what was scored stays.
 *
 *   job.c      the table of functions (server/job.h), and one round after the other
 *   missing.c  who is not in an answer
 *   relay.c    shares of a coded round, sorted by whom they are for
 *   init.c     made, and unmade
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_PREDICT_PREDICT_H
#define COLONNADE_SERVER_PREDICT_PREDICT_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/flow/contribution.h"
#include "common/flow/prediction.h"
#include "common/metrics/spans.h"
#include "common/nn/head.h"
#include "common/secagg/secagg.h"
#include "server/job.h"
#include "server/program.h"
#include "server/setup.h"

extern const struct server_job server_job_predict;

/* Room for what passes from member to member: for member m at m share_max and m tags_max. */
struct predict_relay {
    size_t share_max, tags_max, tags; /* tags: of the set as it is */
    uint8_t *sealed, *tag;
    uint32_t in;
};

enum { PREDICT_SET_WORDS = WIRE_MEMBERS_MAX / 64 };

/* Who is missing, by roster index: left out by the text of the job, or away. */
struct predict_missing {
    bool now[WIRE_MEMBERS_MAX]; /* from the round under way */
    uint64_t *of;               /* from each that was scored: PREDICT_SET_WORDS, a bit for each */
};

/* Written by init.c and job.c. */
struct server_predict {
    struct server_federation *fed;
    struct server_question asked;
    struct prediction about;
    struct contribution asks; /* of predictions one */
    struct plan plan;
    struct buf text; /* canonical, of both */
    uint8_t digest[WIRE_DIGEST_BYTES];

    struct arena arena;
    struct server_program program;
    struct nn_head head;
    float *fused, *target; /* of a round; targets are zeros, and nobody looks at the loss */
    float *scores; /* answers x outputs, the first `place` of which are there; open: of a round */

    struct secagg_shape shape;
    struct secagg_server *sum;
    size_t payload_max, check_bytes;
    struct predict_relay relay;
    struct predict_missing missing;
    struct digest hash;
    uint8_t dither[WIRE_DIGEST_BYTES];

    uint64_t places, place; /* answers in all; of the round under way its first one */
    uint32_t rows;          /* of it */
    struct wire_bytes ids;  /* of these */
    bool pending;           /* open: there is a round, which is under way or came to nothing */
    const struct contribution_ask *ask; /* what it asks */
    uint64_t number, rounds;
    enum status worked;
    struct spans spans;
};

/* init.c */
enum status server_predict_new(struct server_predict **out, const struct server_setup *setup,
                               struct server_federation *fed, struct error *err) MUST_USE;
void server_predict_free(struct server_predict *p); /* NULL is fine */
/* On what terms a federation plays it. */
struct server_terms server_predict_terms(const struct server_predict *p,
                                         const struct server_setup *setup);
uint64_t server_predict_rounds(const struct server_predict *p); /* that were played to the end */

/* What is there once it is over, however: for each row `outputs` scores. */
struct predict_scored {
    const struct server_question *asked;
    enum nn_loss loss;
    uint32_t outputs, columns; /* columns: as they are written; of sigmoid both classes */
    const float *scores;
    uint32_t rows;                   /* the first ones, that there are scores of */
    uint64_t place;                  /* that were asked for, of an open job, too */
    uint32_t batch;                  /* so many of them in each round, one set has answered */
    const uint64_t *missing;         /* from each round (struct predict_missing) */
    const struct contribution *asks; /* of contributions scores are in the order of its places */
    const struct prediction *about;
};
struct predict_scored server_predict_scored(const struct server_predict *p);
/* What the head says of a row of which nobody is asked: `outputs` scores. */
void server_predict_nobody(struct server_predict *p, float *out);

/* missing.c */
enum status server_missing_new(struct predict_missing *m, size_t rounds) MUST_USE;
void server_missing_free(struct predict_missing *m);
/* With this set, of so many parties, and this question. */
void server_missing_begin(struct predict_missing *m, const struct coalition *asked,
                          const struct server_set *set, uint32_t parties);
/* That round is scored. */
void server_missing_scored(struct predict_missing *m, size_t round);
/* Of a round's set: is party i missing? */
bool server_missing_from(const uint64_t *set, uint32_t i);

/* relay.c */
enum status server_relay_new(struct server_predict *p) MUST_USE;
void server_relay_free(struct server_predict *p);
/* One member's shares to their places; false: they are not of this round (p->fed->error). */
bool server_relay_add(struct server_predict *p, uint32_t peer, const struct wire_shares *w);
/* All have shared: to each what is for it. */
void server_relay_send(struct server_predict *p, struct actions *a);

/* Of the round under way. */
static inline float *server_predict_scores(const struct server_predict *p)
{
    return p->scores + (p->about.open ? 0 : p->place * p->head.outputs);
}

/* Values of the round under way. */
static inline size_t server_predict_values(const struct server_predict *p)
{
    return (size_t)p->rows * p->plan.model.embedding;
}

#endif
