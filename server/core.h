/* core.h -- the inside of a server session, shared by the files of this folder: one per phase.
 *
 *   session.c   life, dispatch                 keys.c    AGREE, CONFIRM; who is behind catches up
 *   join.c      GATHER, lost parties           round.c   ROUND: open, upload, close
 *   share.c     SHARE and SUM: coded rounds    stream.c  STREAM: a step at each arrival
 *   close.c     CLOSE and the endings          work.c    the work between two broadcasts
 *   evaluate.c  sweeps, scores, targets        head.c    the top model
 *   stored.c    releases once: sums that are kept, and the head on them, when the parties have gone
 *   watch.c     what --transcript is told
 *   deal.c      SHARE before the rounds of fedvs: subset keys, shares of the data
 *   compare.c   AGREE, CONFIRM: are the ids of the labels those of the members
 *   resume.c    what a later process needs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_CORE_H
#define COLONNADE_SERVER_CORE_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/crypto/rng.h"
#include "common/data/schedule.h"
#include "common/flow/agree.h"
#include "common/flow/dealing.h"
#include "common/flow/dither.h"
#include "common/flow/sm.h"
#include "common/flow/trail.h"
#include "common/secagg/secagg.h"
#include "server/head.h"
#include "server/session.h"

/* Threats E6: a party that fails this many rounds in a row does not get another chance to. */
enum {
    SERVER_LOSSES_MAX = 3,
    SERVER_KEEP_MAX = 1 << 30, /* bytes of a checkpoint */
    SERVER_SENDS_MAX = 4,      /* messages to many in one step */
    SERVER_SLOW_FLOPS = 1000000000,
    SERVER_ASKS_KEPT = 64, /* rounds that a late upload is opened for, where somebody watches */
};

/* One party of the roster, as the server knows it. */
struct server_peer {
    bool present;         /* connected, and its join was good */
    bool excluded;        /* `drop`: too late; sits out until the next epoch begins */
    bool answered;        /* has answered in this phase (hello, confirm, upload) */
    bool barred;          /* `drop`: lost or late too often */
    uint32_t losses;      /* times lost or late as a member, since its last whole round */
    int member;           /* index in the generation; -1: none */
    uint64_t applied;     /* training steps it had applied when it joined, and was sent since */
    uint32_t min_parties; /* smallest set its policy takes part in */
    bool keeps;           /* it writes checkpoints: else nothing of it survives its process */
    uint64_t kept[2];     /* steps in its last durable checkpoint, and in the one before */
    uint64_t uploaded;    /* round of its last upload in this generation */
    bool owes;            /* an upload that its round was ended without: late when it comes */
};

/* What AGREE and CONFIRM have of this generation: keys.c and compare.c alone use it. */
struct server_agree {
    uint64_t until_us;              /* who is behind may catch up until then */
    struct agree_hello *hellos;     /* by member */
    struct agree_confirm *confirms; /* by member */
    struct wire_hello *show_hellos;
    struct wire_confirm *show_confirms;
    uint8_t sid[WIRE_DIGEST_BYTES];
    /* Comparing ids with the first member; list: of the labels, a secret. */
    uint8_t list[WIRE_DIGEST_BYTES], element[WIRE_ELEMENT_BYTES];
    uint8_t
        proof[WIRE_PROOF_BYTES]; /* of the confirms sent last: a generation may end as it begins */
    struct ids_pair ids;
};

