/* served.h -- what predicts in a simulation: packages of one plan on every side, the answers that
 * the server has kept, and the question that it asks just now.
 *
 * Rows are those of each party's sim_party.predicted, whose ids are 0, 1, ...; an id beyond them is
 * one that nobody has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_SERVED_H
#define COLONNADE_TESTS_SIM_SERVED_H

#include "tests/sim/packages.h"
#include "tests/sim/standing.h"

/* party/asked.c and server/answers.c, of a simulation. */
struct served {
    struct plan plan; /* that the packages are of */
    bool made;
    struct package head, *bottom; /* by party */
    /* Of the job under way: the ids of the rows that are asked for, and which those are. */
    struct server_question question;
    char *ids;
    uint32_t *at, *which;
    /* By row: answered; what was said, `outputs` of each. */
    bool *known;
    float *score;
    uint64_t *missing; /* who was, bits */
    uint32_t outputs, rows;
};

void served_init(struct served *v, const struct sim *s);
void served_deinit(struct served *v); /* safe on a zeroed one */
/* The packages are of this plan: those that there are, or others, without an answer. */
void served_make(struct served *v, const struct sim *s, const struct plan *p);
/* The question of this job: rows that were not answered before; how many. */
uint32_t served_ask(struct served *v, const struct standing_question *q);
/* The session plays it: what it has scored is kept. */
void served_keep(struct served *v, const struct server_session *session);

#endif
