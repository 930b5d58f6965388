/* core.h -- the inside of a party session, shared by the files of this folder: one per phase.
 *
 *   session.c   life, dispatch, endings        keys.c    AGREE and CONFIRM: hellos, sid, pair keys
 *   compare.c   AGREE and CONFIRM: are the ids of the neighbours this party's
 *   join.c      GATHER: join, offer, policy    round.c   ROUND, STREAM: gradient in, embeddings out
 *   share.c     SHARE and SUM: coded rounds    work.c    what a worker thread may do of it
 *   catchup.c   AGREE: steps that were missed  keep.c    checkpoints, and CLOSE
 *   deal.c      SHARE before the rounds of fedvs: subset keys, shares of the data
 *   charge.c    what is reserved in the ledger, and what still has to be
 *   witness.c   how far everybody's ledger is known to have come
 *   resume.c    what a later process needs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CORE_H
#define COLONNADE_PARTY_CORE_H

#include "common/base/buf.h"
#include "common/crypto/digest.h"
#include "common/crypto/rng.h"
#include "common/data/schedule.h"
#include "common/flow/agree.h"
#include "common/flow/dealing.h"
#include "common/flow/dither.h"
#include "common/flow/ids.h"
#include "common/flow/sm.h"
#include "common/flow/trail.h"
#include "common/secagg/secagg.h"
#include "party/bottom.h"
#include "party/policy.h"
#include "party/refresh.h"
#include "party/sent.h"
#include "party/session.h"

enum party_work {
    WORK_ROUND,  /* a gradient in, the next embeddings out */
    WORK_SUM,    /* others' shares in, their sum out */
    WORK_REPLAY, /* gradients that were missed */
};

/* What the last message asked for. */
struct party_task {
    enum party_work work;
    bool close, apply, open, last; /* apply: the closed step had this party in it */
    uint64_t close_step;
    uint64_t charged, until; /* REPLAY: steps to charge before it (dp); ends at `until` */
    enum wire_purpose purpose;
    uint64_t round, place, sweep;
    uint32_t rows;
    const uint32_t *row; /* TRAIN: the batch */
    uint32_t coded;      /* fedvs: coded rows that the round is on */
    enum status status;  /* of the work */
};

/* Releases committed in the ledger but not sent yet: training steps [next, until) or rows of a
 * sweep. */
struct party_reserve {
    uint64_t next, until;
    uint64_t sweep;
    enum wire_purpose purpose;
};

/* Shares of the data, which go before the rounds of fedvs. */
struct party_deal {
    uint8_t secret[RNG_KEY_BYTES];   /* kept in checkpoints */
    uint8_t key[RNG_KEY_BYTES];      /* of it, the plan, the roster and the data: draws the masks */
    uint8_t name[WIRE_DIGEST_BYTES]; /* of the key, for the others */
    struct dealing chunks;           /* of this generation's terms */
    uint64_t held, furthest; /* chunks of everybody's shares that are here; and the most ever */
    uint8_t holds[WIRE_DIGEST_BYTES]; /* of which sharings they are */
    bool keys_due;                    /* the generation's subset keys are not here yet */
    uint8_t *memory; /* a header; shares of the training split, of the test split */
    size_t bytes;
    float *x; /* a chunk of own data */
    size_t x_floats;
    struct rng masks;
};

/* How far the own ledger had come when a checkpoint was made. */
struct party_paid {
    uint64_t last;   /* its number */
    uint64_t rounds; /* that number less what was reserved and not opened; or forgotten by order */
    uint64_t step;   /* training steps that they have paid for: the server's, where it was ahead */
};
#define PARTY_PAID_FORGOTTEN UINT64_MAX

/* How far ledgers have come: what tells that one was put back. */
struct party_witness {
    uint64_t seen[WIRE_MEMBERS_MAX]; /* by roster index: the highest ever */
    bool due;               /* the generation's first upload has to wait until they are durable */
    bool dirty;             /* some are not durable yet */
    uint64_t opened, ended; /* rounds of this generation that cost something */
    struct party_paid
        paid;    /* of the own one, by the checkpoint that this process began with; 0 without one */
    bool proven; /* the ledger has what the steps since took, and this party has come as far */
};

enum {
    PARTY_KEEP_MAX = 1 << 30,      /* bytes of a checkpoint */
    PARTY_CHECK_MAX = 1024,        /* bytes of check elements */
    PARTY_SLOW_FLOPS = 1000000000, /* work that is always another thread's */
};

struct party_session {
    struct party_setup setup;
    atomic_bool stop; /* set by another thread while this one works */
    struct sm sm;
    struct error error;

    /* The plan and what follows from it; kept over generations. */
    bool planned;
    struct plan plan;
    struct buf plan_text;
    uint8_t plan_digest[WIRE_DIGEST_BYTES];
    struct agenda agenda;
    bool shared_ids;   /* some record is in the training split and in the test split */
    uint32_t together; /* rows of one person at most in one batch of the plan */
    struct schedule schedule;
    struct party_bottom bottom;
    struct buf undo; /* what the present step changes, as it was before; empty: nothing to undo */
    struct party_sent sent;
    struct party_refresh refresh;
    uint8_t *payload, *check; /* of an upload, or sealed shares and their tags */
    size_t payload_max;       /* bytes of payload */
    size_t share_max;         /* a frame of shares; 0: there are none */
    struct buf received;      /* others' shares, or gradients that were missed */
    struct secagg_shape shape;
    struct trail trail; /* after `applied` steps */

