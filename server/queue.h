/* queue.h -- what a server that stands has to do: jobs in the order they came in, and how those
 * before have ended.
 *
 * All of it is in state/jobs/queue.json, and what each job is about in a file beside it: its plan,
 * the ids to predict, or
 * the name of an alignment.  A change is on the disk before a function returns, or has not
 * happened. A job that a process had begun and not ended when it died waits again, before all
 * others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_QUEUE_H
#define COLONNADE_SERVER_QUEUE_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/crypto/cert_name.h"
#include "common/daemon/package.h"

#include <stdint.h>

enum {
    QUEUE_JOBS_MAX = 1024,    /* that are remembered; the oldest ended one goes first */
    QUEUE_WAITING_MAX = 64,   /* that wait or run */
    QUEUE_TRIES_MAX = 5,      /* processes that may die in the middle of one job */
    QUEUE_PLAN_MAX = 1 << 16, /* bytes */
    QUEUE_IDS_MAX = 1 << 24,
    QUEUE_ABSENT_MAX = 1024,
    QUEUE_OUTCOME_MAX = 16,
};

enum queue_kind { QUEUE_TRAIN, QUEUE_PREDICT, QUEUE_CONTRIBUTE, QUEUE_ALIGN };
enum queue_state {
    QUEUE_WAITING,
    QUEUE_RUNNING,
    QUEUE_DONE,     /* it came to its end */
    QUEUE_FAILED,   /* error says why */
    QUEUE_CANCELLED /* by an operator */
};
enum { QUEUE_KINDS = QUEUE_ALIGN + 1, QUEUE_STATES = QUEUE_CANCELLED + 1 };
extern const char *const queue_kind_names[QUEUE_KINDS], *const queue_state_names[QUEUE_STATES];

struct queue_job {
    uint32_t number; /* from 1, never used again */
    enum queue_kind kind;
    enum queue_state state;
    uint32_t tries;                            /* processes that have begun it */
    uint64_t seed;                             /* of its schedule, where its plan gives none */
    int64_t submitted_s, began_s, ended_s;     /* since 1970; 0: not yet */
    char run[PACKAGE_RUN_MAX + 1];             /* its folder in state/runs; "": not known yet */
    char model[PACKAGE_RUN_MAX + 1];           /* of predictions: by the model of that run */
    char alignment[CONFIG_ALIGN_NAME_MAX + 1]; /* and by places of it; "": by ids */
    char absent[QUEUE_ABSENT_MAX];             /* and without these parties */
    char by[CERT_NAME_MAX + 1];                /* for whom; "": as configured */
    uint32_t min_parties;            /* and without others that stay away; 0: as configured */
    uint32_t orders;                 /* of contributions: as contributed_want has it */
    char columns[QUEUE_ABSENT_MAX];  /* likewise */
    char without[QUEUE_ABSENT_MAX];  /* of one that is over: who is missing from answers */
    char outcome[QUEUE_OUTCOME_MAX]; /* as in summary.json */
    char error[ERROR_TEXT_MAX];
};

struct queue {
    char folder[CONFIG_PATH_MAX];
    uint32_t next; /* number */
    size_t n;
    struct queue_job *job; /* QUEUE_JOBS_MAX, by number */
};

/* Reads state/jobs/queue.json; none is an empty queue.  STATUS_DATA: it is not as this program
 * writes it. */
enum status queue_open(struct queue *q, const char *state, struct error *err) MUST_USE;
void queue_close(struct queue *q); /* safe on a zeroed struct */

/* Another job, of which kind, model and absent are given, and the text that it is about.
 * STATUS_POLICY: too many wait. */
enum status queue_add(struct queue *q, const struct queue_job *about, const char *text, size_t n,
                      uint32_t *number, struct error *err) MUST_USE;
/* What it is about: its file, and that appended to out. */
void queue_text_path(char out[CONFIG_PATH_MAX], const struct queue *q, const struct queue_job *job);
enum status queue_text(const struct queue *q, const struct queue_job *job, struct buf *out,
                       struct error *err) MUST_USE;

const struct queue_job *queue_find(const struct queue *q, uint32_t number); /* or NULL */
const struct queue_job *queue_first(const struct queue *q); /* that waits; NULL: none */

/* It is being played, in this folder. */
enum status queue_began(struct queue *q, uint32_t number, struct error *err) MUST_USE;
enum status queue_named(struct queue *q, uint32_t number, const char *run,
                        struct error *err) MUST_USE;
/* Names between commas: with queue_ended, which writes them. */
void queue_without(struct queue *q, uint32_t number, const char *names);
/* The process ends in order, in the middle of it: the next one goes on. */
enum status queue_waits_again(struct queue *q, uint32_t number, struct error *err) MUST_USE;
/* DONE, FAILED or CANCELLED. */
enum status queue_ended(struct queue *q, uint32_t number, enum queue_state how, const char *outcome,
                        const char *why, struct error *err) MUST_USE;

#endif
