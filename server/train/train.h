/* train.h -- the inside of a training job at the server, shared by the files of this folder.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   job.c       the table, and what follows of the verdicts
 *   again.c     rounds that an earlier process has closed
 *   round.c     one round after the other: which is next
 *   close.c     CLOSE, and checkpoints on their way
 *   resume.c    to bytes and back
 *   share.c     coded rounds: SHARE and SUM          (a mode)
 *   stream.c    STREAM: a step at each arrival       (a mode)
 *   plain.c     plain rounds, and what coded ones have in common with them (a mode)
 *   behind.c    who may join, and is brought up to the run
 *   alone.c     the head on sums that were kept, when the parties have gone
 *   work.c      the work between two broadcasts
 *   evaluate.c  sweeps, scores, targets
 *   watch.c     what --transcript is told
 *   broadcast.c what a round is of, and what goes down before it
 *   deal.c      what goes before the rounds of fedvs
 *   stored.c    releases once: sums that are kept
 *   head.c      the top model
 *   init.c      made, and unmade
 *
 * The job stands on the federation (server/federation.h), of which it reads the set and counts the
 * answers (server/members.h).  Its own state has parts, each open to the files named at it.
 *
 */
#ifndef COLONNADE_SERVER_TRAIN_TRAIN_H
#define COLONNADE_SERVER_TRAIN_TRAIN_H

#include "common/base/buf.h"
#include "common/crypto/rng.h"
#include "common/data/schedule.h"
#include "common/flow/dealing.h"
#include "common/flow/dither.h"
#include "common/flow/trail.h"
#include "common/secagg/secagg.h"
#include "common/wire/purpose.h"
#include "server/job.h"
#include "server/members.h"
#include "server/seats.h"
#include "server/setup.h"
#include "server/train/head.h"

enum {
    SERVER_KEEP_MAX = 1 << 30, /* bytes of a checkpoint */
    SERVER_SLOW_FLOPS = 1000000000,
    SERVER_ASKS_KEPT = 64, /* rounds that a late upload is opened for, where somebody watches */
};

/* Where a party's model is. */
struct train_member {
    uint64_t applied;  /* training steps it had applied when it joined, and was sent since */
    bool keeps;        /* it writes checkpoints: else nothing of it survives its process */
    uint64_t kept[2];  /* steps in its last durable checkpoint, and in the one before */
    uint64_t uploaded; /* round of its last upload in this generation */
    bool owes;         /* an upload that its round was ended without: late when it comes */
};

/* The last closed training step, whose gradient goes out with the next broadcast. */
struct server_close {
    bool any, fresh; /* fresh: not yet broadcast */
    uint64_t step;
    size_t words;    /* of one member's gradient */
    uint32_t blocks; /* gradients: 1, or under concat one for each member */
    size_t absent_n; /* members that were not in the sum */
    uint8_t absent[WIRE_MEMBERS_MAX];
};

struct server_sweep {
    uint64_t number;  /* evaluations begun */
    uint64_t done_at; /* steps_done at the last complete one */
    bool running, on_train;
    uint32_t next_place; /* agenda_places() */
};

/* training.releases once: the sum of every row, as the head takes it. */
struct server_stored {
    float *train, *test;  /* rows x inputs of the head */
    struct agenda agenda; /* the head's own */
    uint64_t step;        /* that the head has taken */
    bool alone;           /* the parties have gone */
};

struct server_scores {
    struct score_board running, test, train;
};

/* The model, how far its training is, and what that is measured by. */
struct server_trainer {
    struct agenda agenda;
    struct schedule schedule;
    struct server_head head;
    struct rng rounding; /* of gradients */
    struct server_close close;
    struct server_sweep sweep;
    uint32_t *sweep_row; /* fedvs: rows of an evaluation round */
    uint64_t steps_done;
    struct digest digest;
    struct trail trail; /* after steps_done steps */
    struct server_scores scores;
    struct server_stored stored;
    bool target_reached, complete; /* complete: every member's final model is durable */
};

