/* course.h -- what is played: the plan that was taken, and all that follows from it alone; and what
 * a mode of rounds is.
 *
 * The plan is taken once and kept over generations: written by plan.c alone, but for the number of
 * the playing, which resume.c takes out of a checkpoint; everybody else reads.
 * (A batch is looked up in the schedule, which keeps the last epoch's order.)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_COURSE_H
#define COLONNADE_PARTY_TRAIN_COURSE_H

#include "common/base/buf.h"
#include "common/data/schedule.h"
#include "common/flow/agenda.h"
#include "common/secagg/secagg.h"
#include "party/federation.h"

struct party_course;
struct party_deal;
struct party_learner;
struct party_round;
struct party_task;

/* How the rounds of a job are played at a party: a row of mode.c.  `t` is what a round is of. */
struct party_mode {
    enum phase opens; /* a round begins in it */
    bool own_steps;   /* a party's steps do not tell how many the run has done */
    double slow;      /* flops of a round, and of a sum, besides those of the model */
    /* The n that the sizes of its messages are told by. */
    size_t (*values)(const struct party_task *t, const struct plan *p,
                     const struct secagg_shape *s);
    /* Its coded rows, into r->coded; NULL: there are none. */
    void (*list_coded)(struct party_round *r, const struct schedule *s);
    /* What is protected: n floats, the learner's until its next forward. */
    const float *(*embed)(struct party_learner *l, const struct party_task *t,
                          const struct table *table, size_t *n);
    /* Everybody's data in shares, for a sum; NULL: rounds are of what is uploaded. */
    const void *(*data)(const struct party_deal *d, const struct party_task *t,
                        const struct secagg_shape *s);
    /* Is this the sweep that comes after so many steps? */
    bool (*sweep_is_due)(const struct agenda *a, uint64_t applied, uint64_t sweep);
    /* What the work on the round has made. */
    void (*send)(struct party_round *r, const struct party_course *c, const struct party_set *set,
                 struct actions *a);
};

struct party_course {
    bool planned; /* one was taken */
    bool taken;   /* an offer of it, by this process */
    struct plan plan;
    struct buf text;
    uint8_t digest[WIRE_DIGEST_BYTES], playing[WIRE_DIGEST_BYTES]; /* the server's number of it */
    uint32_t self;                                                 /* this party, in the roster */
    struct agenda agenda;
    struct schedule schedule;
    const struct party_mode *mode;
    bool wants_more;   /* the last offer was refused, and for its set alone */
    bool does_without; /* who is missing, or deals what does not open, is left behind; else all wait
                        */
};

/* Are the rows to choose by the same on both sides?  STATUS_DATA: they are not. */
enum status party_course_keeps_back(const struct plan *p, const struct config_party *c,
                                    struct error *err) MUST_USE;
/* A text of the server's: read, and checked against the roster and the rows of this party.  What
 * follows from it is there when that is STATUS_OK, but for what takes memory. */
enum status party_course_read(struct party_course *c, const struct party_setup *setup,
                              const uint8_t *text, size_t n, struct error *err) MUST_USE;
enum status party_course_make_room(struct party_course *c, const uint8_t *text, size_t n) MUST_USE;
void party_course_deinit(struct party_course *c);

/* How long the server may be silent; 0 before a plan is known.  The timer is set to it. */
uint64_t party_patience_ms(const struct party_course *c);
void party_arm(const struct party_course *c, struct actions *a);
/* The rows of training step `step`; the schedule's until the next call. */
const uint32_t *party_batch(struct party_course *c, uint64_t step, uint32_t *rows);

/* The server did what the plan, or the protocol, does not have. */
enum status party_violation(struct error *err, const char *what, uint64_t number);

#endif