    /* The generation. */
    uint64_t generation, offered_step;
    uint32_t gone_back; /* times this process went back to its checkpoint */
    uint64_t furthest;  /* the most steps it had ever applied */
    uint32_t stalled;   /* generations since a gradient was applied, or a chunk more was there */
    bool connected;
    uint32_t members_n, self; /* self: own index among the members */
    uint8_t members[WIRE_MEMBERS_MAX];
    uint8_t nonce[WIRE_KEY_BYTES], kex_secret[WIRE_KEY_BYTES], kex_public[WIRE_KEY_BYTES];
    struct agree_hello own, *hellos; /* hellos: by member */
    struct agree_confirm own_confirm;
    struct wire_hello show_hello;
    struct wire_confirm show_confirm;
    uint8_t sid[WIRE_DIGEST_BYTES];
    /* Comparing ids; list: of its own, a secret. */
    uint8_t list[WIRE_DIGEST_BYTES], elements[WIRE_ELEMENTS_BYTES];
    uint8_t offered_element[WIRE_ELEMENT_BYTES];
    struct ids_pair ids[IDS_SIDES];
    struct secagg_party *masks;
    uint64_t weights_cut; /* fedvs: at w_max, in the generations before */
    struct party_deal deal;
    struct account_entry mechanism;
    struct party_witness witness;

    /* The round. */
    struct digest digest;
    uint8_t view[WIRE_DIGEST_BYTES];
    uint8_t dither[WIRE_DIGEST_BYTES];
    uint64_t last_round; /* in this generation */
    bool relay_due;      /* a share was sent, and the others' are awaited */
    bool replay_due;     /* this party has said how far behind it is */
    uint64_t applied;    /* training steps that are behind this party */
    bool pending;        /* an upload for step `applied` awaits its gradient */
    uint64_t last_sweep, last_sweep_row;
    enum wire_purpose last_sweep_split;
    struct party_task task;
    struct party_reserve train_reserve, sweep_reserve;
    uint32_t *coded; /* fedvs: coded rows of the task */
    uint32_t *charge_rows;
    size_t charge_rows_max;
    struct rng noise;

    /* Checkpoints. */
    struct buf keep, before; /* what ACTION_KEEP writes; the durable one before that */
    bool keeping, keep_due;  /* keeping: the driver has it; due: made in the work just done */
    bool awaits_kept;        /* an offer cannot be answered before it is durable */
    bool kept_any, kept_final, final; /* final: the last broadcast has come */
    uint64_t keep_step, kept_step, before_step;

    struct party_report report;
    struct spans spans;
};

/* session.c */
void party_arm(struct party_session *p, struct actions *a);
void party_finish(struct party_session *p, struct actions *a, enum wire_outcome outcome);
/* p->error says why; the server is told. */
void party_refuse(struct party_session *p, struct actions *a);
enum status party_violation(struct party_session *p, const char *what, uint64_t number);
/* Back to before party_take_plan: a model that no step has changed, and that nobody awaits. */
void party_forget_plan(struct party_session *p);

/* join.c */
void party_connected(struct party_session *p, struct actions *a);
void party_disconnected(struct party_session *p, struct actions *a, const struct error *why);
void party_offer(struct party_session *p, struct actions *a, const struct wire_offer *o);
void party_forget_keys(struct party_session *p);
/* The plan of an offer, or of what was saved; fixes models and buffers for the session's life. */
enum status party_take_plan(struct party_session *p, const uint8_t *text, size_t n) MUST_USE;

/* catchup.c */
void party_catch_up(struct party_session *p, struct actions *a);
void party_replay(struct party_session *p, struct actions *a, const struct wire_replay *r);
void party_start_replay(struct party_session *p, struct actions *a); /* once it is charged */

/* keep.c */
enum status party_save_when_due(struct party_session *p) MUST_USE; /* part of the work */
void party_keep(struct party_session *p, struct actions *a);
void party_keep_now(struct party_session *p, struct actions *a);
void party_kept(struct party_session *p, struct actions *a, const struct error *result);
void party_close(struct party_session *p, struct actions *a);

/* resume.c: p->error says why not. */
enum status party_restore(struct party_session *p) MUST_USE;
/* Back to a checkpoint of at most `step` steps, for a server that has lost what came after it. */
enum status party_go_back(struct party_session *p, uint64_t step) MUST_USE;

/* keys.c */
void party_say_hello(struct party_session *p, struct actions *a);
void party_hellos(struct party_session *p, struct actions *a, const struct wire_hellos *h);
void party_confirms(struct party_session *p, struct actions *a, const struct wire_confirms *c);

