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

#include "common/flow/sm.h"
#include "party/federation.h"
#include "party/policy.h"
#include "party/session.h"
#include "party/train/deal.h"
#include "party/train/keep.h"
#include "party/train/learner.h"
#include "party/train/purse.h"
#include "party/train/round.h"

enum {
    PARTY_CHECK_MAX = 1024,        /* bytes of check elements */
    PARTY_SLOW_FLOPS = 1000000000, /* work that is always another thread's */
};

struct party_session {
    struct party_setup setup;
    struct sm sm;
    struct error error;
    atomic_bool stop; /* set by another thread while this one works */
    struct party_federation fed;
    struct party_learner learner;
    struct party_purse purse;
    struct party_deal deal;
    struct party_round round;
    struct party_keep keep;
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

/* work.c: the most that p->learner.undo holds. */
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
