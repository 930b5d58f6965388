/* predictions.h -- a job of predictions between a server and three parties: sessions as daemons
 * make them; messages pass packed, one after the other, and time stands still.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PREDICTIONS_H
#define COLONNADE_TESTS_SIM_PREDICTIONS_H

#include "common/daemon/package.h"
#include "common/daemon/placed.h"
#include "common/flow/contribution.h"
#include "tests/sim/world.h"

enum { PARTIES = 3, ROWS = 2500, COLS = 2, QUEUE = 64, FRAME_MAX = 1 << 21, MIXER = 1 };

/* What is on its way: to party `who` of the server, or from it. */
struct letter {
    uint32_t who;
    bool up;
    struct buf frame;
};

struct player {
    struct party_session *session;
    struct package model;
    struct table rows;
    bool spent[ROWS];                   /* has no more to spend, where rows may not be here */
    uint32_t charges, unknown, fail_at; /* fail_at: this charge fails */
    uint64_t charged, sent;             /* rows; rounds whose first bytes have left */
    uint32_t uploads;                   /* that were on their way */
    bool ended;
    enum status why;
};

struct play {
    struct sim *s; /* roster and keys */
    struct plan plan;
    struct package head;
    struct server_session *server;
    struct server_question asked;
    struct contribution asks; /* n 0: none are asked for */
    struct placed placed;     /* rows are called by places of it; else by ids */
    uint64_t released; /* of one record, each, by what ledgers say; it may be no more than 9 */
    uint32_t id_first; /* of these */
    char ids[ROWS * 8];
    uint32_t at[ROWS + 1];
    struct player player[PARTIES];
    struct letter queue[QUEUE];
    size_t first, n;
    struct wire_unpacker unpacker;
    uint32_t delivered, kill_at, kill_who; /* before this letter a party's process is killed */
    uint32_t uploads, lose_at;   /* that the server was sent; before this one its sender is lost */
    uint32_t lose_who, lose_but; /* of this party's, too, all but each that is the so-manieth; 0 */
    enum {
        SERVER_RIGHT,
        SERVER_FORGETS, /* who was lost, whenever somebody is */
        SERVER_REPEATS, /* and begins at the first row again */
        SERVER_CHANGES, /* and asks for other ids at the same place */
    } manner;
    bool ended;
    enum wire_outcome outcome;
    struct error error;
};

/* Settings of a plan, NULL behind the last. */
extern const char *const predictions_clear[],
    *const predictions_fixed[], *const predictions_coded[],
                                    *const predictions_pbm[],
                                        *const predictions_dropout[]; /* the head has stand-ins */

/* Ids 1000, 1001, ... at every party, asked for backwards. */
void predictions_begin(struct play *p, const char *const *sets);
/* A job of contributions: all sets of the parties, and both columns of party 1 mixed up. */
void predictions_begin_contributions(struct play *p, const char *const *sets);
/* Places, once some record has been released as often as it may. */
void predictions_begin_spent(struct play *p, const char *const *sets, bool labelled);
/* Contributions of places of an alignment of labelled rows. */
void predictions_begin_contributions_labelled(struct play *p, const char *const *sets);
/* The same without these parties (bits). */
void predictions_begin_absent(struct play *p, const char *const *sets, uint32_t absent);
/* Rows are called 0, 1, ..., places of an alignment, of labelled rows or of such as all have. */
void predictions_begin_placed(struct play *p, const char *const *sets, bool labelled);
void predictions_play(struct play *p);
void predictions_end(struct play *p);
/* The largest difference between what came out and what the packages make of the rows. */
double predictions_apart(const struct play *p);
/* The server has scored all, and every party has ended well; one that was killed may have come back
 * when all was over. */
void predictions_complete(const struct play *p);

#endif
