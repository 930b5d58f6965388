/* core.h -- the inside of a server session, shared by the files of this folder: one per phase.
 *
 *   session.c   life, dispatch, endings        keys.c    AGREE and CONFIRM
 *   join.c      GATHER                         round.c   ROUND: open, upload, close
 *   evaluate.c  sweeps, scores, targets        head.c    the work between two broadcasts
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
#include "common/flow/sm.h"
#include "common/secagg/secagg.h"
#include "server/head.h"
#include "server/session.h"

/* Threats E6: a party that fails this many rounds in a row does not get another chance to. */
enum { SERVER_LOSSES_MAX = 3 };

/* One party of the roster, as the server knows it. */
struct server_peer {
    bool present;     /* connected, and its join was good */
    bool excluded;    /* `drop`: too late; sits out until the next epoch begins */
    bool answered;    /* has answered in this phase (hello, confirm, upload) */
    bool barred;      /* `drop`: lost or late too often */
    uint32_t losses;  /* times lost or late as a member, since its last whole round */
    int member;       /* index in the generation; -1: none */
    uint64_t applied; /* training steps it had applied when it joined */
};

/* The round in progress. */
struct server_round {
    enum wire_purpose purpose;
    uint64_t number, place, sweep;
    uint32_t rows, answers;
    const uint32_t *row; /* TRAIN: the batch; EVALUATE_*: NULL, rows place .. place + rows */
    uint64_t opened_us, last_answer_us;
};

/* The last closed training step, whose gradient goes out with the next broadcast. */
struct server_close {
    bool any, fresh; /* fresh: not yet broadcast in this generation */
    uint64_t step;
    size_t floats; /* of one member's gradient */
};

struct server_sweep {
    uint64_t number;  /* evaluations begun */
    uint64_t done_at; /* steps_done at the last complete one */
    bool running, on_train;
    uint32_t next_row;
};

struct server_session {
    struct server_setup setup;
    struct plan plan;
    struct sm sm;
    struct error error; /* why the run failed, or the last reason to drop a peer */

    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    struct agenda agenda;
    struct schedule schedule;

    struct server_peer peer[WIRE_MEMBERS_MAX];
    bool started; /* a first generation has trained: `drop` may go on without somebody */
    uint64_t generation;
    uint32_t members_n;
    uint8_t members[WIRE_MEMBERS_MAX];
    uint8_t everybody[WIRE_MEMBERS_MAX]; /* who hears the last word */
    struct agree_hello *hellos;          /* by member */
    struct agree_confirm *confirms;      /* by member */
    struct wire_hello *show_hellos;
    struct wire_confirm *show_confirms;
    uint8_t sid[WIRE_DIGEST_BYTES], ids_train[WIRE_DIGEST_BYTES], ids_test[WIRE_DIGEST_BYTES];
    uint32_t answers;
    struct secagg_server *sum;
    size_t payload_max, check_bytes;
    struct secagg_shape shape;

    struct server_head head;
    struct server_round round;
    struct server_close close;
    struct server_sweep sweep;
    uint64_t steps_done;
    struct score_board running, test_board, train_board;
    bool target_reached;
    uint32_t integrity_in_a_row;
    bool swept; /* the running sweep has ended in the work just done */

    struct server_report report;
    struct spans spans;
    enum status work_status;
};

/* session.c */
void server_arm(struct server_session *s, struct actions *a, uint64_t after_ms);
struct action *server_send_members(struct server_session *s, struct actions *a,
                                   enum wire_kind kind);
void server_drop(struct server_session *s, struct actions *a, uint32_t peer, enum status why);
void server_finish(struct server_session *s, struct actions *a, enum wire_outcome outcome);
void server_blame(struct server_session *s, struct actions *a, uint32_t peer);
/* s->error says why. */
void server_fail(struct server_session *s, struct actions *a);
void server_missing(const struct server_session *s, char *out,
                    size_t n); /* "p1, p3" without an answer */
const char *server_name(const struct server_session *s, uint32_t peer);

/* join.c */
void server_gather(struct server_session *s, struct actions *a);
void server_joined(struct server_session *s, struct actions *a, const struct event *e);
void server_lost(struct server_session *s, struct actions *a, uint32_t peer);
void server_set_changed(struct server_session *s, struct actions *a); /* re-key, or gather again */

/* keys.c */
void server_offer(struct server_session *s, struct actions *a);
void server_hello(struct server_session *s, struct actions *a, uint32_t peer,
                  const struct wire_hello *h);
void server_confirm(struct server_session *s, struct actions *a, uint32_t peer,
                    const struct wire_confirm *c);

/* round.c */
void server_open_round(struct server_session *s, uint64_t now_us, struct actions *a);
void server_upload(struct server_session *s, uint64_t now_us, struct actions *a, uint32_t peer,
                   const struct wire_upload *u);
void server_round_done(struct server_session *s, uint64_t now_us, struct actions *a);
void server_round_void(struct server_session *s);
void server_round_late(struct server_session *s, struct actions *a);

/* evaluate.c */
bool server_next_evaluation(
    struct server_session *s); /* fills s->round; false: nothing left to evaluate */
void server_score_batch(struct server_session *s,
                        double loss); /* after the head's forward of a round */
void server_sweep_done(struct server_session *s, struct actions *a);

#endif
