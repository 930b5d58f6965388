/* train.h -- a training job at the server: its parts side by side, and how its rounds are played.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   job.c       the table, and what follows of the verdicts
 *   round.c     one round after the other: which is next
 *   plain.c     plain rounds, and what others have in common with them (two modes: some close
 *               without the late)
 *   share.c     coded rounds: SHARE and SUM                            (a mode)
 *   stream.c    STREAM: a step at each arrival                         (a mode)
 *   close.c     CLOSE, and checkpoints on their way
 *   behind.c    who joins, and is brought up to the run
 *   resume.c    to bytes and back
 *   again.c     rounds that an earlier process has closed
 *   alone.c     the head on sums that were kept, when the parties have gone
 *   init.c      made, and unmade
 *
 * These see the whole job.  What they stand on takes the parts that it needs, and each part's
 * header says who writes it: task.h (what a round is of), trainer.h, sum.h, deal.h, shares.h,
 * stored.h, watch.h; evaluate.h, broadcast.h, pace.h and work.h are functions over them.
 *
 * The job stands on the federation (server/federation.h), of which it reads the set and counts the
 * answers (server/members.h).
 */
#ifndef COLONNADE_SERVER_TRAIN_TRAIN_H
#define COLONNADE_SERVER_TRAIN_TRAIN_H

#include "common/base/buf.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"
#include "server/setup.h"
#include "server/train/broadcast.h"
#include "server/train/deal.h"
#include "server/train/evaluate.h"
#include "server/train/shares.h"
#include "server/train/stored.h"
#include "server/train/watch.h"
#include "server/train/work.h"

enum {
    SERVER_KEEP_MAX = 1 << 30, /* bytes of a checkpoint */
    SERVER_SLOW_FLOPS = 1000000000,
};

/* --- what follows, within the job --- */

enum train_kind {
    TRAIN_SAY,   /* what the federation is told */
    TRAIN_ROUND, /* what the agenda has next */
    TRAIN_SUM,   /* the round ends with what is in */
    TRAIN_CLOSED /* all members are done */
};

struct train_next {
    enum train_kind kind;
    struct server_next said;
};

static inline struct train_next train_next(enum train_kind kind)
{
    return (struct train_next){.kind = kind};
}

static inline struct train_next train_say(enum server_next_kind kind)
{
    return (struct train_next){TRAIN_SAY, next_of(kind)};
}

static inline struct train_next train_drop(uint32_t peer)
{
    return (struct train_next){TRAIN_SAY, next_of_peer(NEXT_DROP, peer)};
}

/* --- parts --- */

/* Where a party's model is, and what of it is on its way.  Written by behind.c (who joins), by what
 * counts uploads (round.c, plain.c, stream.c, job.c) and by close.c (kept). */
struct train_member {
    uint64_t applied;  /* training steps it had applied when it joined, and was sent since */
    bool keeps;        /* it writes checkpoints: else nothing of it survives its process */
    uint64_t kept[2];  /* steps in its last durable checkpoint, and in the one before */
    uint64_t uploaded; /* round of its last upload in this generation */
    bool owes;         /* an upload that its round was ended without: late when it comes */
};

/* The round in progress.  Written by round.c, which chooses it, by plain.c or stream.c, which open
 * it, and by init.c, resume.c and again.c before the first. */
struct server_round {
    const struct server_mode *mode; /* round.c chooses it */
    struct server_task task;        /* not of STREAM, where each member has its own */
    uint64_t number;                /* of the last that was opened, ever */
    uint64_t opened_us, last_answer_us;
};

struct server_stream; /* written by stream.c alone */

/* What a later process goes on from.  Written by close.c, by job.c when work has ended, and by
 * resume.c. */
struct server_keep {
    struct buf bytes;                   /* what ACTION_KEEP writes */
    bool spoiled;                       /* the head has taken a step that the run has not */
    bool complete;                      /* every member's final model is durable */
    bool under_way;                     /* the driver has it */
    uint64_t step, durable_step;        /* steps in `bytes`, and in the last durable checkpoint */
    uint32_t marks;                     /* server_marks() of `bytes` */
    uint8_t playing[WIRE_DIGEST_BYTES]; /* the number of this run, which no other has */
};

/* Gradients that are on their way out of the journal.  Written by behind.c alone. */
struct server_recall {
    uint32_t peer; /* who has asked for them */
    uint64_t step, steps;
    struct buf replay;
};

struct server_mode;

/* Written by init.c and, what work has come to, by job.c; its parts as they say. */
struct server_train {
    struct server_federation *fed;
    struct server_setup setup;
    struct train_member member[WIRE_MEMBERS_MAX];
    struct server_trainer trainer;
    struct server_round round;
    struct server_sum sum;
    struct server_deal deal;
    struct server_shares *shares; /* coded, fedvs; else NULL */
    struct server_stream *stream; /* async; else NULL */
    struct server_keep keep;
    struct server_recall recall;
    struct server_watcher watcher;
    struct server_report report; /* but for what is the federation's */
    struct spans spans;
    struct server_worked worked; /* between the work and EVENT_DONE */
};