/* Who is there, and which set under which keys: what outlives a round. */
struct server_federation {
    struct sm sm;
    uint64_t now_us;    /* of the step under way */
    struct error error; /* why the run failed, or the last reason to drop a peer */
    struct server_peer peer[WIRE_MEMBERS_MAX];
    bool started;      /* a first generation has trained: `drop` may go on without somebody */
    uint64_t clock_us; /* since when this phase has run, with the one whose time it shares */
    uint64_t generation, generation_known; /* known: the last that any party was offered */
    uint32_t members_n, left;              /* left: members lost since the generation began */
    uint8_t members[WIRE_MEMBERS_MAX];
    uint32_t answers;
    /* Whom the messages of one step go to: members still there; at the end, everybody who is. */
    uint8_t audience[SERVER_SENDS_MAX][WIRE_MEMBERS_MAX];
    size_t sends;
    struct server_agree agree;
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

/* What a later process goes on from, and who is behind is brought up with. */
struct server_keep {
    struct buf bytes, replay;    /* what ACTION_KEEP writes; gradients for who is behind */
    bool spoiled;                /* the head has taken a step that the run has not */
    bool under_way, due;         /* the driver has it; made in the work just done */
    uint64_t step, durable_step; /* steps in `bytes`, and in the last durable checkpoint */
};

struct server_session {
    struct server_setup setup;
    struct plan plan;
    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];

    struct server_federation fed;
    struct server_trainer trainer;
    struct server_round round;
    struct server_keep keep;

    struct server_watched *watched; /* what it takes to watch uploads; NULL: nobody does */
    struct server_report report;
    struct spans spans;
    enum status work_status;
    bool swept; /* the running sweep has ended in the work just done */
};

/* session.c */
void server_arm(struct server_session *s, struct actions *a, uint64_t after_ms);
/* The phase has just been entered, or a round of it opened: until it is given up, what its row in
 * the table says. */
void server_arm_phase(struct server_session *s, struct actions *a);
/* To the members that are still there. */
struct action *server_send_members(struct server_session *s, struct actions *a,
                                   enum wire_kind kind);
struct action *server_send_one(struct server_session *s, struct actions *a, uint32_t peer,
                               enum wire_kind kind);
void server_drop(struct server_session *s, struct actions *a, uint32_t peer, enum status why);
void server_blame(struct server_session *s, struct actions *a, uint32_t peer);
void server_missing(const struct server_session *s, char *out,
                    size_t n); /* "p1, p3" without an answer */
const char *server_name(const struct server_session *s, uint32_t peer);
uint8_t *server_audience(struct server_session *s); /* room for one more list of peers */
void server_sits_out(struct server_session *s, uint32_t peer);
bool server_waits(const struct server_session *s); /* straggler wait */
/* The run has begun and goes on without whoever is late or lost. */
bool server_does_without(const struct server_session *s);
void server_next_question(struct server_session *s); /* nobody has answered yet */
/* None of the members still there is missing. */
bool server_all_answered(const struct server_session *s);
/* Counts an answer, and asks the same. */
bool server_answered(struct server_session *s, uint32_t peer);

/* join.c */
void server_gather(struct server_session *s, struct actions *a);
void server_joined(struct server_session *s, struct actions *a, const struct event *e);
void server_lost(struct server_session *s, struct actions *a, uint32_t peer);
/* Can a party that has applied so many steps be brought up to this run's? */
bool server_reachable(const struct server_session *s, uint64_t applied);
void server_set_changed(struct server_session *s, struct actions *a); /* re-key, or gather again */
/* Who sits out and is in the largest set that is large enough for each of its members; false:
 * nobody. */
bool server_may_come_in(const struct server_session *s, bool who[WIRE_MEMBERS_MAX]);
/* Under drop and async, of a run that has begun: on with those who came.  And with nobody when all
 * is done: who had its final model has ended by itself. */
bool server_gather_ends(struct server_session *s, struct actions *a);

/* keys.c */
void server_offer(struct server_session *s, struct actions *a);
void server_behind(struct server_session *s, struct actions *a, uint32_t peer,
                   const struct wire_behind *b);
void server_hello(struct server_session *s, struct actions *a, uint32_t peer,
                  const struct wire_hello *h);
void server_confirm(struct server_session *s, struct actions *a, uint32_t peer,
                    const struct wire_confirm *c);

