/* standing.h -- processes that stand (sim_options.stands): one job after another in one simulation.
 *
 * A test says what is played next, when the server has ended what was played before (its
 * sim_end.jobs).  Each run of training has checkpoints and a journal of its own, found by its
 * digest, so that any may go on after others.  A process that dies, or is stopped and started
 * again, comes back to the job that is being played.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_STANDING_H
#define COLONNADE_TESTS_SIM_STANDING_H

#include "tests/sim/sim.h"

/* Rows that are predicted (served.h). */
struct standing_question {
    uint32_t first, rows, batch;   /* batch: of each round at most; 0: as the server has it */
    uint64_t absent;               /* parties (bits) that are left out */
    bool anew;                     /* what was answered before is asked again */
    bool twice;                    /* each row in one job */
    uint32_t without;              /* a party that has no such model, from 1; 0: all have it */
    uint32_t min_parties, wait_ms; /* so many answer where others stay away for so long; 0: all */
    /* An open job: where its `rows` at most come from; NULL: they are known.  begins: a process
     * does, without what one before it had in hand. */
    const struct server_feed *feed;
    void (*begins)(void *owner);
    uint32_t idle_ms;
    bool opens;       /* whoever plays it has a feed (tests/interference) */
    uint64_t denied;  /* parties (bits) of whom the server says, wrongly, that they are away */
    bool contributes; /* of everybody, without each one, and without `absent`: contributions */
    const struct placed *placed; /* rows are called by places of it; NULL: by ids */
    uint32_t mixes; /* and with the first column of this party mixed up, from 1; 0: nobody's */
};

struct standing_job {
    enum { STANDING_TRAIN, STANDING_PROBE, STANDING_PREDICT, STANDING_ALIGN } kind;
    struct plan plan;    /* of training, or of the model that predicts */
    const char *numbers; /* of a probe: its text */
    struct standing_question asked;
    uint32_t chunk; /* of an alignment (aligning.h: of the lists of s and its parties) */
    bool labelled;  /* of all rows of the server's list */
};

/* It begins; sim_run plays it.  Where all answers were kept nobody is asked, and it is over. */
void standing_play(struct sim *s, const struct standing_job *job);
bool standing_plays(const struct sim *s); /* the server has a job */
/* Somebody asks for rows of an open job, or for its end. */
void standing_asked(struct sim *s);
/* What was answered of this row, a score for each output; NULL: nothing yet. */
const float *standing_score(const struct sim *s, uint32_t row);
/* Who was missing from that (bits). */
uint64_t standing_missing(const struct sim *s, uint32_t row);
/* SIM_SERVER or a party was stopped, and its process is started again. */
void standing_start(struct sim *s, int who);

/* For the simulation alone. */
struct standing *standing_new(const struct sim *s);
void standing_free(struct standing *st);
void standing_ended(struct sim *s, int who, const struct action *finish);
void standing_again(struct sim *s); /* a server without a job: that which was being played */
enum status standing_recall(void *owner, const struct wire_job *job,
                            const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                            struct error *err);

#endif
