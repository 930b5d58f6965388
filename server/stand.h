/* stand.h -- a server that stands: the next job of its queue, or an open one for requests, from
 * what was asked to inputs of a run, and how each has ended.  Where both wait they take turns.
 *
 *   next -> load (any thread) -> begin, or refuse -> ... the session plays it ... -> end -> rest
 *
 * It knows neither sockets nor the loop (loop.c), which calls it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_STAND_H
#define COLONNADE_SERVER_STAND_H

#include "server/loop.h"
#include "server/queue.h"
#include "server/run.h"
#include "server/serve/serve.h"

#include <stdatomic.h>

enum stand_stage {
    STAND_IDLE,    /* no job */
    STAND_LOADING, /* its inputs are being read */
    STAND_PLAYS,
    STAND_OVER /* it has ended, and its session and inputs are still there */
};

struct stand {
    const struct options *command; /* of the daemon */
    struct server_run *run;
    struct queue queue;
    enum stand_stage stage;
    bool cancelled; /* the job under way is to end */
    struct serve serve;
    bool open;   /* the job is an open one, of no number, and `job` is nothing */
    bool opened; /* the last one was */
    struct queue_job job;
    struct server_inputs in; /* of it */
    struct server_options options;
    struct buf text;
    char scores[CONFIG_PATH_MAX];
    FILE *log; /* of the job; NULL: none */
    struct error loaded;
};

/* The queue of run->in, which has been opened to stand; s->serve has been opened. */
enum status stand_open(struct stand *s, struct server_run *run, const struct options *command,
                       struct error *err) MUST_USE;
void stand_close(struct stand *s); /* safe on a zeroed struct */

/* Is there a job to load?  It is RUNNING then. */
bool stand_next(struct stand *s);
void stand_load(struct stand *s); /* from any thread, while nobody else looks at it */
/* What was loaded is the run now: EVENT_START begins it.  False: it has ended, and there is no job.
 */
bool stand_begin(struct stand *s);
/* The session has finished: files are written, and the queue says how.  stopped: the process ends
 * in order, and another goes on with the job. */
void stand_end(struct stand *s, bool stopped);
/* Instead of stand_begin, where the server stops: the next process has the job again. */
void stand_leave(struct stand *s);
void stand_rest(struct stand *s); /* from the loop, once the session's step has returned */

/* STATUS_DATA: there is no such job, or it is over.  *running: it is told to the session. */
enum status stand_cancel(struct stand *s, uint32_t number, bool *running,
                         struct error *err) MUST_USE;

#endif