/* Shares of the data, which go before the rounds of fedvs. */
struct server_deal {
    struct dealing chunks;
    uint64_t next; /* chunk that is due */
    bool keys_due; /* before everything else in a generation */
};

/* Adding up what the members of a generation upload. */
struct server_sum {
    struct secagg_server *secagg;
    struct secagg_shape shape;
    size_t payload_max, check_bytes;
    uint64_t combined_round;            /* the last round with a sum, in this generation */
    uint8_t dither[WIRE_DIGEST_BYTES];  /* of the open round; compressors only */
    uint32_t spoiled, spoiled_in_a_row; /* sums that were not what they should be */
};

struct server_shares;
struct server_stream;
struct server_watched;

/* The round in progress. */
struct server_round {
    enum wire_purpose purpose;
    uint64_t number, place, sweep;
    uint32_t rows;
    const uint32_t
        *row;       /* of a batch, and of all that fedvs asks for; NULL: place .. place + rows */
    uint32_t coded; /* fedvs: coded rows of the round */
    uint32_t peer;  /* STREAM: whose upload the work is on */
    uint64_t opened_us, last_answer_us;
    struct server_sum sum;
    struct server_shares *shares; /* coded, fedvs */
    struct server_deal deal;
    struct server_stream *stream; /* async */
};

/* Gradients that are on their way out of the journal, into keep.replay. */
struct server_recall {
    uint32_t peer; /* who has asked for them */
    uint64_t step, steps;
};

/* What a later process goes on from, and who is behind is brought up with. */
struct server_keep {
    struct buf bytes, replay;     /* what ACTION_KEEP writes; gradients for who is behind */
    bool spoiled;                 /* the head has taken a step that the run has not */
    bool under_way;               /* the driver has it */
    uint64_t step, durable_step;  /* steps in `bytes`, and in the last durable checkpoint */
    struct journal_record record; /* what ACTION_APPEND writes: its floats are the head's */
    struct server_recall recall;
};

/* What comes of a piece of work. */
struct server_worked {
    enum status status; /* the federation's error says why not */
    bool swept;         /* an evaluation is complete */
    bool keep;          /* a checkpoint is due; then: it is in keep.bytes */
    bool append;        /* keep.record is for the journal */
};

struct server_train {
    struct server_federation *fed;
    struct server_setup setup;
    struct plan plan;
    const struct server_mode *mode; /* of the round under way */
    struct train_member member[WIRE_MEMBERS_MAX];
    struct server_trainer trainer;
    struct server_round round;
    struct server_keep keep;
    struct server_watched *watched; /* what it takes to watch uploads; NULL: nobody does */
    struct server_report report;    /* but for what is the federation's */
    struct spans spans;
    struct server_worked worked; /* between the work and EVENT_DONE */
};

/* How the rounds of a job are played.  s->round has been chosen; the federation's set plays it. */
struct server_mode {
    struct server_next (*open)(struct server_train *s, struct actions *a);
    struct server_next (*share)(struct server_train *s, struct actions *a, uint32_t peer,
                                const struct wire_shares *w); /* or NULL: never expected */
    struct server_next (*upload)(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u);
    /* Of a round that did not wait for it, and is counted already; only where it takes_late. */
    bool (*takes_late)(const struct server_train *s);
    struct server_next (*late_upload)(struct server_train *s, uint32_t peer,
                                      const struct wire_upload *u);
    /* A member is lost that the round can do without: has it ended? */
    struct server_next (*settle)(struct server_train *s, struct actions *a);
    /* NEXT_LATE: who is missing is left behind, or the job fails. */
    struct server_next (*out_of_time)(struct server_train *s, struct actions *a, bool may_leave);
    struct server_worked (*work)(struct server_train *s);
    struct server_next (*done)(struct server_train *s, struct actions *a,
                               const struct server_worked *w);
};

extern const struct server_mode server_plain, server_coded, server_streamed;