/* compare.c: p->error says why not. */
enum status party_compare_begin(struct party_session *p) MUST_USE; /* elements for a hello */
/* All hellos are good, and sid is known: counted, and what is shown into the own confirmation. */
enum status party_compare_end(struct party_session *p) MUST_USE;
/* STATUS_DATA: a neighbour has other ids. */
enum status party_compare_check(struct party_session *p, const struct wire_confirms *cs) MUST_USE;
void party_compare_forget(struct party_session *p);

/* charge.c: true when the task's releases are reserved; false: an ACTION_CHARGE is on its way. */
bool party_reserved(struct party_session *p, struct actions *a);
/* Rounds that are reserved and may be opened without a charge. */
uint64_t party_unopened(const struct party_session *p);
/* Under dp a local step costs whenever it is taken, so steps that are taken again are charged as
 * participations of their own, releases that they do not make included. */
bool party_replay_reserved(struct party_session *p, struct actions *a);
void party_give_back(struct party_session *p, struct actions *a);
/* At the end: that, and what was seen since the last charge. */
void party_settle_up(struct party_session *p, struct actions *a);
/* The rest counts as spent: it will neither be sent nor given back. */
void party_forget_reserves(struct party_session *p);
/* The mechanism of the generation to come.  What is reserved under another one serves no more. */
void party_use_mechanism(struct party_session *p, struct actions *a, struct account_entry next);

/* witness.c */
void party_witness_init(struct party_session *p);
/* What a hello says: rounds that the own ledger has paid for, less those still to be sent. */
uint64_t party_number(const struct party_session *p);
void party_witness_hellos(struct party_session *p); /* all are good */
/* Into the own confirmation; and does another one remember more of this party than it has? */
void party_witness_say(const struct party_session *p, struct agree_confirm *c);
enum status party_witness_check(struct party_session *p, uint32_t member,
                                const struct wire_confirm *c) MUST_USE;
/* Into a checkpoint. */
struct party_paid party_witness_paid(const struct party_session *p);
/* Out of one: is the ledger the one that it was made with, or a later one? */
enum status party_witness_restore(struct party_session *p, const struct party_paid *paid) MUST_USE;
/* The steps were another run's; how far the ledger had come stays. */
void party_witness_forget_steps(struct party_session *p);
/* The server says that it has done p->offered_step steps.  Under wait this party had to pay for
 * each: an error if the ledger has less.  Until it has all, and this party has come as far, nothing
 * of it is paid in what is kept; _offered looks at that without a word, before the first is. */
void party_witness_offered(struct party_session *p);
enum status party_witness_steps(struct party_session *p) MUST_USE;
/* A round is opened that costs something; the one before has ended, for all members. */
void party_witness_opened(struct party_session *p);
void party_witness_ended(struct party_session *p);
/* What is seen becomes durable with this charge. */
void party_witness_charge(struct party_session *p, struct action_charge *c);

/* work.c: the most that p->undo holds. */
size_t party_undo_bytes(const struct party_session *p);

/* deal.c: nothing to do where nothing is dealt. */
enum status party_deal_init(struct party_session *p) MUST_USE; /* once a plan is known */
void party_deal_restore(struct party_session *p, const uint8_t secret[RNG_KEY_BYTES]);
void party_deal_deinit(struct party_session *p);
bool party_deals(const struct party_session *p);
/* Into a hello: this party's shape, what it deals, what it holds. */
void party_deal_say(struct party_session *p, struct wire_hello *h);
/* All hellos are good: the generation's terms, and where dealing goes on. */
enum status party_deal_begin(struct party_session *p) MUST_USE;
enum status party_plan_deal(struct party_session *p, const struct wire_broadcast *b) MUST_USE;
bool party_dealt(const struct party_session *p);
/* Parts of the work: own shares out, others' in. */
enum status party_work_deal(struct party_session *p, const struct secagg_round *r) MUST_USE;
enum status party_work_take(struct party_session *p, const uint8_t *sealed, const uint8_t *tags,
                            const struct secagg_round *r, uint32_t *faulty) MUST_USE;
/* About what a round's own shares cost. */
double party_flops_to_share(const struct party_session *p);
/* Shares of everybody's data of the split that the task is on. */
const void *party_deal_shares(const struct party_session *p);

/* round.c */
void party_broadcast(struct party_session *p, struct actions *a, const struct wire_broadcast *b);
void party_charged(struct party_session *p, struct actions *a, const struct error *result);
void party_worked(struct party_session *p, struct actions *a);
/* The rows of training step `step`; the schedule's until the next call. */
const uint32_t *party_batch(struct party_session *p, uint64_t step, uint32_t *rows);
/* As many 4-byte words as there have to be: into `to`. */
enum status party_copy_gradient(struct party_session *p, void *to, struct wire_bytes from,
                                size_t words) MUST_USE;

/* share.c */
/* What the task's shares are, and the n that their sizes are told by. */
enum secagg_part party_part(const struct party_session *p);
size_t party_values(const struct party_session *p);
/* Room for every message of the set's shape. */
enum status party_size_messages(struct party_session *p) MUST_USE;
void party_relay(struct party_session *p, struct actions *a, const struct wire_shares *w);
void party_send_share(struct party_session *p, struct actions *a);
void party_send_upload(struct party_session *p, struct actions *a);

#endif