/* How the rounds of a job are played, by the federation's set. */
struct server_mode {
    bool partial; /* a sum may be of some members alone */
    struct train_next (*open)(struct server_train *s, struct actions *a,
                              const struct server_task *task);
    struct train_next (*share)(struct server_train *s, struct actions *a, uint32_t peer,
                               const struct wire_shares *w); /* or NULL: never expected */
    struct train_next (*upload)(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u);
    /* Of a round that did not wait for it, and is counted already; NULL: none is ever late. */
    struct train_next (*late_upload)(struct server_train *s, uint32_t peer,
                                     const struct wire_upload *u);
    /* A member is lost that the round can do without: has it ended? */
    struct train_next (*settle)(struct server_train *s, struct actions *a);
    /* NEXT_LATE: who is missing is left behind, or the job fails. */
    struct train_next (*out_of_time)(struct server_train *s, struct actions *a, bool may_leave);
    struct server_worked (*work)(struct server_train *s);
    struct train_next (*done)(struct server_train *s, struct actions *a,
                              const struct server_worked *w);
};

extern const struct server_mode server_plain, server_partial, server_coded, server_streamed;

/* --- functions --- */

/* init.c: s is zeroed.  What is in the setup must outlive it; deinit is safe after init failed. */
enum status server_train_init(struct server_train *s, const struct server_setup *setup,
                              struct server_federation *fed, struct error *err) MUST_USE;
/* What the run's packages are told from others' by: WIRE_DIGEST_BYTES, of s. */
const uint8_t *server_train_trail(const struct server_train *s);
void server_train_deinit(struct server_train *s);

/* job.c */
extern const struct server_job server_job_train;

/* behind.c */
/* Is this party's model where the run needs it?  STATUS_DATA: not, and the error says why. */
enum status server_model_fits(struct server_federation *f, const struct server_trainer *t,
                              uint32_t peer, const struct wire_join *j) MUST_USE;
void server_model_came(struct server_train *s, uint32_t peer, const struct wire_join *j);
struct server_next server_behind(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_behind *b) MUST_USE;
struct server_next server_recalled(struct server_train *s, struct actions *a,
                                   const struct error *result) MUST_USE;

/* round.c */
/* What comes next; false: the agenda is done. */
bool server_choose_round(struct server_trainer *t, const struct server_deal *d,
                         struct server_task *out);
struct train_next server_next_round(struct server_train *s, struct actions *a) MUST_USE;
struct train_next server_upload(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_upload *u) MUST_USE;
void server_count_late(struct server_train *s, uint32_t peer, const struct wire_upload *u);
/* The round ends with what is in. */
void server_sum_up(struct server_train *s, struct actions *a);

/* plain.c, and what other rounds have in common with plain ones */
/* `patient`: nobody is left behind before patience ends. */
struct train_next server_ask_all(struct server_train *s, struct actions *a, enum phase phase,
                                 const struct server_task *task, bool patient) MUST_USE;
/* NEXT_WAIT: it is in the sum. */
struct train_next server_add_upload(struct server_train *s, uint32_t peer,
                                    const struct wire_upload *u) MUST_USE;
struct server_worked server_sum_work(struct server_train *s);
struct train_next server_sum_done(struct server_train *s, struct actions *a,
                                  const struct server_worked *w) MUST_USE;
/* One more answer is in: how long it was waited for is counted when it is the last. */
void server_note_answer(struct server_round *r, uint64_t now_us, bool last,
                        struct server_waited *waited, uint32_t peer);

/* share.c: enough uploads are in, or may come. */
bool server_decodes_without(const struct server_train *s);

/* stream.c */
enum status server_stream_new(struct server_stream **out, const struct plan *p,
                              uint32_t values_max) MUST_USE;
void server_stream_free(struct server_stream *t);                     /* NULL is fine */
void server_stream_begin(struct server_train *s);                     /* a generation */
uint64_t server_stream_arrivals(const struct server_stream *t);       /* NULL: 0 */
void server_stream_go_on(struct server_stream *t, uint64_t arrivals); /* from a checkpoint */

/* close.c */
void server_close_run(struct server_train *s, struct actions *a);
struct train_next server_kept(struct server_train *s, struct actions *a, uint32_t peer,
                              const struct wire_kept *k) MUST_USE;
/* The job as it stands into keep.bytes. */
enum status server_save_now(struct server_train *s, struct error *err) MUST_USE;
void server_hand_over(struct server_keep *k, struct actions *a); /* its bytes, to the driver */
struct train_next server_keep_done(struct server_train *s, struct actions *a,
                                   const struct error *result) MUST_USE;
struct server_next server_all_closed(struct server_train *s, struct actions *a) MUST_USE;
/* Each party has its final model, or will do without: the head may have steps of its own left. */
struct server_next server_complete(void *state, struct actions *a) MUST_USE;

/* alone.c */
/* The parties have their final models: they are told so, and the head begins.  False: nothing is
 * stored. */
bool server_stored_begin(struct server_federation *f, struct actions *a, struct server_trainer *t);
bool server_stored_alone(const struct server_trainer *t); /* it has begun */
struct server_worked server_stored_work(struct server_trainer *t, struct server_report *r);
struct server_next server_stored_done(struct server_trainer *t, struct actions *a,
                                      const struct server_worked *w) MUST_USE;
/* Any event but that, when the parties have gone. */
struct server_next server_stored_step(struct server_federation *f, struct actions *a,
                                      const struct event *e) MUST_USE;

/* resume.c: what a later process needs to go on, and back (server/session.h). */
enum status server_train_save(const struct server_train *s, struct buf *out) MUST_USE;
enum status server_train_restore(struct server_train *s, const uint8_t *bytes, size_t n,
                                 uint64_t *generation) MUST_USE;
/* again.c */
enum status server_train_replay(struct server_train *s, const struct journal_record *r,
                                uint64_t *generation, struct error *err) MUST_USE;

#endif