/* init.c: s is zeroed.  What is in the setup must outlive it; deinit is safe after init failed. */
enum status server_train_init(struct server_train *s, const struct server_setup *setup,
                              struct server_federation *fed, struct error *err) MUST_USE;
void server_train_deinit(struct server_train *s);

/* job.c */
extern const struct server_job server_job_train;

/* behind.c */
/* Is this party's model where the run needs it?  STATUS_DATA: not, and the error says why. */
enum status server_model_fits(struct server_train *s, uint32_t peer,
                              const struct wire_join *j) MUST_USE;
void server_model_came(struct server_train *s, uint32_t peer, const struct wire_join *j);
struct server_next server_behind(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_behind *b) MUST_USE;
struct server_next server_recalled(struct server_train *s, struct actions *a,
                                   const struct error *result) MUST_USE;

/* round.c */
bool server_choose_round(struct server_train *s); /* what comes next; false: the agenda is done */
struct server_next server_next_round(struct server_train *s, struct actions *a) MUST_USE;
struct server_next server_upload(struct server_train *s, struct actions *a, uint32_t peer,
                                 const struct wire_upload *u) MUST_USE;
void server_count_late(struct server_train *s, uint32_t peer, const struct wire_upload *u);
/* The round ends with what is in. */
void server_sum_up(struct server_train *s, struct actions *a);

/* plain.c, and what coded rounds have in common with plain ones */
struct server_next server_ask_all(struct server_train *s, struct actions *a,
                                  enum phase phase) MUST_USE;
/* NEXT_WAIT: it is in the sum. */
struct server_next server_add_upload(struct server_train *s, uint32_t peer,
                                     const struct wire_upload *u) MUST_USE;
struct server_next server_sum_done(struct server_train *s, struct actions *a,
                                   const struct server_worked *w) MUST_USE;

/* share.c */
enum status server_shares_new(struct server_train *s) MUST_USE;
/* Room for what the members of the round's shape send each other. */
enum status server_shares_size(struct server_train *s) MUST_USE;
void server_shares_free(struct server_train *s);
/* Enough uploads are in, or may come. */
bool server_decodes_without(const struct server_train *s);
size_t server_share_max(const struct server_train *s); /* a whole frame; 0: no shares */

/* stream.c */
enum status server_stream_new(struct server_train *s) MUST_USE;
void server_stream_free(struct server_train *s);
void server_stream_begin(struct server_train *s); /* a generation */
uint64_t server_stream_arrivals(const struct server_train *s);
void server_stream_go_on(struct server_train *s, uint64_t arrivals); /* from a checkpoint */

/* close.c */
void server_close_run(struct server_train *s, struct actions *a);
struct server_next server_kept(struct server_train *s, struct actions *a, uint32_t peer,
                               const struct wire_kept *k) MUST_USE;
void server_hand_over(struct server_train *s, struct actions *a); /* keep.bytes, to the driver */
struct server_next server_keep_done(struct server_train *s, struct actions *a,
                                    const struct error *result) MUST_USE;
struct server_next server_all_closed(struct server_train *s, struct actions *a) MUST_USE;

/* stored.c */
bool server_stores(const struct server_train *s);
enum status server_stored_new(struct server_train *s) MUST_USE;
void server_stored_free(struct server_train *s);
/* The round's sum, in head.fused, is kept; a sweep moves on. */
void server_stored_keep(struct server_train *s);
enum status server_stored_print(const struct server_train *s, struct buf *out) MUST_USE;
enum status server_stored_parse(struct server_train *s, const uint8_t *bytes, size_t n,
                                size_t *used) MUST_USE;
double server_epochs(const struct server_train *s); /* of the head */

/* alone.c */
/* The parties have their final models: they are told so, and the head begins.  False: nothing is
 * stored. */
bool server_stored_begin(struct server_train *s, struct actions *a);
struct server_worked server_stored_work(struct server_train *s);
struct server_next server_stored_done(struct server_train *s, struct actions *a,
                                      const struct server_worked *w) MUST_USE;