/* compare.c: s->error says why not. */
/* Members are chosen. */
enum status server_compare_begin(struct server_session *s) MUST_USE;
/* Can member m be compared with on either side, as far as the hellos that have come tell? */
bool server_compare_fits(const struct server_session *s, const struct wire_hello *h, uint32_t m);
/* The first member's hello.  STATUS_POLICY: one guess at the list more than it has. */
enum status server_compare_may_answer(struct server_session *s,
                                      const struct wire_hello *h) MUST_USE;
/* All hellos are good, and sid is known: counted. */
enum status server_compare_end(struct server_session *s) MUST_USE;
/* All have confirmed.  STATUS_DATA: *peer has other ids than the one before it. */
enum status server_compare_check(struct server_session *s, uint32_t *peer) MUST_USE;
void server_compare_forget(struct server_session *s);

/* round.c */
void server_open_round(struct server_session *s, struct actions *a);
void server_upload(struct server_session *s, struct actions *a, uint32_t peer,
                   const struct wire_upload *u);
/* A member that the round can do without has left: is everybody else done? */
void server_settle(struct server_session *s, struct actions *a);
/* The round ends with what is in. */
void server_sum_up(struct server_session *s, struct actions *a);
void server_round_done(struct server_session *s, struct actions *a);
/* Whoever sits out may come in again, in a new generation. */
void server_readmit(struct server_session *s, struct actions *a);
/* Broadcasts the last gradient, if it was not yet, without opening a round. */
void server_flush_close(struct server_session *s, struct actions *a);
void server_send_broadcast(struct server_session *s, struct actions *a,
                           const struct wire_broadcast *b);
struct wire_broadcast server_broadcast_of(const struct server_session *s, bool opens);
void server_note_arrival(struct server_session *s, uint32_t peer, bool last);
bool server_choose_round(struct server_session *s); /* what comes next; false: the agenda is done */
/* The n that secagg is told of the round; of these, those that are not of padding rows. */
uint64_t server_round_values(const struct server_session *s);
uint64_t server_real_values(const struct server_session *s);

/* deal.c */
bool server_deals(const struct server_session *s);
/* All hellos are in: the generation's terms; s->error says what is wrong with them. */
enum status server_deal_terms(struct server_session *s) MUST_USE;
bool server_next_deal(struct server_session *s); /* fills s->round; false: everything is dealt */
void server_dealt(struct server_session *s, struct actions *a);

/* share.c */
enum status server_shares_new(struct server_session *s) MUST_USE;
/* Room for what the members of s->shape send each other. */
enum status server_shares_size(struct server_session *s) MUST_USE;
void server_shares_free(struct server_session *s);
size_t server_session_share_max(const struct server_session *s); /* a whole frame; 0: no shares */
void server_shares_open(struct server_session *s);
void server_share(struct server_session *s, struct actions *a, uint32_t peer,
                  const struct wire_shares *w);
void server_relay(struct server_session *s, struct actions *a);
/* Enough uploads are in, or may come. */
bool server_decodes_without(const struct server_session *s);
void server_count_late(struct server_session *s, uint32_t peer, const struct wire_upload *u);
void server_late_upload(struct server_session *s, struct actions *a, uint32_t peer,
                        const struct wire_upload *u);

/* stream.c */
enum status server_stream_new(struct server_session *s) MUST_USE;
void server_stream_free(struct server_session *s);
void server_stream_begin(struct server_session *s); /* a generation */
void server_stream_open(struct server_session *s, struct actions *a);
void server_stream_upload(struct server_session *s, struct actions *a, uint32_t peer,
                          const struct wire_upload *u);
void server_stream_work(struct server_session *s);
void server_stream_done(struct server_session *s, struct actions *a);
void server_stream_lost(struct server_session *s, struct actions *a);
void server_stream_late(struct server_session *s, struct actions *a); /* patience has ended */
uint64_t server_stream_arrivals(const struct server_session *s);
void server_stream_go_on(struct server_session *s, uint64_t arrivals); /* from a checkpoint */

