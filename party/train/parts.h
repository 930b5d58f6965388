/* train.h -- the job `train` at a party: its parts, and what the files of this folder do for each
 * other.
 *
 * From the bottom up, and nobody calls what stands higher:
 *
 *   learner.c  small things of the plan        witness.c  how far everybody's ledger has come
 *   deal.c     SHARE before the rounds of fedvs: subset keys, shares of the data
 *   charge.c   what is reserved in the ledger  share.c    SHARE and SUM: coded rounds
 *   plan.c     an offer's plan, and its price  resume.c   what a later process needs
 *   keep.c     checkpoints, and CLOSE          work.c     what a worker thread may do
 *   catchup.c  AGREE: steps that were missed   round.c    ROUND, STREAM: gradient in, embeddings
 * out train.c    the table of functions (party/job.h)
 *
 * A function that fails says why in *p->error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_PARTS_H
#define COLONNADE_PARTY_TRAIN_PARTS_H

#include "party/job.h"
#include "party/train/deal.h"
#include "party/train/keep.h"
#include "party/train/learner.h"
#include "party/train/purse.h"
#include "party/train/round.h"

enum {
    PARTY_CHECK_MAX = 1024,        /* bytes of check elements */
    PARTY_SLOW_FLOPS = 1000000000, /* work that is always another thread's */
};

struct party_count {
    uint64_t rounds, clipped;
    uint32_t last_rows; /* of the last upload */
};

struct party_train {
    /* What the session lends (party/job.h). */
    const struct party_setup *setup;
    const struct party_set *set;
    const atomic_bool *stop;
    struct sm *sm;
    struct error *error;
    uint32_t *accused;
    struct spans *spans;

    struct party_learner learner;
    struct party_purse purse;
    struct party_deal deal;
    struct party_round round;
    struct party_keep keep;
    struct party_count count;
};

/* learner.c */
/* How long the server may be silent; 0 before a plan is known.  The timer is set to it. */
uint64_t party_patience_ms(const struct party_train *p);
void party_arm(const struct party_train *p, struct actions *a);
enum status party_violation(struct error *err, const char *what, uint64_t number);
/* The rows of training step `step`; the schedule's until the next call. */
const uint32_t *party_batch(struct party_train *p, uint64_t step, uint32_t *rows);
/* As many 4-byte words as there have to be: into `to`. */
enum status party_copy_gradient(struct party_train *p, void *to, struct wire_bytes from,
                                size_t words) MUST_USE;
/* plan.c */
/* The plan of an offer, or of what was saved; fixes models and buffers for the job's life. */
enum status party_take_plan(struct party_train *p, const uint8_t *text, size_t n) MUST_USE;
enum status party_train_offer(void *state, struct actions *a, const struct wire_offer *o) MUST_USE;
/* What party_take_plan and all that followed have made. */
void party_free_plan(struct party_train *p);

/* catchup.c: on towards the hello: the first checkpoint, the missed steps, then PARTY_READY.  Comes
 * back here after each. */
enum party_next party_catch_up(struct party_train *p, struct actions *a);
enum status party_replay(struct party_train *p, struct actions *a,
                         const struct wire_replay *r) MUST_USE;
void party_start_replay(struct party_train *p, struct actions *a); /* once it is charged */

/* keep.c */
/* Part of the work. */
enum status party_save_when_due(struct party_train *p, struct party_result *r) MUST_USE;
void party_keep(struct party_train *p, struct actions *a);
enum status party_keep_now(struct party_train *p, struct actions *a) MUST_USE;
enum status party_kept(struct party_train *p, struct actions *a,
                       const struct error *result) MUST_USE;
enum status party_close(struct party_train *p, struct actions *a) MUST_USE;

/* resume.c */
enum status party_restore(struct party_train *p) MUST_USE;
enum status party_train_save(const void *state, struct buf *out) MUST_USE;
/* Back to a checkpoint of at most `step` steps, for a server that has lost what came after it. */
enum status party_go_back(struct party_train *p, uint64_t step) MUST_USE;

/* witness.c */
void party_witness_init(struct party_train *p);
/* What a hello says: rounds that the own ledger has paid for, less those still to be sent
 * (party_unopened, here and below). */
