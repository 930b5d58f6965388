/* program.h -- a bottom or a head that a program computes (model.program, model.head_program), as a
 * net's only layer takes it (common/nn/outside.h).
 *
 * The program is a process of its own (keeper.h), which is asked over a socket (speech.h), with
 * rows, embeddings, gradients and states in memory that both see and neither can make smaller.
 * What it answers may be anything: sizes are checked before anything is taken, values are copied
 * before they are looked at, and each answer has a time limit, as have all of one piece of work.
 *
 * Before a job says anything the program is tried on rows of zeros, which no record decides: what
 * fails there ends the job on this side alone.  From the first row of data on a failure ends the
 * process and not the job: what it computes is zeros to the job's end, in what this side keeps,
 * too, and the log and the exit code of this side tell.  Of a bottom nothing of that may be seen by
 * others.  Of a head the zeros go down, where all that it computes goes; predictions by one that
 * has failed are no answers, and end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_PROGRAM_H
#define COLONNADE_COMMON_PROGRAM_PROGRAM_H

#include "common/base/status.h"
#include "common/config/config.h"
#include "common/config/plan.h"
#include "common/nn/outside.h"
#include "common/program/keeper.h"

enum { PROGRAM_START_MS = 120000 }; /* for the first answer of a process */

struct program;

/* What it computes; a head also takes the gradient of what came in. */
enum program_part { PROGRAM_BOTTOM, PROGRAM_HEAD };

/* *p is NULL, and all is well, where the configuration has no program; else the keeper is forked
 * off now: before any key is read.  c has to stay.  stands: it has one job after another. */
enum status program_new(struct program **p, enum program_part part, const struct config_program *c,
                        bool stands, struct error *err) MUST_USE;
/* Whoever starts processes: the keeper, but in tests. */
struct program_starter {
    void *owner;
    /* As keeper_start and keeper_kill. */
    enum status (*start)(void *owner, int *fd, struct error *err);
    void (*kill)(void *owner, uint32_t limit_ms, char ended[KEEPER_ENDED_MAX]);
    uint64_t (*clock_us)(void *owner); /* by which its time is counted; NULL: the system's */
};
enum status program_new_with(struct program **p, enum program_part part,
                             const struct program_starter *starter, uint32_t timeout_ms,
                             struct error *err) MUST_USE;
void program_free(struct program *p); /* ends it; NULL is fine */

/* Starts it, unless it waits for a job already, and hears that it speaks this version.  One that
 * has waited and is no more is started once more. */
enum status program_start(struct program *p, struct error *err) MUST_USE;

/* Of what a program begins with: of the side's own seed under --insecure-seed, by its number (0 the
 * server, 1 the first party), else the system's. */
enum status program_draw_seed(uint64_t *seed, bool seeded, uint64_t of, uint32_t side) MUST_USE;

/* A job's. */
struct program_shape {
    uint32_t inputs, outputs, rows_max;
    /* Of a row, as data.shape has it: three numbers, or two, or none and zeros. */
    struct nn_shape shape;
    uint64_t seed; /* of what it begins with */
    const struct plan *plan;
};
/* A job begins, with a process that had no other.  STATUS_IO: it does not do what it should with
 * zeros, and why. */
enum status program_begin(struct program *p, const struct program_shape *shape,
                          struct error *err) MUST_USE;
/* Who computes the net's layer, how many floats its state takes, and which job of its it is, from 1
 * on: of a job that has begun. */
const struct nn_outside *program_outside(const struct program *p);
size_t program_floats(const struct program *p);
uint64_t program_job(const struct program *p);
/* A piece of work begins, for which others wait: what the program is asked from here to the next
 * one has one limit of time together, half of the plan's patience_ms, or of its deadline_ms where
 * that is less and parties are done without.  One that needs more has failed.  NULL is fine. */
void program_round(struct program *p);
/* Of a job that has begun: it goes on from n bytes of a file of model.load, which only it
 * understands, and which no record has made: where it does not, STATUS_IO and why. */
enum status program_take(struct program *p, struct nn_net *net, const uint8_t *bytes, size_t n,
                         struct error *err) MUST_USE;
/* That job is over, and so is its process; one that stands has another one started for the next.
 * Nothing where another job has begun. */
void program_end(struct program *p, uint64_t job);

/* Why what it computes is zeros, or was in the job that ended last; NULL: it is not, or there is no
 * program (p NULL). */
const char *program_failed(const struct program *p);
/* The same as a status: STATUS_IO, and the line about it. */
enum status program_tell(const struct program *p, struct error *err) MUST_USE;
/* Another job is offered: what was wrong with the last one has been told.  NULL is fine. */
void program_pardon(struct program *p);

#endif