/* Any event but that, when the parties have gone. */
struct server_next server_stored_step(struct server_train *s, struct actions *a,
                                      const struct event *e) MUST_USE;

/* resume.c: what a later process needs to go on, and back (server/session.h). */
enum status server_train_save(const struct server_train *s, struct buf *out) MUST_USE;
enum status server_train_restore(struct server_train *s, const uint8_t *bytes, size_t n,
                                 uint64_t *generation) MUST_USE;
/* again.c */
enum status server_train_replay(struct server_train *s, const struct journal_record *r,
                                uint64_t *generation, struct error *err) MUST_USE;

/* work.c */
struct server_worked server_work(struct server_train *s);
/* The same of a record; STATUS_DATA: it comes to something else. */
enum status server_work_again(struct server_train *s, const struct journal_record *r) MUST_USE;
void server_take_targets(struct server_train *s);
/* head.values, of the batch scored last, to what goes down.  Rounding of a seeded run depends on
 * the place in the schedule alone.  STATUS_DATA when they or the loss are not finite: every party
 * would take that for a broken server. */
enum status server_pack_gradient(struct server_train *s, uint64_t place, uint32_t blocks) MUST_USE;

/* evaluate.c */
bool server_next_evaluation(struct server_train *s); /* fills s->round; false: nothing is left */
/* After the head's forward of a round; true: it has ended a sweep. */
bool server_score_batch(struct server_train *s, double loss);
void server_begin_sweep(struct server_train *s, uint64_t number); /* nothing is scored yet */
void server_sweep_done(struct server_train *s);

/* deal.c */
bool server_deals(const struct server_train *s);
/* All hellos are in: the generation's terms; the error says what is wrong with them. */
enum status server_deal_terms(struct server_train *s, const struct agree_hello *hellos) MUST_USE;
bool server_next_deal(struct server_train *s); /* fills s->round; false: everything is dealt */
void server_dealt(struct server_train *s);

/* broadcast.c */
/* The n that secagg is told of the round; of these, those that are not of padding rows. */
uint64_t server_round_values(const struct server_train *s);
uint64_t server_real_values(const struct server_train *s);
struct wire_broadcast server_broadcast_of(const struct server_train *s, bool opens);
void server_send_broadcast(struct server_train *s, struct actions *a,
                           const struct wire_broadcast *b);
/* Broadcasts the last gradient, if it was not yet, without opening a round. */
void server_flush_close(struct server_train *s, struct actions *a);
void server_note_arrival(struct server_train *s, uint32_t peer, bool last);

/* watch.c: nothing where nobody watches; the error says what went wrong. */
enum status server_watch_new(struct server_train *s) MUST_USE;
void server_watch_free(struct server_train *s);
/* s->round is about to be asked for: of all members, or of `party` alone (-1: all). */
enum status server_watch_ask(struct server_train *s, int party) MUST_USE;
/* An upload that was taken, or came late. */
enum status server_watch_upload(struct server_train *s, uint32_t peer, const struct wire_upload *u,
                                bool late) MUST_USE;
/* The same of one that is open already, n values. */
enum status server_watch_values(struct server_train *s, uint32_t peer, uint64_t round,
                                const float *x, size_t n) MUST_USE;
/* The sum of s->round, which had that number, in head.fused, and `blocks` gradients in
 * head.values. */
enum status server_watch_sum(struct server_train *s, uint64_t round, uint32_t blocks) MUST_USE;
/* Gradients of steps that this party had missed are on their way. */
enum status server_watch_again(struct server_train *s, uint32_t peer, uint64_t step,
                               uint64_t steps) MUST_USE;

/* An upload or a share, before anybody has looked at it; of other kinds nothing. */
enum status server_watch_arrival(struct server_train *s, uint32_t peer,
                                 const struct wire_msg *m) MUST_USE;
/* the error says why; what cannot be written any more is not. */
void server_watch_end(struct server_train *s, enum wire_outcome outcome);

#endif
