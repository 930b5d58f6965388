/* contributed.h -- a job of contributions at the server, before and after it is played: which
 * questions it asks of each row, and the table of answers that `vfl contribution` makes values of.
 *
 * Labels are no part of it: they meet the answers where their owner computes
 * (docs/contribution.md).
 *
 *     asked,id,score_0,...        asked: who was left out, with + between; NAME:K, of NAME column K
 *                                 was mixed up; nothing: all were asked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_CONTRIBUTED_H
#define COLONNADE_SERVER_CONTRIBUTED_H

#include "server/predict/predict.h"
#include "server/prepare.h"

/* What is wanted of each row. */
struct contributed_want {
    uint32_t orders;     /* of parties; 0: all sets of few parties, else COALITIONS_ORDERS */
    const char *columns; /* NAME=N,...: of that party the first N columns; NULL or "": none */
    uint64_t seed;       /* of what is mixed up */
};

/* in->asks, of the model and the roster that are there.  STATUS_CONFIG: it cannot be asked. */
enum status contributed_ask(struct server_inputs *in, const struct contributed_want *want,
                            struct error *err) MUST_USE;
/* -n: as a comment line. */
void contributed_print(const struct server_inputs *in);
/* All answers, and, last, what the head says when nobody is asked. */
enum status contributed_write(const struct server_inputs *in, struct server_predict *p,
                              const char *path, struct error *err) MUST_USE;

#endif