uint64_t party_number(const struct party_train *p, uint64_t unopened);
void party_witness_hellos(struct party_train *p); /* all are good */
/* Into the own confirmation; and does another one remember more of this party than it has? */
void party_witness_say(const struct party_train *p, struct agree_confirm *c);
enum status party_witness_check(struct party_train *p, const struct wire_confirms *cs) MUST_USE;
/* Into a checkpoint. */
struct party_paid party_witness_paid(const struct party_train *p, uint64_t unopened);
/* Out of one: is the ledger the one that it was made with, or a later one? */
enum status party_witness_restore(struct party_train *p, const struct party_paid *paid) MUST_USE;
/* The steps were another run's; how far the ledger had come stays. */
void party_witness_forget_steps(struct party_train *p);
/* The server says that it has done p->learner.behind.offered steps.  Under wait this party had to
 * pay for each: an error if the ledger has less.  Until it has all, and this party has come as far,
 * nothing of it is paid in what is kept; _offered looks at that without a word, before the first
 * is. */
void party_witness_offered(struct party_train *p);
enum status party_witness_steps(struct party_train *p) MUST_USE;
/* A round is opened that costs something; the one before has ended, for all members. */
void party_witness_opened(struct party_train *p);
void party_witness_ended(struct party_train *p);
/* What is seen becomes durable with this charge. */
void party_witness_charge(struct party_train *p, struct action_charge *c);

/* charge.c */
/* The task opens a round: an error when too many of them were opened before, which is paid for each
 * time; members that make each sum fail, or that go in the middle of rounds, have that happen. */
enum status party_count_opened(struct party_train *p) MUST_USE;
/* Steps are to be taken again, after a checkpoint: there are few of these. */
void party_opened_back(struct party_train *p);
/* True when the task's releases are reserved; false: an ACTION_CHARGE is on its way. */
bool party_reserved(struct party_train *p, struct actions *a);
/* Rounds that are reserved and may be opened without a charge. */
uint64_t party_unopened(const struct party_train *p);
/* Under dp a local step costs whenever it is taken, so steps that are taken again are charged as
 * participations of their own, releases that they do not make included. */
bool party_replay_reserved(struct party_train *p, struct actions *a);
void party_give_back(struct party_train *p, struct actions *a);
/* At the end: that, and what was seen since the last charge. */
void party_settle_up(struct party_train *p, struct actions *a);
/* The rest counts as spent: it will neither be sent nor given back. */
void party_forget_reserves(struct party_train *p);
/* The mechanism of the generation to come.  What is reserved under another one serves no more. */
void party_use_mechanism(struct party_train *p, struct actions *a, struct account_entry next);
/* deal.c: nothing to do where nothing is dealt. */
enum status party_deal_init(struct party_train *p) MUST_USE; /* once a plan is known */
void party_deal_restore(struct party_train *p, const uint8_t secret[RNG_KEY_BYTES]);
void party_deal_deinit(struct party_train *p);
bool party_deals(const struct party_train *p);
/* Into a hello: this party's shape, what it deals, what it holds. */
void party_deal_say(const struct party_train *p, struct wire_hello *h);
/* All hellos are good: the generation's terms, and where dealing goes on. */
enum status party_deal_begin(struct party_train *p) MUST_USE;
enum status party_plan_deal(struct party_train *p, const struct wire_broadcast *b) MUST_USE;
bool party_dealt(const struct party_train *p);
/* What is mapped is shares of all data, with which a later process may go on. */
bool party_deal_whole(const struct party_train *p);
/* Parts of the work: own shares out, others' in. */
enum status party_work_deal(struct party_train *p, const struct secagg_round *r,
                            struct error *err) MUST_USE;
enum status party_work_take(struct party_train *p, const uint8_t *sealed, const uint8_t *tags,
                            const struct secagg_round *r, uint32_t *faulty,
                            struct error *err) MUST_USE;
/* About what a round's own shares cost. */
double party_flops_to_share(const struct party_train *p);
/* Shares of everybody's data of the split that the task is on. */
const void *party_deal_shares(const struct party_train *p);

/* round.c */
enum status party_broadcast(struct party_train *p, struct actions *a,
                            const struct wire_broadcast *b) MUST_USE;
void party_start_round(struct party_train *p, struct actions *a); /* once it is charged */
/* The task is worked on: what it made is sent, or kept. */
enum status party_round_worked(struct party_train *p, struct actions *a) MUST_USE;

/* share.c */
/* What the task's shares are, and the n that their sizes are told by. */
enum secagg_part party_part(const struct party_train *p);
size_t party_values(const struct party_train *p);
/* Room for every message of the set's shape. */
enum status party_size_messages(struct party_train *p) MUST_USE;
enum status party_relay(struct party_train *p, struct actions *a,
                        const struct wire_shares *w) MUST_USE;
void party_send_share(struct party_train *p, struct actions *a);
void party_send_upload(struct party_train *p, struct actions *a);

/* work.c */
void party_train_work(void *state);

#endif
