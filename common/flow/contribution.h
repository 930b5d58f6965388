/* contribution.h -- what a job of contributions is about: the same rows asked for again and again,
 * without some parties, or with a column of one party mixed up among the rows of a round.
 *
 * Its text is that of predictions (prediction.h), of which `absent` is empty, and two lines more:
 * all that will be asked, so that everybody can price all of it before the first upload.  A job of
 * predictions is one question, and its rounds are counted in the same way.
 *
 * All is asked of one round's rows before the next ones are.  A place is counted in answers: round
 * b of n rows has the n places of its first question, then the n of its second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_CONTRIBUTION_H
#define COLONNADE_FLOW_CONTRIBUTION_H

#include "common/flow/coalitions.h"
#include "common/flow/prediction.h"

#define JOB_CONTRIBUTE "contribute"
/* Why there are none of exact sums (prediction_is_exact). */
#define CONTRIBUTION_EXACT                                                                         \
    "contributions, under an encoding without noise: the difference of two answers would show "    \
    "what is one party's"

enum {
    CONTRIBUTION_COLUMNS_MAX = 1024, /* of one party */
    CONTRIBUTION_ASKS_MAX = COALITIONS_MAX + CONTRIBUTION_COLUMNS_MAX,
};

struct contribution_ask {
    struct coalition of;
    bool mixes; /* this party mixes up its column of that number, from 0 */
    uint32_t party, column;
};

struct contribution {
    uint64_t seed; /* of what is mixed up */
    uint32_t n;    /* at least 1 */
    struct contribution_ask *ask;
};

void contribution_deinit(struct contribution *c); /* safe on a zeroed struct */
/* Room for n questions, all of them of everybody. */
enum status contribution_init(struct contribution *c, uint32_t n) MUST_USE;
/* The one question of a job of predictions. */
enum status contribution_of(struct contribution *c, const struct prediction *about) MUST_USE;

/* Behind the lines of `about`: seed, then asks, between commas: who is left out as hexadecimal bits
 * by roster index, or party:column. */
enum status contribution_print(const struct contribution *c, const struct prediction *about,
                               struct buf *out) MUST_USE;
/* Just what that writes; *c, zeroed, is contribution_deinit's whatever the answer.  STATUS_PROTOCOL
 * else, and where it leaves out a party that is not one of `parties`, or all of them. */
enum status contribution_parse(struct contribution *c, struct prediction *about,
                               const struct wire_bytes *text, uint32_t parties,
                               struct error *err) MUST_USE;

/* Of one party: how many of its columns are mixed up, the last one's number + 1 in *end. */
uint32_t contribution_mixes(const struct contribution *c, uint32_t party, uint32_t *end);

/* Answers in all. */
static inline uint64_t contribution_places(const struct contribution *c,
                                           const struct prediction *about)
{
    return (uint64_t)c->n * about->rows;
}
/* What is asked from that place on: the rows of a round, and the question.  False: no round begins
 * there. */
struct contribution_round {
    uint32_t row, rows, ask;
};
bool contribution_at(struct contribution_round *out, const struct contribution *c,
                     const struct prediction *about, uint64_t place);

#endif
