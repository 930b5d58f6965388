/* waiting.h -- calls for predictions that wait for their rows, and which rows the next round asks
 * for.
 *
 * A row that several calls ask for is asked for once.  Rounds take rows in the order in which they
 * came; one that made a job fail takes its rows back, to be asked for alone, so that one that no
 * party answers for costs no other.  Of those that are asked for alone clients have one after
 * another, and every other round is of rows that are not.  A call is over when each of its rows has
 * scores or a fault.
 *
 * It knows no clock, no socket and no JSON, and keeps to its bounds: what there is no room for is
 * for the caller to refuse.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_WAITING_H
#define COLONNADE_SERVER_SERVE_WAITING_H

#include "common/daemon/package.h"
#include "common/http/http.h"
#include "common/nn/loss.h"
#include "server/serve/idmap.h"
#include "server/setup.h"

#include <stdbool.h>

enum { WAITING_CALLS_MAX = 1024, WAITING_CALL_ROWS_MAX = 1024 };

/* Why a row has no scores. */
enum waiting_fault {
    FAULT_NONE,
    FAULT_ID,      /* it is no id */
    FAULT_REFUSED, /* a party does not answer for it */
    FAULT_SHARE,   /* its client has asked for enough today */
    FAULT_NUMBER,  /* the head's scores are no numbers */
    FAULT_LATE,    /* not in time */
    FAULT_AWAY,    /* not in time, and the parties were not together */
    FAULT_FAILED,  /* the job has failed */
    FAULT_STOPPED  /* the server stops */
};

struct waiting_item; /* a row that is to be asked for, whoever waits for it */

/* What a model's scores are. */
struct waiting_kind {
    enum nn_loss loss;
    uint32_t outputs; /* of a row */
};

struct waiting_row {
    const char *id; /* of its call's text */
    size_t n;
    bool settled, counted; /* counted: may_ask has said yes to it */
    enum waiting_fault fault;
    struct waiting_item *item;         /* it waits for; NULL: settled, or not placed yet */
    struct waiting_row *before, *next; /* that wait for the same */
    struct waiting_call *call;
    bool without; /* somebody was missing: */
    uint64_t missing[WIRE_MEMBERS_MAX / 64];
};

struct waiting_call {
    void *owner; /* whom it is answered to */
    char run[PACKAGE_RUN_MAX + 1];
    size_t client;
    uint64_t came_us, until_us;
    uint64_t turn; /* when a row of it was last asked for alone; 0: never */
    uint32_t n, left;
    struct waiting_kind kind; /* of its model, whoever has the turn when it is over */
    bool placed;              /* its rows are settled or wait for an item */
    struct waiting_row *row;
    float *scores; /* n x kind.outputs, once it is placed */
    struct waiting_call *before, *next;
};

/* What is known already, and what becomes of calls. */
struct waiting_calls {
    void *owner;
    const float *(*kept)(void *owner, const char *id, size_t n); /* scores; NULL: none */
    /* May one more row of this client's be asked for?  NULL: as many as there are. */
    bool (*may_ask)(void *owner, size_t client);
    /* Scores of a row: whoever is missing, by roster index. */
    void (*scored)(void *owner, const char *id, size_t n, const float *scores, const bool *missing);
    void (*over)(void *owner, struct waiting_call *c); /* it is freed afterwards */
};

struct waiting_queue {
    struct waiting_item *head, *tail; /* to be asked for, in order */
};

struct waiting_share {
    uint32_t calls, ids; /* of one client */
};

struct waiting {
    struct waiting_calls calls;
    uint32_t ids_max, ids, calls_n; /* ids: rows of all calls that are here */
    struct waiting_share share[HTTP_CLIENTS_MAX];
    struct waiting_call *first, *last;
    struct idmap items;
    struct waiting_queue shared, alone;
    uint64_t turns, turn[HTTP_CLIENTS_MAX]; /* as a call's */
    bool was_alone;                         /* the last round */
    struct waiting_item **lot;              /* of the round under way */
    uint32_t lot_n;
    struct waiting_kind kind; /* of the model that rows are asked for by */
    struct buf text;          /* of its ids */
    uint64_t lots;            /* since waiting_begins */
};

enum status waiting_init(struct waiting *w, const struct waiting_calls *calls,
                         uint32_t ids_max) MUST_USE;
void waiting_deinit(struct waiting *w); /* no call is here any more; safe on a zeroed struct */

/* A call of n rows; rows and the fields before them are the caller's to fill in.  NULL: no memory.
 */
struct waiting_call *waiting_call_new(uint32_t n, size_t text);
char *waiting_call_text(struct waiting_call *c); /* so many bytes, for the ids */
void waiting_call_free(struct waiting_call *c);  /* one that was not added */

bool waiting_has_room(const struct waiting *w, size_t client, uint32_t rows);
/* Its rows are looked at: one that is no id, or is kept, is settled, and the others wait for an
 * item.  True: nothing is left, and it was not added; false: it is here. */
bool waiting_add(struct waiting *w, struct waiting_call *c, bool place, struct waiting_kind kind);
/* All calls for this run that are here and have not been placed. */
void waiting_place(struct waiting *w, const char *run, struct waiting_kind kind);
/* Another run has its turn: no row waits for an item any more, and no call is placed. */
void waiting_turn(struct waiting *w);
/* The run of the call that has waited for longest, or NULL. */
const char *waiting_for(const struct waiting *w);
bool waiting_other(const struct waiting *w, const char *run); /* is a call for another run here? */
bool waiting_any(const struct waiting *w);                    /* rows to be asked for */

/* As in struct server_feed, of which they are the first three. */
uint32_t waiting_take(void *w, uint32_t most, struct wire_bytes *ids);
bool waiting_again(void *w);
void waiting_scored(void *w, const float *scores, const bool *missing);

void waiting_begins(struct waiting *w); /* a job does */
/* A job has ended in the midst of a round, or not: its rows are to be asked for again; where the
 * round was refused for what is in it, alone, and one that was alone has a fault. */
void waiting_ends(struct waiting *w, bool refused);
/* All calls of this run (NULL: of any) are over, for that reason. */
void waiting_fail(struct waiting *w, const char *run, enum waiting_fault why);
/* So are those whose time is over. */
void waiting_expire(struct waiting *w, uint64_t now_us, enum waiting_fault why);
uint64_t waiting_until(const struct waiting *w); /* when the next one's is; UINT64_MAX: none is */

#endif
