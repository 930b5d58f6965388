/* serve.h -- predictions on request at a server that stands: who asks, by which model, what is kept
 * already, and when a job has to be opened for the rest.
 *
 * One model has its turn at a time, that of the call which has waited for longest.  Its kept
 * answers are in memory (kept.h); calls that need more wait (waiting.h) for an open job, which the
 * daemon plays when no other is played, and which ends between two rounds when others wait.
 *
 * It knows no loop: `wake` says that there is something to do, and serve_sync_* is for a thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SERVE_SERVE_H
#define COLONNADE_SERVER_SERVE_SERVE_H

#include "common/http/http.h"
#include "common/metrics/latency.h"
#include "server/prepare.h"
#include "server/serve/kept.h"
#include "server/serve/tokens.h"
#include "server/serve/waiting.h"

enum {
    SERVE_PAUSE_MS = 1000,
    SERVE_WRITE_MS = 250,
    SERVE_LOG_MS = 10000,
    SERVE_STEP = 8, /* by which an open job's rows become fewer, and more again */
    SERVE_DAY_S = 86400
};

#define SERVE_MODELS "/v1/models"
#define SERVE_STATS "/v1/stats"

struct serve_client {
    uint64_t calls, rows;             /* asked for */
    uint64_t calls_noted, rows_noted; /* of them, in the log */
    uint64_t day_until_us, day_rows;  /* that parties were asked for */
};

struct serve_calls {
    void *owner;
    void (*wake)(void *owner);   /* a call waits, or the open job is to look around */
    bool (*others)(void *owner); /* do jobs wait in the queue? */
    uint64_t (*clock_us)(void);
};

struct serve_counts {
    uint64_t calls, rows;                 /* answered; rows: with scores */
    uint64_t kept;                        /* calls that nobody was asked for */
    uint64_t refused, late, failed, jobs; /* refused: 429; jobs: that were opened */
};

struct serve {
    const struct server_inputs *whole;
    struct serve_calls calls;
    struct waiting waiting;
    struct kept kept;
    struct tokens tokens;
    struct serve_client client[HTTP_CLIENTS_MAX]; /* of each token */
    char run[PACKAGE_RUN_MAX + 1];                /* whose turn it is; "": nobody's */
    struct waiting_kind kind;                     /* its scores, once `turning` is over */
    bool turning;                                 /* that model is being read */
    bool opened, stopping;
    uint32_t rows; /* of the next open job, at most */
    uint64_t paused_until_us, write_us, noted_us;
    uint64_t retry_us;         /* the last sync came to nothing: no other before */
    bool complained;           /* about that, and about the ones before it */
    struct error found;        /* by the thread: of the turn, ... */
    struct waiting_kind reads; /* ... and what it is */
    struct latency latency;
    struct serve_counts counts;
};

/* Tokens are read, or made (tokens.h). */
enum status serve_open(struct serve *s, const struct server_inputs *whole,
                       const struct serve_calls *calls, struct error *err) MUST_USE;
void serve_close(struct serve *s); /* stopped, and nothing is being read; safe on a zeroed struct */

/* Tokens are read again, or stay as they are, with a line that says so.  False: they have stayed.
 */
bool serve_reload(struct serve *s);

/* As in struct http_setup: models, figures and predictions. */
bool serve_answer(void *serve, const struct http_request *r, struct http_answer *out);
bool serve_is_its(const char *path); /* is it one of those? */

/* --- for the loop --- */
/* Is there something for a thread to read or to write? */
bool serve_due(const struct serve *s);
void serve_sync_begin(struct serve *s);
void serve_sync_work(struct serve *s); /* on any thread */
void serve_sync_end(struct serve *s);
/* Calls whose time is over are answered.  together: parties play. */
void serve_tick(struct serve *s, bool together);
uint64_t serve_next(const struct serve *s); /* until when there is nothing to do, but for a call */
void serve_stop(struct serve *s);           /* every call is answered, and no other is taken */

/* --- the open job --- */
bool serve_wants(const struct serve *s); /* shall one be opened? */
void serve_opens(struct serve *s);
/* What it asks: feed, rows and times. */
void serve_question(struct serve *s, struct server_question *q);
void serve_ended(struct serve *s, enum wire_outcome outcome, const struct error *why);

#endif