/* stored.c */
bool server_stores(const struct server_session *s);
enum status server_stored_new(struct server_session *s) MUST_USE;
void server_stored_free(struct server_session *s);
/* The round's sum, in head.fused, is kept; a sweep moves on. */
void server_stored_keep(struct server_session *s);
/* The parties have their final models: they are told so, and the head begins.  False: nothing is
 * stored. */
bool server_stored_begin(struct server_session *s, struct actions *a);
void server_stored_work(struct server_session *s);
void server_stored_step(struct server_session *s, const struct event *e, struct actions *a);
enum status server_stored_print(const struct server_session *s, struct buf *out) MUST_USE;
enum status server_stored_parse(struct server_session *s, const uint8_t *bytes, size_t n,
                                size_t *used) MUST_USE;
double server_epochs(const struct server_session *s); /* of the head */

/* watch.c: nothing where nobody watches; s->error says what went wrong. */
enum status server_watch_new(struct server_session *s) MUST_USE;
void server_watch_free(struct server_session *s);
/* s->round is about to be asked for: of all members, or of `party` alone (-1: all). */
enum status server_watch_ask(struct server_session *s, int party) MUST_USE;
/* An upload that was taken, or came late. */
enum status server_watch_upload(struct server_session *s, uint32_t peer,
                                const struct wire_upload *u, bool late) MUST_USE;
/* The same of one that is open already, n values. */
enum status server_watch_values(struct server_session *s, uint32_t peer, uint64_t round,
                                const float *x, size_t n) MUST_USE;
/* The sum of s->round, which had that number, in head.fused, and `blocks` gradients in
 * head.values. */
enum status server_watch_sum(struct server_session *s, uint64_t round, uint32_t blocks) MUST_USE;
/* Gradients of steps that this party had missed are on their way. */
enum status server_watch_again(struct server_session *s, uint32_t peer, uint64_t step,
                               uint64_t steps) MUST_USE;

/* An upload or a share, before anybody has looked at it; of other kinds nothing. */
enum status server_watch_arrival(struct server_session *s, uint32_t peer,
                                 const struct wire_msg *m) MUST_USE;
/* s->error says why; what cannot be written any more is not. */
void server_watch_end(struct server_session *s, enum wire_outcome outcome);

/* work.c */
void server_take_targets(struct server_session *s);
/* head.values, of the batch scored last, to what goes down.  Rounding of a seeded run depends on
 * the place in the schedule alone.  STATUS_DATA when they or the loss are not finite: every party
 * would take that for a broken server. */
enum status server_pack_gradient(struct server_session *s, uint64_t place,
                                 uint32_t blocks) MUST_USE;
/* The session as it stands into s->keep, for server_keep after the work. */
enum status server_save(struct server_session *s) MUST_USE;

/* evaluate.c */
bool server_next_evaluation(
    struct server_session *s); /* fills s->round; false: nothing left to evaluate */
void server_score_batch(struct server_session *s,
                        double loss); /* after the head's forward of a round */
void server_begin_sweep(struct server_session *s, uint64_t number); /* nothing is scored yet */
void server_sweep_done(struct server_session *s);

/* close.c */
void server_close_run(struct server_session *s, struct actions *a);
void server_kept(struct server_session *s, struct actions *a, uint32_t peer,
                 const struct wire_kept *k);
void server_keep(struct server_session *s, struct actions *a);
void server_keep_done(struct server_session *s, struct actions *a, const struct error *result);
void server_all_closed(struct server_session *s, struct actions *a);
/* The protocol is over: everybody who is there, or this party, is told. */
void server_say_over(struct server_session *s, struct actions *a, enum wire_outcome outcome);
void server_say_over_to(struct server_session *s, struct actions *a, uint32_t peer);
/* The same where it has not been said, and the run is over. */
void server_finish(struct server_session *s, struct actions *a, enum wire_outcome outcome);
/* s->error says why. */
void server_fail(struct server_session *s, struct actions *a);

#endif
